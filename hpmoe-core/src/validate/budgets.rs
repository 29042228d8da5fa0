//! Checks that numbers fit their fields, and buffers the memory.

use super::{Violation, default_rows, footprint};
use crate::analyze::{CheckedGraph, Grid, Wait};
use crate::schedule::{MOST_TURN_ROWS, Order, Schedule};

/// The maximum of 16-bit descriptor fields: phase, space, band and cores.
const SHORT: u64 = u16::MAX as u64;
/// The maximum of items, rows and thresholds, which are signed 32-bit numbers on the device.
const INT: u64 = i32::MAX as u64;
/// Bytes of HBM of one die.
const HBM_BYTES: u64 = 64 << 30;

/// Checks descriptor fields, counts (for the maximum number of rows that a rank can receive), and memory (for evenly spread tokens). A
/// launch that needs more memory than is there is refused at run time.
pub(super) fn budgets(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    for order in &schedule.orders {
        let ranks = order.ranks;
        let rows = default_rows(checked.graph(), ranks);
        let fields = fields(checked, schedule);
        let counts = counts(checked, schedule, order, rows);
        let memory = memory(checked, schedule, ranks);
        let numbers = fields.into_iter().chain(counts).chain(memory);
        let large = numbers.filter(|(_, value, limit)| value > limit);
        violations.extend(large.map(|(what, value, limit)| Violation::TooLarge { ranks, what, value, limit }));
    }
}

/// Name of a quantity, its value, and the largest value that fits.
type Quantity = (&'static str, u64, u64);

/// The largest value of each descriptor field.
fn fields(checked: &CheckedGraph, schedule: &Schedule) -> Vec<Quantity> {
    let graph = checked.graph();
    let band = schedule.phases.iter().map(|(_, phase)| phase.band).max().unwrap_or_default();
    let cores = schedule.aic.max(schedule.aiv);
    let columns = graph
        .phases
        .iter()
        .map(|(_, phase)| phase.ranges.iter().fold(1, |product: u64, &range| product.saturating_mul(range.into())));
    vec![
        ("phases", graph.phases.len() as u64, SHORT),
        ("iteration spaces", graph.spaces.len() as u64, SHORT),
        ("a band", band.into(), SHORT),
        ("cores of one kind", cores.into(), SHORT),
        ("tiles of an item", columns.max().unwrap_or_default(), INT),
    ]
}

/// The largest value of each number that is counted at run time, if a rank receives at most `rows` rows of each chunk. A rank has and sends
/// no more tokens than `rows`.
fn counts(checked: &CheckedGraph, schedule: &Schedule, order: &Order, rows: u64) -> Vec<Quantity> {
    let graph = checked.graph();
    let sizes = &graph.sizes;
    let chunks = sizes.chunks as u64;
    let pairs = (sizes.expert_chunks(order.ranks as usize) * order.ranks as usize) as u64;
    let tiles = graph.phases.iter().map(|(_, phase)| {
        // The first and the last row of a pair may be inside a tile.
        let items = rows * chunks / u64::from(graph.spaces[phase.space].height.number()) + 2 * pairs;
        phase.ranges.iter().fold(items, |tiles, &range| tiles.saturating_mul(range.into()))
    });
    let needs = schedule.waits().map(|wait| need(checked, wait, rows));
    let footprint = footprint(checked, schedule, order.ranks, rows);
    vec![
        ("physical experts of a rank in all chunks", sizes.expert_chunks(order.ranks as usize) as u64, SHORT),
        ("received rows", rows * sizes.buffers() as u64, INT),
        ("rows of a turn", order.sends.turn().unwrap_or(0).into(), MOST_TURN_ROWS.into()),
        ("tiles of a phase", tiles.max().unwrap_or_default(), INT),
        ("a threshold", needs.max().unwrap_or_default(), INT),
        // A set that can't be numbered counts `u32::MAX`.
        ("counters", footprint.counters, u64::from(u32::MAX) - 1),
    ]
}

/// The largest threshold of a wait, if a rank receives at most `rows` rows.
fn need(checked: &CheckedGraph, wait: &Wait, rows: u64) -> u64 {
    let graph = checked.graph();
    let rows = match checked.counters()[wait.counter].grid {
        Grid::RowTiles { space, .. } => graph.spaces[space].height.number().into(),
        Grid::Blocks { height } => height.into(),
        Grid::Experts | Grid::Rank => rows,
    };
    wait.need.at(rows, rows.saturating_mul(graph.sizes.top_k as u64))
}

/// Bytes that a rank needs for evenly spread tokens.
fn memory(checked: &CheckedGraph, schedule: &Schedule, ranks: u32) -> Vec<Quantity> {
    let sizes = &checked.graph().sizes;
    let balanced = footprint(checked, schedule, ranks, (sizes.chunk_tokens() * sizes.top_k) as u64);
    let bytes = balanced.counter_bytes + balanced.workspace + balanced.symmetric + balanced.descriptor_bytes;
    vec![("bytes for evenly spread tokens", bytes.0, HBM_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::Counter;
    use crate::fixture::{Layer, chunked, moe_ffn, router};
    use crate::graph::TaskGraph;
    use crate::ids::{Arena, CounterId, PartId, PhaseId, SpaceId};
    use crate::schedule::{Cores, Entry, Sends, schedule};
    use crate::validate::broken::broken_of;
    use std::collections::BTreeSet;
    use std::num::NonZeroU32;

    fn too_large(layer: &Layer, break_it: impl FnOnce(&mut Schedule)) -> Vec<(u32, &'static str)> {
        let large = |violation| match violation {
            Violation::TooLarge { ranks, what, .. } => (ranks, what),
            other => panic!("{other:?}"),
        };
        broken_of(&moe_ffn(layer), budgets, break_it).into_iter().map(large).collect()
    }

    #[test]
    fn the_example_fits() {
        assert_eq!(too_large(&Layer::DEEPSEEK, |_| ()), []);
    }

    #[test]
    fn turns_have_a_limit() {
        let with_turn = |rows| {
            let rows = NonZeroU32::new(rows).unwrap();
            too_large(&Layer::SMALL, |schedule| schedule.orders[1].sends = Sends::InTurn { rows })
        };
        assert_eq!(with_turn(1 << 20), []);
        assert_eq!(with_turn((1 << 20) + 1), [(2, "rows of a turn")]);
    }

    #[test]
    fn a_band_must_fit_its_field() {
        for phase in [0, 3, 6].map(PhaseId) {
            let with_band = |band| too_large(&Layer::SMALL, |schedule| schedule.phases[phase].band = band);
            assert_eq!(with_band(u16::MAX.into()), []);
            assert_eq!(with_band(u32::from(u16::MAX) + 1)[0], (1, "a band"));
        }
    }

    #[test]
    fn a_phase_has_the_tiles_of_all_rows_and_two_more_for_each_peer_and_expert() {
        let checked = chunked(&Layer::TINY, 4);
        let made = schedule(&checked, Cores::ASCEND_A3);
        for order in &made.orders {
            let tiles = |rows| {
                let counts = counts(&checked, &made, order, rows);
                counts.into_iter().find(|(what, ..)| *what == "tiles of a phase").unwrap().1
            };
            // The down projection has the most tiles, 4 for each 4 rows. Peers send rows to 8 experts in each of 4
            // chunks.
            assert_eq!(tiles(0), 4 * 2 * 8 * 4, "{} ranks", order.ranks);
            assert_eq!(tiles(400), tiles(0) + 4 * 400);
        }
    }

    #[test]
    fn rows_of_the_chunks_that_are_in_memory_at_a_time_are_numbered() {
        for (chunks, in_memory) in [(1, 1), (2, 2), (4, 2)] {
            let checked = chunked(&Layer::TINY, chunks);
            let made = schedule(&checked, Cores::ASCEND_A3);
            let counts = counts(&checked, &made, &made.orders[0], 100);
            let rows = counts.into_iter().find(|(what, ..)| *what == "received rows").unwrap().1;
            assert_eq!(rows, 100 * in_memory, "{chunks} chunks");
        }
    }

    #[test]
    fn each_descriptor_takes_memory() {
        let checked = moe_ffn(&Layer::SMALL);
        let mut made = schedule(&checked, Cores::ASCEND_A3);
        let bytes = |schedule: &Schedule| memory(&checked, schedule, 1)[0].1;
        let before = bytes(&made);
        let entry = Entry { phase: PhaseId(0), expert: 0, peer_offset: 0 };
        made.orders[0].queues[PartId(0)].extend([entry; 10]);
        assert_eq!(bytes(&made), before + 10 * 64);
    }

    #[test]
    fn memory_of_each_kind_counts_once() {
        let checked = moe_ffn(&Layer::SMALL);
        let made = schedule(&checked, Cores::ASCEND_A3);
        let rows = (Layer::SMALL.tokens * Layer::SMALL.top_k) as u64;
        let part = footprint(&checked, &made, 4, rows);
        let parts = [part.counter_bytes.0, part.workspace.0, part.symmetric.0, part.descriptor_bytes.0];
        assert!(parts.iter().all(|bytes| *bytes > 0) && parts.iter().collect::<BTreeSet<_>>().len() == 4, "{parts:?}");
        assert_eq!(memory(&checked, &made, 4)[0].1, parts.iter().sum::<u64>());
    }

    #[test]
    fn rows_are_numbered_in_32_bits() {
        let found = too_large(&Layer { tokens: 40_000_000, hidden: 16, inter: 16, ..Layer::DEEPSEEK }, |_| ());
        assert!(found.contains(&(8, "received rows")) && !found.contains(&(4, "received rows")), "{found:?}");
    }

    #[test]
    fn buffers_must_fit_the_memory() {
        // One token needs 442 kB on a single rank.
        let wanted = |tokens| {
            too_large(&Layer { tokens, ..Layer::DEEPSEEK }, |_| ()).contains(&(1, "bytes for evenly spread tokens"))
        };
        assert_eq!([150_000, 160_000].map(wanted), [false, true]);
    }

    #[test]
    fn numbers_of_cores_and_tiles_and_thresholds_must_fit_their_fields() {
        let with_cores = |aic, aiv| too_large(&Layer::SMALL, |schedule| (schedule.aic, schedule.aiv) = (aic, aiv));
        assert_eq!(with_cores(65_535, 65_535), []);
        for found in [with_cores(65_536, 1), with_cores(1, 65_536)] {
            assert_eq!(found[0], (1, "cores of one kind"));
        }
        let found = too_large(&Layer::SMALL, |schedule| schedule.phases[PhaseId(1)].waits[0].need.per_row = u32::MAX);
        assert_eq!(found[0], (1, "a threshold"));
        // The route also waits for all tokens of a rank.
        let most = i32::MAX as u32 / default_rows(router(&Layer::TINY).graph(), 1) as u32;
        for (per_row, wanted) in [(most, false), (most + 1, true)] {
            let found = broken_of(&router(&Layer::TINY), budgets, |schedule| {
                schedule.routed_after.as_mut().unwrap().need.per_row = per_row;
            });
            let large = |v: &Violation| matches!(v, Violation::TooLarge { ranks: 1, what: "a threshold", .. });
            assert_eq!(found.iter().any(large), wanted, "{found:?}");
        }
        // A row tile's counter counts the tile's rows.
        let most = i32::MAX as u32 / Layer::SMALL.tile_m as u32;
        for (per_row, wanted) in [(most, None), (most + 1, Some((1, "a threshold")))] {
            let found = too_large(&Layer::SMALL, |schedule| {
                let wait = &mut schedule.phases[PhaseId(4)].waits[0];
                (wait.need.per_row, wait.need.fixed) = (per_row, 0);
            });
            assert_eq!(found.first().copied(), wanted);
        }
        // Each token of a block has `top_k` slots.
        let checked = moe_ffn(&Layer::SMALL);
        let wait = checked.dependencies().iter().find(|d| d.wait.need.per_slot > 0).unwrap().wait.clone();
        let Grid::Blocks { height } = checked.counters()[wait.counter].grid else { panic!("blocks of tokens") };
        let most = i32::MAX as u32 / (height * Layer::SMALL.top_k as u32);
        for (per_slot, wanted) in [(most, None), (most + 1, Some((1, "a threshold")))] {
            let found = too_large(&Layer::SMALL, |schedule| {
                let mut waits = schedule.phases.ids().collect::<Vec<_>>().into_iter();
                let phase = waits.find(|&phase| schedule.phases[phase].waits.contains(&wait)).unwrap();
                schedule.phases[phase].waits[0].need.per_slot = per_slot;
            });
            assert_eq!(found.first().copied(), wanted);
        }
    }

    #[test]
    fn what_a_graph_has_must_fit_its_fields() {
        let whole = moe_ffn(&Layer::SMALL);
        let made = schedule(&whole, Cores::ASCEND_A3);
        let large = |change: &dyn Fn(&mut TaskGraph, &mut Arena<CounterId, Counter>)| {
            let (mut graph, mut counters) = (whole.graph().clone(), whole.counters().clone());
            change(&mut graph, &mut counters);
            let mut found = Vec::new();
            budgets(&CheckedGraph::for_tests(graph, counters, Vec::new()), &made, &mut found);
            let what = |violation| match violation {
                Violation::TooLarge { what, .. } => what,
                other => panic!("{other:?}"),
            };
            found.into_iter().map(what).collect::<BTreeSet<_>>()
        };
        assert_eq!(large(&|_, _| ()), BTreeSet::new());
        let gate = PhaseId(1);
        let many = |graph: &TaskGraph| std::iter::repeat_n(graph.phases[gate].clone(), 70_000).collect();
        let phases = large(&|graph, _| graph.phases = many(graph));
        assert_eq!(phases, BTreeSet::from(["phases"]));
        let spaces = large(&|graph, _| graph.spaces = std::iter::repeat_n(graph.spaces[SpaceId(0)], 70_000).collect());
        assert_eq!(spaces, BTreeSet::from(["iteration spaces"]));
        let columns = large(&|graph, _| graph.phases[gate].ranges = vec![1 << 16, 1 << 16]);
        assert_eq!(columns, BTreeSet::from(["tiles of an item", "tiles of a phase"]));
        let most_columns = large(&|graph, _| graph.phases[gate].ranges = vec![i32::MAX as u32]);
        assert_eq!(most_columns, BTreeSet::from(["tiles of a phase"]));
        let counters = large(&|graph, counters| {
            let grid = Grid::RowTiles { space: graph.phases[gate].space, columns: u32::MAX };
            counters.ids().for_each(|id| counters[id].grid = grid);
        });
        assert!(counters.contains("counters"), "{counters:?}");
        // At the maximum number of rows that a rank may receive: two hundred row tiles.
        let of_rows = large(&|graph, counters| {
            let grid = Grid::RowTiles { space: graph.phases[gate].space, columns: 40_000_000 };
            counters[CounterId(0)].grid = grid;
        });
        assert!(of_rows.contains("counters"), "{of_rows:?}");
        let experts = |chunks| large(&|graph, _| graph.sizes.chunks = chunks);
        let what = "physical experts of a rank in all chunks";
        // 16 experts on one rank.
        assert!(!experts(4095).contains(what) && experts(4096).contains(what));
    }
}
