//! The rotation: the number of cores by which the deal of tiles to matrix cores shifts in each round.

use super::typical::{GOLDEN, OWN, Typical, launches};
use super::{Choices, Deal, PhaseSchedule, Swizzle};
use crate::cost::{Cost, CostModel, EntryTile, Joined, Works};
use crate::graph::{Height, SpaceKind, TaskGraph};
use crate::ids::{Arena, PhaseId, SpaceId};
use crate::target::Target;
use hpmoe_kernels::op::TaskKind;
use std::collections::BTreeMap;

/// The longest load of a core, divided by the mean load, above which a rotation is worthwhile. A rotation makes the distances between the
/// tiles of a core uneven.
const UNEVEN: f64 = 1.006;
/// The limit if a rank has at most [`FEW`] experts: such a rank waits for its most loaded core only at the end.
const UNEVEN_OF_FEW: f64 = 1.001;
/// The maximum number of experts of a rank with which short last row tiles don't even out among the cores.
const FEW: u32 = 4;
/// The maximum number of experts, and of row tiles per expert, to examine. Further ones repeat the pattern.
const MOST: u32 = 64;

/// The numbers of ranks for which a rotation is chosen if the build names none. Those that don't divide the experts are left out. With
/// fewer ranks, a rank has more experts, and without a rotation, the same cores make the short tiles of all of them.
const RANKS: [u32; 3] = [8, 4, 2];

/// The rotation of the tiles of all products: as chosen, or by default 0 unless the same cores would make all short or narrow tiles of
/// typical launches.
///
/// If a rank has few experts, launches with uneven rows are examined as well. Kernels with tiles that need all rows of an expert are
/// excepted: such tiles are dealt evenly, and wait longer if their inputs are spread over more cores.
pub(super) fn rotation(
    graph: &TaskGraph,
    target: &Target,
    choices: &Choices,
    phases: &Arena<PhaseId, PhaseSchedule>,
) -> u32 {
    let cores = target.cores.aic;
    if let Some(chosen) = choices.rotation {
        return chosen % cores;
    }
    let launches = launches(graph, &RANKS);
    let few = !graph.needs_whole_experts() && launches.iter().all(|launch| launch.experts <= FEW);
    let same_rows = launches.iter().copied().map(equal);
    let ragged_rows = launches.iter().filter(|_| few).map(|launch| ragged(launch.rows, launch.experts));
    let costs = Products { graph, target, works: Works::of_phases(graph), phases };
    let works: Vec<Vec<(u64, u64)>> =
        same_rows.chain(ragged_rows).map(|rows| by_turn(|add| costs.each_tile(&rows, add), cores)).collect();
    // The sum, over launches, of the longest load of a core as a share of all work.
    let longest =
        |rotation: u32| works.iter().map(|work| share(longest_load(work, cores, rotation), work)).sum::<f64>();
    // The launches must gain that much on average. No rotation makes the longest load shorter than the mean, or than the longest tiles of
    // one core.
    let worth = if few { UNEVEN_OF_FEW } else { UNEVEN };
    let least = works.iter().map(|work| share(shortest_load(work, cores), work)).sum::<f64>();
    let without = longest(0);
    if least * worth >= without {
        return 0;
    }
    let best = (1..cores).map(|rotation| (longest(rotation), rotation)).min_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(least, _)| least * worth < without).map_or(0, |(_, rotation)| rotation)
}

/// The picoseconds of work of the core that has most.
fn longest_load(work: &[(u64, u64)], cores: u32, rotation: u32) -> u64 {
    let deal = Deal { cores: cores.into(), rotation: rotation.into() };
    let mut loads = vec![0; cores as usize];
    for &(number, time) in work {
        loads[deal.core(number) as usize] += time;
    }
    loads.into_iter().max().unwrap_or_default()
}

/// The picoseconds below which no rotation brings the longest load: the mean of all cores, or the tiles that one core has with any
/// rotation.
fn shortest_load(work: &[(u64, u64)], cores: u32) -> u64 {
    let longest = work.iter().map(|&(_, time)| time).max().unwrap_or_default();
    longest.max(all(work) / u64::from(cores))
}

/// A load divided by the work of all cores.
fn share(load: u64, work: &[(u64, u64)]) -> f64 {
    load as f64 / (all(work) as f64).max(1.0)
}

fn all(work: &[(u64, u64)]) -> u64 {
    work.iter().map(|&(_, time)| time).sum()
}

/// The rows of each expert of a launch, which are equal.
fn equal(launch: Typical) -> Vec<u32> {
    vec![launch.rows; launch.experts.min(MOST) as usize]
}

/// The rows of `experts` experts with this mean, from half of it to one and a half of it, different from one expert to the next.
fn ragged(mean: u32, experts: u32) -> Vec<u32> {
    let rows = |expert: u32| f64::from(mean) * (0.5 + (f64::from(expert) * GOLDEN).fract());
    (1..=experts).map(|expert| rows(expert) as u32).collect()
}

/// The picoseconds of tiles by their numbers modulo the square of the number of cores, without zeros: tiles with equal remainders are dealt
/// to the same core with any rotation. `each_tile` must call its argument with the number and the picoseconds of each tile.
fn by_turn(each_tile: impl FnOnce(&mut dyn FnMut(u64, u64)), cores: u32) -> Vec<(u64, u64)> {
    let turn = u64::from(cores) * u64::from(cores);
    let mut times = vec![0; turn as usize];
    each_tile(&mut |number, time| times[(number % turn) as usize] += time);
    (0..).zip(times).filter(|&(_, time)| time > 0).collect()
}

/// The products of a taskflow, and everything that their time depends on.
struct Products<'a> {
    graph: &'a TaskGraph,
    target: &'a Target,
    works: Arena<PhaseId, Works>,
    phases: &'a Arena<PhaseId, PhaseSchedule>,
}

impl Products<'_> {
    /// Calls a function with the number and the picoseconds of each tile, on a rank whose experts have these numbers of
    /// rows.
    fn each_tile(&self, rows: &[u32], add: &mut dyn FnMut(u64, u64)) {
        let phases = self.graph.phases.iter();
        for (id, phase) in phases.filter(|(_, phase)| self.graph.tasks[phase.task].kind == TaskKind::Matrix) {
            let space = self.graph.spaces[phase.space];
            if !matches!(space.kind, SpaceKind::RowTiles | SpaceKind::Experts) {
                continue;
            }
            let of = |&(space, columns): &(SpaceId, u32)| {
                rows.iter().map(|&rows| u64::from(self.items(space, rows) * columns)).sum::<u64>()
            };
            let mut number: u64 = self.phases[id].preceding.iter().map(of).sum();
            let by_rows: BTreeMap<u32, Vec<u64>> = rows.iter().map(|&rows| (rows, self.of_expert(id, rows))).collect();
            for of_expert in rows.iter().map(|rows| &by_rows[rows][..]) {
                // A plain loop, because build scripts run this unoptimised for each tile of each estimate.
                let mut tile = 0;
                while tile < of_expert.len() {
                    add(number, of_expert[tile]);
                    tile += 1;
                    number += 1;
                }
            }
        }
    }

    /// The picoseconds of each tile of a phase, in the entry of an expert with this number of rows.
    fn of_expert(&self, id: PhaseId, of_expert: u32) -> Vec<u64> {
        let (phase, works, band) = (&self.graph.phases[id], &self.works[id], self.phases[id].band);
        let costs = CostModel::new(self.target);
        let sync = &self.target.sync;
        let overhead = ((sync.task_pickup_ns + sync.tile_overhead_ns) * 1e3) as u64;
        let (items, outer) = (self.items(phase.space, of_expert), self.graph.column_rows(id));
        let (columns, wide) = (phase.columns(), u64::from(phase.columns() / outer));
        let time = |rows: u32, column: u32| {
            let work =
                works.work(self.target, EntryTile { peer: OWN, rows, column, items, band, joined: Joined::ALONE });
            let Cost::Shared(shared) = costs.cost(OWN, &work) else { return overhead };
            shared.time.0 + overhead
        };
        // All items have as many rows as the first one, except the last one.
        let rows = |item: u32| match self.graph.spaces[phase.space].height {
            Height::Rows(rows) => rows.min(of_expert - item * rows),
            Height::WholeExpert => of_expert,
        };
        let last = items.saturating_sub(1);
        let [full, short]: [Vec<u64>; 2] =
            [0, last].map(|item| works.kinds().iter().map(|&column| time(rows(item), column)).collect());
        let mut times = Vec::with_capacity((items * columns) as usize);
        let swizzle = Swizzle { items: u64::from(items * outer), columns: wide, band: band.into() };
        swizzle.for_each_place(|place, column| {
            let (item, row) = (place / u64::from(outer), place % u64::from(outer));
            let of_item = if item == u64::from(last) { &short } else { &full };
            times.push(of_item[works.kind_of((row * wide + column) as u32)]);
        });
        times
    }

    /// Number of items of an expert with this number of rows, up to the limit of items that are examined.
    fn items(&self, space: SpaceId, rows_of_expert: u32) -> u32 {
        match self.graph.spaces[space].height {
            Height::Rows(rows) => rows_of_expert.div_ceil(rows).min(MOST),
            Height::WholeExpert => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::CheckedGraph;
    use crate::fixture::{Layer, moe_backward, moe_ffn};
    use crate::schedule::typical::{on_ranks, typical};
    use crate::schedule::{Schedule, schedule_with};

    fn rotations(checked: &CheckedGraph, choices: &str) -> Vec<u32> {
        let made = schedule_with(checked, &Target::ascend_a3(), &Choices::read(choices).unwrap());
        made.phases.iter().map(|(_, phase)| phase.rotation).collect()
    }

    /// The number and the picoseconds of each tile of products, on a rank whose experts have these numbers of rows.
    fn tiles(
        graph: &TaskGraph,
        target: &Target,
        phases: &Arena<PhaseId, PhaseSchedule>,
        rows: &[u32],
    ) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        let products = Products { graph, target, works: Works::of_phases(graph), phases };
        products.each_tile(rows, &mut |number, time| all.push((number, time)));
        all
    }

    /// A layer with twelve columns of tiles, the last one a quarter as wide as the others.
    const NARROW: Layer = Layer { hidden: 2880, inter: 2880, experts: 128, top_k: 4, ..Layer::DEEPSEEK };

    #[test]
    fn products_rotate_where_narrow_tiles_would_have_the_same_cores() {
        let by_phase = rotations(&moe_ffn(&NARROW), "");
        let of_products = by_phase[1];
        assert!(of_products > 0);
        assert_eq!(by_phase, [0, of_products, of_products, 0, of_products, 0, 0]);
    }

    #[test]
    fn even_tiles_stay_where_they_are() {
        assert_eq!(rotations(&moe_ffn(&Layer::DEEPSEEK), ""), [0; 7]);
        // An expert has two row tiles, the second one short. In bands of two, every other tile is short.
        let short = Layer { tokens: 192 * 64 / 8 / 8, ..Layer::DEEPSEEK };
        assert!(rotations(&moe_ffn(&short), "")[1] > 0);
    }

    #[test]
    fn products_rotate_where_only_launches_on_few_ranks_gain_by_it() {
        // On eight ranks, eight rounds with two narrow tiles each don't reach all 24 cores; with 64 experts per rank, they do.
        let few = moe_ffn(&Layer { tokens: 64, ..NARROW });
        assert!(rotations(&few, "")[1] > 0);
    }

    #[test]
    fn tiles_of_low_bands_read_weights_more_often() {
        // If a core reads slowly from HBM, a tile takes as long as reading its weights, which L2 does not hold.
        let layer = Layer { hidden: 8192, inter: 32_768, experts: 8, top_k: 2, tile_m: 16, ..Layer::DEEPSEEK };
        let (checked, mut target) = (moe_ffn(&layer), Target::ascend_a3());
        target.memory.hbm_bytes_per_cycle_core /= 64.0;
        let made = schedule_with(&checked, &target, &Choices::default());
        let time = |band: u32| -> u64 {
            let mut phases = made.phases.clone();
            phases.ids().collect::<Vec<_>>().into_iter().for_each(|phase| phases[phase].band = band);
            tiles(checked.graph(), &target, &phases, &equal(typical(checked.graph())))
                .iter()
                .map(|(_, time)| time)
                .sum()
        };
        assert!(time(1) > time(2) && time(2) > time(4), "{} {} {}", time(1), time(2), time(4));
    }

    #[test]
    fn few_experts_rotate_where_their_rows_are_uneven() {
        let mixtral = Layer { hidden: 4096, inter: 14_336, experts: 8, top_k: 2, tokens: 1024, ..Layer::DEEPSEEK };
        let (layer, target) = (moe_ffn(&mixtral), Target::ascend_a3());
        let rotation = rotations(&layer, "")[1];
        assert!(rotation > 0);
        let phases = still(&layer, &target).phases;
        let longest = |rotation: u64, rows: &[u32]| {
            let mut loads = vec![0; 24];
            for (number, time) in tiles(layer.graph(), &target, &phases, rows) {
                loads[Deal { cores: 24, rotation }.core(number) as usize] += time;
            }
            loads.into_iter().max().unwrap()
        };
        let launch = on_ranks(layer.graph(), 2);
        let (even, uneven) = (equal(launch), ragged(launch.rows, launch.experts));
        assert!(longest(rotation.into(), &uneven) < longest(0, &uneven));
        assert!(longest(rotation.into(), &even) <= longest(0, &even));
        // With more experts, or with tiles that need all rows of an expert, there is no rotation.
        assert_eq!(rotations(&moe_ffn(&Layer { experts: 64, ..mixtral }), "")[1], 0);
        assert_eq!(rotations(&moe_backward(&mixtral), "")[1], 0);
    }

    #[test]
    fn ragged_rows_have_their_mean() {
        let rows = ragged(1000, 8);
        assert!(
            rows.iter().all(|rows| (500..1500).contains(rows))
                && rows.iter().collect::<std::collections::BTreeSet<_>>().len() == 8
        );
        assert!(rows.iter().sum::<u32>().abs_diff(8000) < 800, "{rows:?}");
    }

    #[test]
    fn experts_follow_one_another_whatever_their_rows() {
        let (layer, target) = (moe_ffn(&Layer::DEEPSEEK), Target::ascend_a3());
        let phases = still(&layer, &target).phases;
        let of = |rows: &[u32]| tiles(layer.graph(), &target, &phases, rows);
        let (alone, both) = ([of(&[130]), of(&[400])], of(&[130, 400]));
        assert_eq!(both.len(), alone[0].len() + alone[1].len());
        let time = |tiles: &[(u64, u64)]| tiles.iter().map(|(_, time)| time).sum::<u64>();
        assert_eq!(time(&both), time(&alone[0]) + time(&alone[1]));
    }

    /// The schedule without a rotation.
    fn still(checked: &CheckedGraph, target: &Target) -> Schedule {
        schedule_with(checked, target, &Choices::read("rotation=0").unwrap())
    }

    #[test]
    fn all_tiles_of_all_products_are_dealt_each_with_its_time() {
        let target = Target::ascend_a3();
        let overhead = ((target.sync.task_pickup_ns + target.sync.tile_overhead_ns) * 1e3) as u64;
        // Cases: a short row tile at the end, gradients, and many row tiles.
        for checked in [
            moe_ffn(&Layer { tokens: 100, ..NARROW }),
            moe_backward(&Layer { tokens: 300, ..Layer::DEEPSEEK }),
            moe_ffn(&Layer { tokens: 100_000, experts: 128, ..Layer::DEEPSEEK }),
        ] {
            let graph = checked.graph();
            let phases = still(&checked, &target).phases;
            let (costs, works) = (CostModel::new(&target), Works::of_phases(graph));
            for ranks in [1, 8] {
                let typical = on_ranks(graph, ranks);
                let experts = u64::from(typical.experts.min(64));
                let items = |height: Height| match height {
                    Height::Rows(rows) => typical.rows.div_ceil(rows).min(64),
                    Height::WholeExpert => 1,
                };
                let mut all = tiles(graph, &target, &phases, &equal(typical)).into_iter();
                for (id, phase) in graph.phases.iter() {
                    let space = graph.spaces[phase.space];
                    if graph.tasks[phase.task].kind != TaskKind::Matrix {
                        continue;
                    }
                    let preceding = phases[id].preceding.iter();
                    let before = preceding
                        .map(|&(space, columns)| u64::from(items(graph.spaces[space].height) * columns) * experts);
                    let (before, of_expert) = (before.sum::<u64>(), items(space.height));
                    let (columns, outer, band) = (phase.columns(), graph.column_rows(id), phases[id].band);
                    let (wide, rows_of_tiles) = (columns / outer, of_expert * outer);
                    let walk = Swizzle { items: rows_of_tiles.into(), columns: wide.into(), band: band.into() };
                    let mut wanted = vec![0; (of_expert * columns) as usize];
                    for (item, column) in (0..of_expert).flat_map(|item| (0..columns).map(move |column| (item, column)))
                    {
                        let rows = match space.height {
                            Height::Rows(rows) if item + 1 < of_expert || typical.rows > 64 * rows => rows,
                            Height::Rows(rows) => typical.rows - item * rows,
                            Height::WholeExpert => typical.rows,
                        };
                        let tile = EntryTile { peer: 1, rows, column, items: of_expert, band, joined: Joined::ALONE };
                        let time = match costs.cost(1, &works[id].work(&target, tile)) {
                            Cost::Shared(shared) => shared.time.0,
                            _ => 0,
                        };
                        let place = walk.tile(u64::from(item * outer + column / wide), u64::from(column % wide));
                        wanted[place as usize] = time + overhead;
                    }
                    for (number, time) in (before..).zip((0..experts).flat_map(|_| wanted.iter().copied())) {
                        assert_eq!(all.next(), Some((number, time)), "phase {}", id.0);
                    }
                }
                assert_eq!(all.next(), None);
            }
        }
    }

    #[test]
    fn tiles_that_any_rotation_deals_to_one_core_are_added_up() {
        let tiles: Vec<(u64, u64)> = (3..100).map(|number| (number, number * number)).collect();
        let times = by_turn(|add| tiles.iter().for_each(|&(number, time)| add(number, time)), 5);
        assert!(times.iter().map(|(number, _)| *number).eq(0..25));
        for rotation in 0..5 {
            let deal = Deal { cores: 5, rotation };
            for core in 0..5 {
                let one_by_one = tiles.iter().filter(|(number, _)| deal.core(*number) == core).map(|(_, time)| time);
                let by_turn = times.iter().filter(|(number, _)| deal.core(*number) == core).map(|(_, time)| time);
                assert_eq!(one_by_one.sum::<u64>(), by_turn.sum::<u64>());
            }
        }
    }

    #[test]
    fn the_rotation_is_the_one_whose_longest_loads_are_least_if_it_gains_enough() {
        let mut few_cores = Target::ascend_a3();
        (few_cores.cores.aic, few_cores.cores.aiv) = (7, 14);
        let mut found = Vec::new();
        for layer in [
            Layer::DEEPSEEK,
            NARROW,
            Layer { tokens: 64, ..NARROW },
            Layer { tokens: 192, ..Layer::DEEPSEEK },
            Layer { inter: 1408, ..Layer::DEEPSEEK },
            Layer { experts: 9, top_k: 3, ..NARROW },
        ] {
            for target in [&Target::ascend_a3(), &few_cores] {
                let checked = moe_ffn(&layer);
                let phases = still(&checked, target).phases;
                let cores = target.cores.aic;
                let launches = launches(checked.graph(), &[8, 4, 2]);
                let mut rows: Vec<Vec<u32>> = launches.iter().copied().map(equal).collect();
                let few = launches.iter().all(|launch| launch.experts <= 4);
                rows.extend(launches.iter().filter(|_| few).map(|launch| ragged(launch.rows, launch.experts)));
                let worth = if few { 1.001 } else { 1.006 };
                let longest = |rotation: u32| -> f64 {
                    let deal = Deal { cores: cores.into(), rotation: rotation.into() };
                    let of_launch = |rows: &Vec<u32>| {
                        let mut loads = vec![0.0; cores as usize];
                        for (number, time) in tiles(checked.graph(), target, &phases, rows) {
                            loads[deal.core(number) as usize] += time as f64;
                        }
                        loads.iter().copied().fold(0.0, f64::max) / loads.iter().sum::<f64>() * f64::from(cores)
                    };
                    rows.iter().map(of_launch).sum()
                };
                let sums: Vec<f64> = (0..cores).map(longest).collect();
                let least = sums.iter().copied().fold(f64::INFINITY, f64::min);
                let rotation = rotation(checked.graph(), target, &Choices::default(), &phases);
                if rotation == 0 {
                    assert!(sums[0] <= least * (worth + 1e-9), "{sums:?}");
                } else {
                    assert!(least * worth < sums[0] + 1e-9 && sums[rotation as usize] <= least + 1e-9, "{sums:?}");
                    assert!(sums[1..rotation as usize].iter().all(|&sum| sum > least - 1e-9));
                }
                found.push(rotation);
            }
        }
        assert!(found.contains(&0) && found.iter().filter(|&&rotation| rotation > 0).count() > 3, "{found:?}");
    }

    #[test]
    fn a_chosen_rotation_holds_for_any_number_of_cores() {
        assert_eq!(rotations(&moe_ffn(&Layer::DEEPSEEK), "rotation=5"), [0, 5, 5, 0, 5, 0, 0]);
        assert_eq!(rotations(&moe_ffn(&NARROW), "rotation=24"), [0; 7]);
    }
}
