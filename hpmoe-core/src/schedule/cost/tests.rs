//! The modelled time of an entry is the time of the work that it stands for.

use super::*;
use crate::analyze::CheckedGraph;
use crate::fixture::{Layer, chunked, moe_backward, moe_ffn, once, widened};
use crate::graph::Rows;
use crate::ids::Id;
use crate::schedule::CoreKind;

fn cores(count: u32) -> Role {
    Role { name: "some", kind: CoreKind::Aiv, first: 0, count }
}

fn layers(layer: &Layer) -> [CheckedGraph; 4] {
    [moe_ffn(layer), moe_backward(layer), widened(layer), chunked(layer, 4)]
}

#[test]
fn what_is_made_of_a_matrix_takes_as_long_for_few_rows_as_for_many() {
    let time = |tokens, ranks| {
        let checked = widened(&Layer { tokens, ..Layer::DEEPSEEK });
        let graph = checked.graph();
        let (widen, _) = graph.phases.iter().find(|(_, phase)| graph.tasks[phase.task].name == "widen").unwrap();
        EntryCosts::new(graph, &Target::ascend_a3()).phase_time(graph, ranks, widen).0
    };
    assert_eq!(time(64, 8), time(4096, 8));
    assert!(time(64, 1).abs_diff(8 * time(64, 8)) <= 8, "a rank has eight times as many experts");
}

#[test]
fn the_entries_of_a_phase_take_as_long_as_the_phase() {
    let target = Target::ascend_a3();
    for checked in layers(&Layer::DEEPSEEK) {
        let graph = checked.graph();
        let costs = EntryCosts::new(graph, &target);
        for (id, phase) in graph.phases.iter() {
            for ranks in [1, 8] {
                let groups = graph.spaces[phase.space].groups(&graph.sizes, ranks as usize) as u64;
                let whole = costs.phase_time(graph, ranks, id).0;
                let parts = costs.entry_share(graph, &cores(1), ranks, id).0 * groups;
                assert!(parts.abs_diff(whole) * 100 <= whole, "phase {}: {parts} of {whole} ns", id.0);
                let shared = costs.entry_share(graph, &cores(5), ranks, id).0 * groups * 5;
                assert!(shared.abs_diff(whole) * 100 <= whole, "phase {}: {shared} of {whole} ns", id.0);
            }
        }
    }
    // If tokens are sent once, there are fewer rows.
    let checked = once(&Layer::DEEPSEEK);
    let costs = EntryCosts::new(checked.graph(), &target);
    let rows = costs.entry_rows(checked.graph(), 8, PhaseId::new(0)) * 64;
    assert!(rows.abs_diff(checked.graph().sizes.rows_once(8)) <= 64, "{rows}");
}

#[test]
fn an_entry_takes_at_least_as_long_as_one_of_its_tiles() {
    let checked = moe_ffn(&Layer::DEEPSEEK);
    let graph = checked.graph();
    let costs = EntryCosts::new(graph, &Target::ascend_a3());
    let gate = PhaseId::new(1);
    let tiles = costs.entry_rows(graph, 1, gate).div_ceil(128) * u64::from(graph.phases[gate].columns());
    let tile = costs.core_time(gate, costs.entry_rows(graph, 1, gate), 1).0 / tiles;
    let time = |count| costs.entry_time(graph, &cores(count), 1, gate).0;
    assert!(time(10_000).abs_diff(tile) <= 1, "{} of {tile} ns", time(10_000));
    assert_eq!(time(2), costs.entry_share(graph, &cores(2), 1, gate).0);
    // A tile with fewer rows takes less time.
    let few = moe_ffn(&Layer { tokens: 256, ..Layer::DEEPSEEK });
    let costs = EntryCosts::new(few.graph(), &Target::ascend_a3());
    let short = costs.entry_time(few.graph(), &cores(10_000), 1, gate).0;
    let overhead = costs.overhead.0;
    assert!(((short - overhead) * 4).abs_diff(tile - overhead) <= 4, "32 rows of 128: {short} of {tile} ns");
}

#[test]
fn more_cores_than_fill_the_link_put_no_faster() {
    let checked = moe_ffn(&Layer::DEEPSEEK);
    let graph = checked.graph();
    let costs = EntryCosts::new(graph, &Target::ascend_a3());
    let (dispatch, combine) = (PhaseId::new(0), PhaseId::new(6));
    let share = |count, phase| costs.entry_share(graph, &cores(count), 8, phase).0;
    assert_eq!(share(200, dispatch), share(400, dispatch));
    assert!(share(4, dispatch) > share(8, dispatch) && share(200, combine) > share(400, combine));
    // 512 rows of 7168 bf16 through the link.
    let bytes = 512.0 * 7168.0 * 2.0;
    let link = bytes / Target::ascend_a3().link.other_package_gb_per_s;
    assert!((share(400, dispatch) as f64 / link - 1.0).abs() < 0.1, "{} of {link} ns", share(400, dispatch));
}

#[test]
fn the_link_limits_only_what_goes_to_peers() {
    let mut graph = moe_ffn(&Layer::DEEPSEEK).graph().clone();
    let dispatch = PhaseId::new(0);
    graph.phases[dispatch].accesses.iter_mut().for_each(|access| access.remote = false);
    let costs = EntryCosts::new(&graph, &Target::ascend_a3());
    let share = |count| costs.entry_share(&graph, &cores(count), 8, dispatch);
    assert!(share(200) > share(400), "more cores copy faster on their own rank");
}

#[test]
fn each_column_of_a_put_is_a_piece_of_its_own() {
    let mut graph = moe_ffn(&Layer::DEEPSEEK).graph().clone();
    let dispatch = PhaseId::new(0);
    let puts = |graph: &TaskGraph| EntryCosts::new(graph, &Target::ascend_a3()).pieces_time(graph, 8, dispatch).0;
    let once = puts(&graph);
    graph.phases[dispatch].ranges = vec![2];
    assert!(puts(&graph).abs_diff(2 * once) * 100 <= once, "{} of {once} ns", puts(&graph));
}

#[test]
fn deepseek_projections_take_what_the_cube_allows() {
    let checked = moe_ffn(&Layer::DEEPSEEK);
    let graph = checked.graph();
    let costs = EntryCosts::new(graph, &Target::ascend_a3());
    let matrix: u64 = [1, 2, 4].map(|p| costs.phase_time(graph, 8, PhaseId::new(p)).0).iter().sum();
    // 6 * H * I * rows over 24 cores at 86 % of peak is 9.2 ms; tiles add 300 ns each.
    let ms = matrix as f64 / 24.0 / 1e6;
    assert!((9.2..9.5).contains(&ms), "{ms} ms");
}

#[test]
fn a_narrow_last_tile_costs_what_it_holds() {
    let wide = moe_ffn(&Layer { columns: 4096, ..Layer::SMALL });
    let exact = moe_ffn(&Layer { columns: 128, ..Layer::SMALL });
    let combine = PhaseId::new(6);
    let time = |checked: &crate::analyze::CheckedGraph| {
        EntryCosts::new(checked.graph(), &Target::ascend_a3()).phase_time(checked.graph(), 1, combine).0
    };
    // The router's weights are read once per tile either way and are scaled with it.
    assert!(time(&wide).abs_diff(time(&exact)) * 20 < time(&exact));
}

/// Nanoseconds of a full tile of a phase that runs alone, with the overhead of a tile.
fn tile_ns(works: &Works, target: &Target) -> f64 {
    let alone = works.alone(target, &cost::CostModel::new(target), works.full_rows());
    alone.0 as f64 / 1e3 + (target.sync.task_pickup_ns + target.sync.tile_overhead_ns).round()
}

#[test]
fn a_core_takes_the_time_of_all_tiles_of_its_rows() {
    let target = Target::ascend_a3();
    let overhead = (target.sync.task_pickup_ns + target.sync.tile_overhead_ns).round();
    for checked in layers(&Layer::DEEPSEEK) {
        let graph = checked.graph();
        let (costs, works) = (EntryCosts::new(graph, &target), Works::of_phases(graph));
        for (id, phase) in graph.phases.iter() {
            let kind = graph.spaces[phase.space].kind;
            if matches!(kind, SpaceKind::Experts | SpaceKind::Chunks) {
                continue;
            }
            let (full, alone) = (works[id].full_rows(), tile_ns(&works[id], &target));
            let columns = f64::from(phase.columns());
            // A single row takes its share of a tile's work, and the overhead of a tile.
            let row = (alone - overhead) * columns / f64::from(full) + overhead * columns;
            assert!((costs.core_time(id, 1, 1).0 as f64 - row).abs() <= 1.0 + row / 2e3, "phase {}", id.0);
            for tiles in [1, 3, 100] {
                let wanted = f64::from(tiles) * columns * alone;
                let found = costs.core_time(id, u64::from(tiles * full), 1).0 as f64;
                assert!((found - wanted).abs() <= 1.0 + wanted / 2e3, "phase {}: {found} of {wanted} ns", id.0);
            }
        }
    }
}

#[test]
fn only_what_is_made_of_matrices_takes_time_whatever_the_rows() {
    let target = Target::ascend_a3();
    let costs_and_works = |graph: &TaskGraph| (EntryCosts::new(graph, &target), Works::of_phases(graph));
    let of_matrices = |graph: &TaskGraph, id: PhaseId| {
        let phase = &graph.phases[id];
        (graph.spaces[phase.space].kind, graph.tasks[phase.task].kind) == (SpaceKind::Experts, TaskKind::Vector)
    };
    let mut graphs: Vec<TaskGraph> = layers(&Layer::DEEPSEEK).iter().map(|checked| checked.graph().clone()).collect();
    // A task that also reads rows, as a hand-written operator can.
    let mut with_rows = widened(&Layer::DEEPSEEK).graph().clone();
    let widen = with_rows.phases.ids().find(|&id| of_matrices(&with_rows, id)).unwrap();
    let read = with_rows.phases[widen].accesses.iter_mut().find(|access| !access.write).unwrap();
    read.region.rows = Rows::Group;
    let (costs, _) = costs_and_works(&with_rows);
    assert!(costs.phases[widen].tile_ps > 0 && costs.phases[widen].fixed_ps > 0);
    graphs.push(with_rows);
    for graph in graphs {
        let (costs, works) = costs_and_works(&graph);
        for id in graph.phases.ids() {
            let PhaseCost { tile_ps, fixed_ps, .. } = costs.phases[id];
            let alone = |rows: u32| works[id].alone(&target, &cost::CostModel::new(&target), rows).0;
            let fixed = if of_matrices(&graph, id) { alone(0) } else { 0 };
            assert_eq!((tile_ps, fixed_ps), (alone(works[id].full_rows()) - fixed, fixed), "phase {}", id.0);
        }
    }
}

#[test]
fn the_rows_of_all_entries_are_those_of_the_phase() {
    for checked in layers(&Layer::DEEPSEEK) {
        let (graph, sizes) = (checked.graph(), &checked.graph().sizes);
        let (costs, works) = (EntryCosts::new(graph, &Target::ascend_a3()), Works::of_phases(graph));
        let routed = (sizes.tokens * sizes.top_k) as u64;
        for (id, phase) in graph.phases.iter() {
            let space = graph.spaces[phase.space];
            for ranks in [1, 4, 64] {
                let groups = space.groups(sizes, ranks as usize) as u64;
                let rows = match space.kind {
                    SpaceKind::Chunks => sizes.chunks as u64,
                    SpaceKind::Blocks => sizes.tokens as u64,
                    _ => routed,
                };
                assert_eq!(costs.entry_rows(graph, ranks, id) * groups, rows, "phase {}", id.0);
                let full = u64::from(works[id].full_rows());
                let tiles = costs.entry_rows(graph, ranks, id).div_ceil(full) * u64::from(phase.columns());
                assert_eq!(costs.entry_tiles(graph, ranks, id), tiles);
            }
        }
    }
}

#[test]
fn puts_pay_for_each_piece() {
    let target = Target::ascend_a3();
    let each = |costs: &EntryCosts| costs.overhead + costs.put_start + costs.fence;
    let dispatch = PhaseId::new(0);
    // 64 experts, 8 per token, pieces of at most 16 rows. The cases: full pieces, partly full ones, pieces of one row, and fewer pieces
    // than pairs.
    for (tokens, pieces) in [(128, 64), (256, 128), (136, 128), (120, 64), (8, 64), (4, 32)] {
        let checked = moe_ffn(&Layer { tokens, ..Layer::DEEPSEEK });
        let graph = checked.graph();
        let costs = EntryCosts::new(graph, &target);
        assert_eq!(costs.phases[dispatch].full_rows, 16);
        for ranks in [1, 8] {
            let work = costs.pieces_time(graph, ranks, dispatch);
            let rows = costs.core_time(dispatch, tokens as u64 * 8, 1).0;
            let tiles = costs.overhead.0 * (tokens as u64 * 8).div_ceil(16);
            assert_eq!(work, Nanos(rows - tiles) + each(&costs) * pieces, "{tokens} tokens");
        }
        // With small pieces, most of the time is overhead per piece; with full ones, only the put itself counts.
        let small = tokens * 8 < 16 * 64;
        let whole = costs.phase_time(graph, 8, dispatch);
        assert_eq!(
            costs.put_time(graph, 8, dispatch),
            if small { costs.pieces_time(graph, 8, dispatch) } else { whole }
        );
        assert!(costs.put_time(graph, 8, PhaseId::new(6)) == costs.phase_time(graph, 8, PhaseId::new(6)));
    }
    // If tokens are sent once, each rank that a token goes to gets one row: more ranks, more rows.
    let checked = once(&Layer { tokens: 16, ..Layer::DEEPSEEK });
    let graph = checked.graph();
    let costs = EntryCosts::new(graph, &target);
    let rows = graph.sizes.rows_once(8);
    let alone = costs.phases[dispatch].tile_ps * rows / costs.phases[dispatch].full_rows / 1_000;
    assert_eq!(costs.pieces_time(graph, 8, dispatch), Nanos(alone) + each(&costs) * rows.min(64));
    assert_eq!(costs.put_time(graph, 8, dispatch), costs.pieces_time(graph, 8, dispatch));
    assert!(costs.pieces_time(graph, 1, dispatch) < costs.pieces_time(graph, 8, dispatch));
}

#[test]
fn the_link_is_filled_by_cores_some_of_which_wait_for_their_rows() {
    let target = Target::ascend_a3();
    let found = |layer: Layer| {
        let checked = moe_ffn(&layer);
        EntryCosts::new(checked.graph(), &target).put_cores(checked.graph(), PhaseId::new(0))
    };
    let over = target.link.other_package_gb_per_s / target.link.put_gb_per_s_per_aiv;
    let paused = target.sync.fence_remote_ns + target.sync.task_pickup_ns + target.sync.tile_overhead_ns;
    for (hidden, rows) in [(7168, 1), (7168, 2), (7168, 5), (7168, 16), (1024, 3), (16, 1)] {
        let put = (f64::from(rows) * hidden as f64 * 2.0 / target.link.put_gb_per_s_per_aiv).max(1.0);
        let wanted = over * (put + paused) / put;
        let found = f64::from(found(Layer { hidden, tokens: 8 * rows as usize, ..Layer::DEEPSEEK }));
        assert!((found - wanted).abs() <= 1.0 + wanted * 0.08, "{rows} rows of {hidden}: {found} of {wanted} cores");
    }
    // A piece has at most sixteen rows, even if there are more to send.
    assert_eq!(found(Layer { tokens: 4096, ..Layer::DEEPSEEK }), found(Layer { tokens: 128, ..Layer::DEEPSEEK }));
}

#[test]
fn an_expert_has_few_pieces_for_a_peer_below_four_full_puts() {
    let few = |layer: fn(&Layer) -> CheckedGraph, tokens| {
        let checked = layer(&Layer { tokens, ..Layer::DEEPSEEK });
        EntryCosts::new(checked.graph(), &Target::ascend_a3()).has_few_pieces(checked.graph(), PhaseId::new(0))
    };
    // Puts have sixteen rows. The two cases have 63 and 64 rows.
    assert_eq!([504, 512].map(|tokens| few(moe_ffn, tokens)), [true, false]);
    // If tokens are sent once, one rank has one row of each. The two cases have 63 and 64 rows.
    assert_eq!([63 * 64, 64 * 64].map(|tokens| few(once, tokens)), [true, false]);
}

#[test]
fn a_link_takes_what_all_columns_of_all_rows_take() {
    let mut graph = moe_ffn(&Layer::DEEPSEEK).graph().clone();
    let dispatch = PhaseId::new(0);
    let time = |graph: &TaskGraph, rows| EntryCosts::new(graph, &Target::ascend_a3()).link_time(dispatch, rows).0;
    let one = time(&graph, 1000);
    assert!(time(&graph, 3000).abs_diff(3 * one) <= 3, "{one} ns");
    graph.phases[dispatch].ranges = vec![4];
    assert!(time(&graph, 1000).abs_diff(4 * one) <= 4, "{} of {one} ns", time(&graph, 1000));
}
