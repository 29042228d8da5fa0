//! Texts of the example kernel, byte for byte. `INSTA_UPDATE=always cargo test -p hpmoe-core --test texts` renews them.

use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::compile::{front, modules};
use hpmoe_core::report::{graph_text, mermaid, schedule_text, totals};
use hpmoe_core::schedule::{Cores, schedule};
use hpmoe_core::syntax::Overrides;
use hpmoe_core::validate::{ValidSchedule, validate};

const EXAMPLE: &str = include_str!("../../examples/moe_ffn.rs");

fn example() -> (CheckedGraph, ValidSchedule) {
    let module = &modules(EXAMPLE).unwrap()[0];
    let mut front = front(module, &Overrides::new()).unwrap_or_else(|faults| panic!("{faults:?}"));
    let checked = front.flows.remove(0);
    let schedule = schedule(&checked, Cores::ASCEND_A3);
    let valid = validate(&checked, schedule);
    let valid =
        valid.unwrap_or_else(|found| panic!("{:?}", found.iter().map(|v| v.text(&checked)).collect::<Vec<_>>()));
    (checked, valid)
}

#[test]
fn graph() {
    let (checked, valid) = example();
    insta::assert_snapshot!(graph_text(&checked, valid.schedule()));
}

#[test]
fn flowchart() {
    let (checked, valid) = example();
    insta::assert_snapshot!(mermaid(&checked, valid.schedule()));
}

#[test]
fn queues() {
    let (checked, valid) = example();
    insta::assert_snapshot!(schedule_text(&checked, valid.schedule()));
}

#[test]
fn numbers() {
    let (checked, valid) = example();
    insta::assert_snapshot!(totals(&checked, valid.schedule(), 4).to_string());
}
