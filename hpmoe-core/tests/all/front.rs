//! The front end on the example kernel.

use crate::example::EXAMPLE;
use hpmoe_core::analyze::Cover;
use hpmoe_core::front::{front, modules};
use hpmoe_core::syntax::Overrides;

#[test]
fn the_example_is_understood() {
    let modules = modules(&EXAMPLE).unwrap();
    assert_eq!(modules.len(), 1);
    let front = front(&modules[0], &Overrides::new())
        .unwrap_or_else(|faults| panic!("{}", faults.iter().map(|fault| fault.text()).collect::<Vec<_>>().join("\n")));
    let checked = &front.flows[0];
    let graph = checked.graph();
    assert_eq!(graph.phases.len(), 7);
    let labels: Vec<&str> = graph.tasks.iter().map(|(_, task)| task.label.as_str()).collect();
    assert_eq!(labels, ["dispatch", "project_k128", "swiglu", "project_k64", "give_back", "combine"]);
    for dependency in checked.dependencies() {
        println!("{dependency:?}");
    }
    let by_path = checked.dependencies().iter().filter(|d| matches!(d.cover, Cover::Path(_))).count();
    assert_eq!((checked.dependencies().len(), by_path), (8, 1));
}
