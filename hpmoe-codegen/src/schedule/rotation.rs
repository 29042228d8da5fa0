//! By how many cores the deal of tiles to matrix cores moves on in each round.

use super::typical::{OWN, Typical, on_ranks, typical};
use super::{Choices, Deal, PhaseSchedule, Swizzle};
use crate::cost::{Cost, CostModel, EntryTile, Works};
use crate::target::Target;
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::graph::{Height, SpaceKind, TaskGraph};
use hpmoe_language::ids::{Arena, PhaseId};

/// Longer loads, relative to the mean, are worth a rotation: it makes the distances between the tiles of a core uneven.
const UNEVEN: f64 = 1.01;
/// The most experts and row tiles of an expert that are looked at; more repeat what these show.
const MOST: u32 = 64;

/// The numbers of ranks that a rotation is to suit, if they share the experts: with fewer ranks a rank has more experts, and the same
/// cores make the short tiles of all of them.
const RANKS: [u32; 3] = [8, 4, 2];

/// The rotation of the tiles of all products: as chosen, or none unless the same cores would make the short and narrow tiles of
/// typical launches.
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
    let mut launches: Vec<Typical> = RANKS.into_iter().filter_map(|ranks| on_ranks(graph, ranks)).collect();
    launches.extend(launches.is_empty().then(|| typical(graph)));
    let works: Vec<Vec<u64>> =
        launches.iter().map(|&launch| by_turn(tiles(graph, target, phases, launch), cores)).collect();
    // The share that the longest load of a core has of all, by launch.
    let uneven = |rotation: u32| {
        let deal = Deal { cores: cores.into(), rotation: rotation.into() };
        let ratio = |work: &Vec<u64>| {
            let mut loads = vec![0; cores as usize];
            deal.cores_from(0).zip(work).for_each(|(core, time)| loads[core as usize] += time);
            let longest = loads.iter().copied().max().unwrap_or_default();
            longest as f64 / (loads.iter().sum::<u64>() as f64).max(1.0)
        };
        works.iter().map(ratio).collect::<Vec<f64>>()
    };
    let sum = |rotation: u32| uneven(rotation).iter().sum::<f64>();
    let best = (1..cores).map(|rotation| (sum(rotation), rotation)).min_by(|a, b| a.0.total_cmp(&b.0));
    // It is worth a rotation if the launches gain that much on average.
    best.filter(|(least, _)| least * UNEVEN < sum(0)).map_or(0, |(_, rotation)| rotation)
}

/// The picoseconds of tiles by their numbers' remainders: those that are so many rounds apart as there are cores have one core,
/// whatever the rotation.
fn by_turn(tiles: Vec<(u64, u64)>, cores: u32) -> Vec<u64> {
    let turn = u64::from(cores) * u64::from(cores);
    let mut times = vec![0; turn as usize];
    tiles.into_iter().for_each(|(number, time)| times[(number % turn) as usize] += time);
    times
}

/// The number and the picoseconds of each tile of products on a rank of a launch.
fn tiles(
    graph: &TaskGraph,
    target: &Target,
    phases: &Arena<PhaseId, PhaseSchedule>,
    typical: Typical,
) -> Vec<(u64, u64)> {
    let (costs, works) = (CostModel::new(target), Works::of_phases(graph));
    let experts = typical.experts.min(MOST);
    let overhead = ((target.sync.task_pickup_ns + target.sync.tile_overhead_ns) * 1e3) as u64;
    let items = |height: Height| match height {
        Height::Rows(rows) => typical.rows.div_ceil(rows).min(MOST),
        Height::WholeExpert => 1,
    };
    let mut all = Vec::new();
    for (id, phase) in graph.phases.iter().filter(|(_, phase)| graph.tasks[phase.task].kind == TaskKind::Matrix) {
        let space = graph.spaces[phase.space];
        if !matches!(space.kind, SpaceKind::RowTiles | SpaceKind::Experts) {
            continue;
        }
        let (items_of_expert, columns, outer) = (items(space.height), phase.columns(), graph.column_rows(id));
        let wide = u64::from(columns / outer);
        let band = phases[id].band;
        let swizzle = Swizzle { items: u64::from(items_of_expert * outer), columns: wide, band: band.into() };
        let time = |item: u32, column: u32| {
            let rows = match space.height {
                Height::Rows(rows) => rows.min(typical.rows - item * rows),
                Height::WholeExpert => typical.rows,
            };
            let tile = EntryTile { peer: OWN, rows, column, items: items_of_expert, band, joined: 1 };
            let work = works[id].work(target, tile);
            let Cost::Shared(shared) = costs.cost(OWN, &work) else { return overhead };
            shared.time.0 + overhead
        };
        let before: u64 = phases[id]
            .preceding
            .iter()
            .map(|&(space, columns)| u64::from(items(graph.spaces[space].height) * columns) * u64::from(experts))
            .sum();
        let of_expert: Vec<u64> = (0..swizzle.tiles())
            .map(|tile| {
                let (place, column) = swizzle.place(tile);
                let (item, row) = (place / u64::from(outer), place % u64::from(outer));
                time(item as u32, (row * wide + column) as u32)
            })
            .collect();
        let of_experts = (0..u64::from(experts)).flat_map(|_| of_expert.iter().copied());
        all.extend((before..).zip(of_experts));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Schedule, schedule_with};
    use hpmoe_language::analyze::CheckedGraph;
    use hpmoe_language::fixture::{Layer, moe_backward, moe_ffn};

    fn rotations(checked: &CheckedGraph, choices: &str) -> Vec<u32> {
        let made = schedule_with(checked, &Target::ascend_a3(), &Choices::read(choices).unwrap());
        made.phases.iter().map(|(_, phase)| phase.rotation).collect()
    }

    /// Twelve columns, the last one a quarter as wide as the others.
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
        // Two row tiles of which the second is short: walked in bands of two, every other tile is.
        let short = Layer { tokens: 192 * 64 / 8 / 8, ..Layer::DEEPSEEK };
        assert!(rotations(&moe_ffn(&short), "")[1] > 0);
    }

    #[test]
    fn products_rotate_where_only_launches_on_few_ranks_gain_by_it() {
        // On eight ranks two narrow tiles of eight rounds can't be on all 24 cores, with 64 experts of a rank they can.
        let few = moe_ffn(&Layer { tokens: 64, ..NARROW });
        assert!(rotations(&few, "")[1] > 0);
    }

    #[test]
    fn tiles_of_low_bands_read_weights_more_often() {
        // Where a core is slow to read from HBM, tiles take as long as their weights, which L2 does not hold.
        let layer = Layer { hidden: 8192, inter: 32_768, experts: 8, top_k: 2, tile_m: 16, ..Layer::DEEPSEEK };
        let (checked, mut target) = (moe_ffn(&layer), Target::ascend_a3());
        target.memory.hbm_bytes_per_cycle_core /= 64.0;
        let made = schedule_with(&checked, &target, &Choices::default());
        let time = |band: u32| -> u64 {
            let mut phases = made.phases.clone();
            phases.ids().collect::<Vec<_>>().into_iter().for_each(|phase| phases[phase].band = band);
            tiles(checked.graph(), &target, &phases, typical(checked.graph())).iter().map(|(_, time)| time).sum()
        };
        assert!(time(1) > time(2) && time(2) > time(4), "{} {} {}", time(1), time(2), time(4));
    }

    /// Without a rotation.
    fn still(checked: &CheckedGraph, target: &Target) -> Schedule {
        schedule_with(checked, target, &Choices::read("rotation=0").unwrap())
    }

    #[test]
    fn all_tiles_of_all_products_are_dealt_each_with_its_time() {
        let target = Target::ascend_a3();
        let overhead = ((target.sync.task_pickup_ns + target.sync.tile_overhead_ns) * 1e3) as u64;
        // Row tiles with a short one at the end, and many.
        for checked in [
            moe_ffn(&Layer { tokens: 100, ..NARROW }),
            moe_backward(&Layer { tokens: 300, ..Layer::DEEPSEEK }),
            moe_ffn(&Layer { tokens: 100_000, experts: 128, ..Layer::DEEPSEEK }),
        ] {
            let graph = checked.graph();
            let phases = still(&checked, &target).phases;
            let (costs, works) = (CostModel::new(&target), Works::of_phases(graph));
            for ranks in [1, 8] {
                let typical = on_ranks(graph, ranks).unwrap();
                let experts = u64::from(typical.experts.min(64));
                let items = |height: Height| match height {
                    Height::Rows(rows) => typical.rows.div_ceil(rows).min(64),
                    Height::WholeExpert => 1,
                };
                let mut all = tiles(graph, &target, &phases, typical).into_iter();
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
                        let tile = EntryTile { peer: 1, rows, column, items: of_expert, band, joined: 1 };
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
        let times = by_turn(tiles.clone(), 5);
        assert_eq!(times.len(), 25);
        for rotation in 0..5 {
            let deal = Deal { cores: 5, rotation };
            for core in 0..5 {
                let one_by_one = tiles.iter().filter(|(number, _)| deal.core(*number) == core).map(|(_, time)| time);
                let by_turn = (0..).zip(&times).filter(|(number, _)| deal.core(*number) == core).map(|(_, time)| time);
                assert_eq!(one_by_one.sum::<u64>(), by_turn.sum::<u64>());
            }
        }
    }

    #[test]
    fn the_rotation_is_the_one_whose_longest_loads_are_least_if_it_gains_a_hundredth() {
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
                let launches: Vec<Typical> =
                    [8, 4, 2].iter().filter_map(|&ranks| on_ranks(checked.graph(), ranks)).collect();
                let launches = if launches.is_empty() { vec![typical(checked.graph())] } else { launches };
                let longest = |rotation: u32| -> f64 {
                    let deal = Deal { cores: cores.into(), rotation: rotation.into() };
                    let of_launch = |&launch: &Typical| {
                        let mut loads = vec![0.0; cores as usize];
                        for (number, time) in tiles(checked.graph(), target, &phases, launch) {
                            loads[deal.core(number) as usize] += time as f64;
                        }
                        loads.iter().copied().fold(0.0, f64::max) / loads.iter().sum::<f64>() * f64::from(cores)
                    };
                    launches.iter().map(of_launch).sum()
                };
                let sums: Vec<f64> = (0..cores).map(longest).collect();
                let least = sums.iter().copied().fold(f64::INFINITY, f64::min);
                let rotation = rotation(checked.graph(), target, &Choices::default(), &phases);
                if rotation == 0 {
                    assert!(sums[0] <= least * (UNEVEN + 1e-9), "{sums:?}");
                } else {
                    assert!(least * UNEVEN < sums[0] + 1e-9 && sums[rotation as usize] <= least + 1e-9, "{sums:?}");
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
