//! A task graph as a Mermaid flowchart.

use super::names;
use crate::analyze::CheckedGraph;
use crate::collections::IdSet;
use crate::collections::SortedSet;
use crate::graph::TaskGraph;
use crate::ids::{PhaseId, TensorId};
use crate::schedule::{Implied, Schedule};
use hpmoe_kernels::op::TaskKind;
use std::fmt::Write as _;

/// The flowchart: phases as nodes, coloured by the cores that run them, and tensors as edges, which are dashed if no counter is
/// needed.
#[must_use]
pub fn mermaid(checked: &CheckedGraph, schedule: &Schedule) -> String {
    let graph = checked.graph();
    let mut text = String::from("flowchart LR\n");
    for (id, phase) in graph.phases.iter() {
        let ranges: String = phase.ranges.iter().map(|range| format!(" × {range}")).collect();
        let class = class(graph.tasks[phase.task].kind);
        let (name, space) = (graph.phase_name(id), names::space(graph, phase.space));
        let _ = writeln!(text, "  p{}[\"<b>{name}</b><br/>{space}{ranges}\"]:::{class}", id.0);
    }
    arguments(graph, &mut text);
    for (number, dependency) in checked.dependencies().iter().enumerate() {
        let tensor = &graph.tensors[dependency.tensor].name;
        let (before, after) = (dependency.before.0, dependency.after.0);
        let _ = match names::elided(schedule, number) {
            None => writeln!(text, "  p{before} -->|\"{tensor}\"| p{after}"),
            Some(elision) => {
                let why = match elision.implied {
                    Implied::Path(_) => "path",
                    Implied::QueueOrder { .. } | Implied::SameCore | Implied::AlreadyAwaited { .. } => "same core",
                };
                writeln!(text, "  p{before} -.->|\"{tensor} ({why})\"| p{after}")
            }
        };
    }
    text.push_str("  classDef matrix fill:#cfe2f3,stroke:#3d6fa5,color:#10243a\n");
    text.push_str("  classDef vector fill:#d9ead3,stroke:#4f8a3a,color:#16290e\n");
    text.push_str("  classDef put fill:#fce5cd,stroke:#c27b24,color:#3b2406\n");
    text.push_str("  classDef tensor fill:#ffffff,stroke:#888888,color:#333333\n");
    text
}

/// The tensors that the caller passes, with edges to the phases that read and write them.
fn arguments(graph: &TaskGraph, text: &mut String) {
    let mut shown: IdSet<TensorId> = IdSet::new();
    let mut edges: SortedSet<(PhaseId, TensorId, bool)> = SortedSet::default();
    for (id, phase) in graph.phases.iter() {
        let arguments = phase.accesses.iter().filter(|a| graph.tensors[a.tensor].storage.is_argument());
        for access in arguments {
            shown.insert(access.tensor);
            edges.insert((id, access.tensor, access.write));
        }
    }
    for tensor in shown.iter() {
        let _ = writeln!(text, "  t{}([\"{}\"]):::tensor", tensor.0, graph.tensors[tensor].name);
    }
    for (phase, tensor, write) in edges {
        let _ = if write {
            writeln!(text, "  p{} --> t{}", phase.0, tensor.0)
        } else {
            writeln!(text, "  t{} --> p{}", tensor.0, phase.0)
        };
    }
}

fn class(core: TaskKind) -> &'static str {
    names::core(core)
}
