//! The time that cores are busy with a taskflow's tiles, in any order.

use super::extents::GroupRows;
use super::{Estimate, Extents, Spread};
use crate::analyze::CheckedGraph;
use crate::cost::{CostModel, EntryTile, Joined, Works};
use crate::ids::{Arena, PhaseId};
use crate::schedule::MAX_RANKS;
use crate::schedule::fences::may_share_next_fence;
use crate::target::Target;
use crate::time::Time;
use hpmoe_kernels::op::TaskKind;
use std::collections::HashMap;

/// The time for which the busier kind of core has work on the rank that [`estimate`](super::estimate) replays, averaged over the cores,
/// plus the time to launch the kernel. It needs no replay, and computing it takes the same time for any number of tiles. For schedules with
/// many small tiles, which leave no core idle, it approximates the latency; for all others, it is too low. `None` if the number of ranks is
/// 0 or more than [`MAX_RANKS`].
#[must_use]
pub fn busy(checked: &CheckedGraph, target: &Target, ranks: u32) -> Option<Estimate> {
    if ranks == 0 || ranks > MAX_RANKS {
        return None;
    }
    let works = Works::of_phases(checked.graph());
    let time = |tokens| of_cores(checked, target, &works, &Extents::new(checked.graph(), ranks, tokens));
    Some(Estimate { even: time(Spread::Even), uneven: Some(time(Spread::Uneven)) })
}

/// Representative columns, each with the number of columns that have equal tiles. All tiles of an item are equal, except those in the last
/// column of each row and those in the last row.
fn corners(rows: u32, columns: u32) -> [(u32, u32); 4] {
    let (down, right) = (rows - 1, columns - 1);
    [(0, down * right), (right, down), (down * columns, right), (down * columns + right, 1)]
}

fn of_cores(checked: &CheckedGraph, target: &Target, works: &Arena<PhaseId, Works>, extents: &Extents) -> Time {
    let (graph, costs, sync) = (checked.graph(), CostModel::new(target), &target.sync);
    let of_tile = |phase: PhaseId| {
        Time::from_ns(match graph.tasks[graph.phases[phase].task].kind {
            // The tile overhead is left out: meanwhile the core reads weights ahead, which shortens the work by up to as much.
            TaskKind::Matrix => sync.task_pickup_ns,
            TaskKind::Vector => sync.task_pickup_ns + sync.tile_overhead_ns,
            TaskKind::Put => {
                let fence = if may_share_next_fence(graph, phase) { 0.0 } else { sync.fence_remote_ns };
                sync.task_pickup_ns + sync.tile_overhead_ns + sync.put_start_ns + fence
            }
        })
    };
    let (mut matrix, mut vector) = (0.0, 0.0);
    for (id, works) in works.iter() {
        let phase = &graph.phases[id];
        let kind = graph.tasks[phase.task].kind;
        let mut known: HashMap<u32, f64> = HashMap::new();
        let outer = graph.column_rows(id);
        let fixed = of_tile(id);
        // The time of the tiles in all columns of an item with this many rows.
        let mut of_item = |rows: u32| {
            *known.entry(rows).or_insert_with(|| {
                let of_column = |(column, columns): (u32, u32)| {
                    // Rank 0 is the one that works, so rank 1 is a peer.
                    let tile = EntryTile { peer: 1, rows, column, items: 1, band: 1, joined: Joined::ALONE };
                    (costs.least(0, &works.work(target, tile)) + fixed).us() * f64::from(columns)
                };
                corners(outer, phase.columns() / outer).into_iter().map(of_column).sum()
            })
        };
        let of_group = |group: &GroupRows| match group.items() {
            0 => 0.0,
            1 => of_item(group.of_item(0)),
            // All items between the first and the last one are whole.
            items => {
                let between = items - 2;
                let whole = if between > 0 { of_item(group.of_item(1)) * f64::from(between) } else { 0.0 };
                of_item(group.of_item(0)) + whole + of_item(group.of_item(items - 1))
            }
        };
        let time: f64 = extents.of_groups(phase.space).iter().map(of_group).sum();
        *if kind == TaskKind::Matrix { &mut matrix } else { &mut vector } += time;
    }
    let of_kind = |time: f64, cores: u32| time / f64::from(cores.max(1));
    let busier = of_kind(matrix, target.cores.aic).max(of_kind(vector, target.cores.aiv));
    Time::from_us(target.launch.kernel_us + busier)
}

#[cfg(test)]
mod tests {
    use super::super::estimate;
    use super::*;
    use crate::fixture::{Layer, chunked, moe_backward, moe_ffn};

    /// The busy time divided by the replayed latency, with even and with uneven tokens.
    fn of_replay(checked: &CheckedGraph, ranks: u32) -> [f64; 2] {
        let target = Target::ascend_a3();
        let of = |estimate: Option<Estimate>| estimate.map(|all| [all.even.us(), all.uneven.unwrap().us()]).unwrap();
        let (busy, replayed) = (of(busy(checked, &target, ranks)), of(estimate(checked, &target, ranks, |_| true)));
        [busy[0] / replayed[0], busy[1] / replayed[1]]
    }

    /// The time of the busier kind of core, added up tile by tile.
    fn one_by_one(checked: &CheckedGraph, target: &Target, (ranks, tokens): (u32, Spread)) -> f64 {
        let (graph, works) = (checked.graph(), Works::of_phases(checked.graph()));
        let (costs, sync, extents) = (CostModel::new(target), &target.sync, Extents::new(graph, ranks, tokens));
        let (mut matrix, mut vector) = (0.0, 0.0);
        for (id, phase) in graph.phases.iter() {
            for of_group in extents.of_groups(phase.space) {
                for rows in (0..of_group.items()).map(|item| of_group.of_item(item)) {
                    for column in 0..phase.columns() {
                        let tile = EntryTile { peer: 1, rows, column, items: 1, band: 1, joined: Joined::ALONE };
                        let work = costs.least(0, &works[id].work(target, tile)).us();
                        match graph.tasks[phase.task].kind {
                            TaskKind::Matrix => matrix += work + sync.task_pickup_ns / 1e3,
                            TaskKind::Vector => vector += work + (sync.task_pickup_ns + sync.tile_overhead_ns) / 1e3,
                            TaskKind::Put => {
                                let put = sync.put_start_ns + sync.fence_remote_ns;
                                vector += work + (sync.task_pickup_ns + sync.tile_overhead_ns + put) / 1e3;
                            }
                        }
                    }
                }
            }
        }
        let of_cores =
            [(matrix, target.cores.aic), (vector, target.cores.aiv)].map(|(time, cores)| time / f64::from(cores));
        target.launch.kernel_us + of_cores[0].max(of_cores[1])
    }

    #[test]
    fn the_work_of_all_tiles_is_divided_among_the_cores() {
        let mut few_vector_cores = Target::ascend_a3();
        few_vector_cores.cores.aiv = 3;
        let ragged = Layer { hidden: 136, inter: 72, tokens: 77, ..Layer::SMALL };
        for checked in [moe_ffn(&ragged), moe_backward(&ragged), chunked(&ragged, 3)] {
            for target in [&Target::ascend_a3(), &few_vector_cores] {
                for ranks in [1, 4] {
                    let summed = busy(&checked, target, ranks).unwrap();
                    let [even, uneven] =
                        [Spread::Even, Spread::Uneven].map(|tokens| one_by_one(&checked, target, (ranks, tokens)));
                    assert!((summed.even.us() / even - 1.0).abs() < 1e-6, "{summed:?}, and {even} by tile");
                    let found = summed.uneven.unwrap().us();
                    assert!((found / uneven - 1.0).abs() < 1e-6, "{summed:?}, and {uneven} by tile");
                }
            }
        }
    }

    #[test]
    fn cores_with_many_small_tiles_are_busy_all_the_time_and_others_are_not() {
        let tiny = Layer { tile_m: 16, tile_n: 16, tokens: 256, hidden: 2048, inter: 1024, ..Layer::DEEPSEEK };
        let all = of_replay(&moe_ffn(&tiny), 8);
        assert!(all.iter().all(|part| (0.85..1.2).contains(part)), "{all:?}");
        let few = of_replay(&moe_ffn(&Layer::TINY), 4);
        assert!(few.iter().all(|part| *part < 0.5), "{few:?}");
    }

    #[test]
    fn no_replay_is_much_shorter() {
        for layer in [Layer::TINY, Layer::SMALL, Layer { tokens: 256, hidden: 2048, ..Layer::DEEPSEEK }] {
            for checked in [moe_ffn(&layer), moe_backward(&layer), chunked(&layer, 3)] {
                for ranks in [1, 8] {
                    let parts = of_replay(&checked, ranks);
                    assert!(parts.iter().all(|part| *part < 1.1), "{layer:?} on {ranks}: {parts:?}");
                }
            }
        }
    }

    #[test]
    fn there_are_as_many_ranks_as_schedules_have() {
        let checked = moe_ffn(&Layer::SMALL);
        let of = |ranks| busy(&checked, &Target::ascend_a3(), ranks);
        assert!(of(3).is_some() && of(MAX_RANKS).is_some());
        assert_eq!([0, MAX_RANKS + 1].map(of), [None; 2]);
    }

    #[test]
    fn every_column_is_like_one_corner() {
        assert_eq!(corners(3, 4), [(0, 6), (3, 2), (8, 3), (11, 1)]);
        for (rows, columns) in [(1, 1), (1, 5), (5, 1), (7, 2)] {
            let counted: u32 = corners(rows, columns).iter().map(|(_, count)| count).sum();
            assert_eq!(counted, rows * columns);
        }
    }
}
