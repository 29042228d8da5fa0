use super::gantt;
use crate::simulate::{Ours, Routing, RoutingSizes, simulate, traced_tasks};
use hpmoe_core::fixture::{Layer, moe_ffn};
use hpmoe_core::schedule::{Cores, schedule};
use hpmoe_core::target::Target;

#[test]
fn every_core_and_link_has_a_lane_and_all_is_called_simulated() {
    let target = Target::ascend_a3();
    let checked = moe_ffn(&Layer::SMALL);
    let plan = schedule(&checked, Cores::ASCEND_A3);
    let workload = Ours::new(
        &target,
        &checked,
        &plan,
        &Routing::balanced(RoutingSizes { ranks: 4, experts: 16, top_k: 4, tokens: 384 }),
    )
    .unwrap();
    let run = simulate(&target, &workload, true).unwrap();
    let picture = gantt(&target, &workload, &run, "a layer, simulated");
    assert!(picture.contains("Simulated latency") && picture.contains("24 lanes") && picture.contains("48 lanes"));
    for name in ["launch", "link out", "link in", "rank 3", "dispatch", "waits for rows on their way"] {
        assert!(picture.contains(name), "{name} is missing");
    }
    assert_eq!(gantt(&target, &workload, &run, "a layer, simulated"), picture);
    // Records are all tasks, each with those that let it begin.
    let records = traced_tasks(&workload, &run);
    assert_eq!(records.len() as u64, run.tasks);
    for record in &records {
        assert_eq!((record.slice.op, record.slice.item), (record.task.op, record.task.item));
        let slice = record.slice;
        assert!(slice.came < slice.looked && slice.looked <= slice.begun && slice.begun < slice.end);
        for by in record.signalled_by.iter().flatten() {
            assert!(records[*by].slice.end <= record.slice.begun);
        }
    }
}
