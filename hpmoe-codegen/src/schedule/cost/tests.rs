//! Times of entries are those of the work that they stand for.

use super::*;
use crate::schedule::CoreKind;
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::fixture::{Layer, chunked, moe_backward, moe_ffn, once, widened};
use hpmoe_language::ids::Id;

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
    // Sent once, rows are fewer.
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
    let tile = costs.core_time(gate, (costs.entry_rows(graph, 1, gate), 1)).0 / tiles;
    let time = |count| costs.entry_time(graph, &cores(count), 1, gate).0;
    assert!(time(10_000).abs_diff(tile) <= 1, "{} of {tile} ns", time(10_000));
    assert_eq!(time(2), costs.entry_share(graph, &cores(2), 1, gate).0);
    // Fewer rows than a tile has are done sooner.
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
    let puts = |graph: &TaskGraph| EntryCosts::new(graph, &Target::ascend_a3()).puts(graph, 8, dispatch).work.0;
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
    let time = |checked: &hpmoe_language::analyze::CheckedGraph| {
        EntryCosts::new(checked.graph(), &Target::ascend_a3()).phase_time(checked.graph(), 1, combine).0
    };
    // The router's weights are read once per tile either way and are scaled with it.
    assert!(time(&wide).abs_diff(time(&exact)) * 20 < time(&exact));
}
