//! Derives dependencies and the reuse of memory a second time, from regions alone.

mod counted;
mod instance;
mod kept;
mod required;
#[cfg(test)]
mod tests;
mod tiles;
mod touched;

use super::Violation;
use crate::analyze::CheckedGraph;
use crate::collections::SortedSet;
use crate::graph::{RowKind, TaskGraph};
use crate::ids::{PhaseId, TensorId};
use instance::Instance;
use kept::KeptOrder;
pub use kept::OrderStep;
use required::{Nodes, Required, required};
use tiles::Cut;

/// Checks that tiles are ordered by the graph's dependencies if they share an element that one of them writes, and that
/// words order the uses of memory that chunks share.
///
/// The analysis compares regions as formulae, phase by phase. This check routes a few tokens and lists the elements of
/// every tile. Any two tiles with a common element must be ordered: by a dependency whose counters they share, or by a
/// path of such tiles. It therefore finds everything that the analysis misses, for any reason.
/// [`coverage`](super::coverage::coverage) checks that a schedule keeps the dependencies, and
/// [`thresholds`](super::thresholds::thresholds) that counters count exactly.
pub(super) fn derive(checked: &CheckedGraph, violations: &mut Vec<Violation>) {
    across_chunks(checked.graph(), violations);
    let orders = Orders::new(checked);
    for required in &orders.required {
        if orders.kept.orders(required.from, required.to) {
            continue;
        }
        let violation = orders.violation(required);
        if !violations.contains(&violation) {
            violations.push(violation);
        }
    }
}

/// The paths that order tiles of the phase `before` and later tiles of the phase `after` that share elements with them, sorted and without
/// duplicates; `None` if some of these tiles are not ordered. If `before` is `None`, paths start at the words that free memory for a chunk.
/// If `after` is `None`, paths end at the words that free a chunk's memory again.
#[must_use]
pub fn ways(checked: &CheckedGraph, before: Option<PhaseId>, after: Option<PhaseId>) -> Option<Vec<Vec<OrderStep>>> {
    let orders = Orders::new(checked);
    let phase = |node: usize| orders.nodes.tile(node).map(|tile| tile.phase);
    let between =
        orders.required.iter().filter(|required| (phase(required.from), phase(required.to)) == (before, after));
    let ways: Option<SortedSet<_>> = between.map(|required| orders.kept.path(required.from, required.to)).collect();
    Some(ways?.into_iter().collect())
}

/// The tiles of an instance, the required order, and the order that is kept.
struct Orders {
    nodes: Nodes,
    required: Vec<Required>,
    kept: KeptOrder,
}

impl Orders {
    fn new(checked: &CheckedGraph) -> Self {
        let instance = Instance::new(checked);
        let nodes = Nodes::new(checked.graph(), &instance);
        let required = required(checked.graph(), &instance, &nodes);
        let kept = KeptOrder::new(checked, &instance, &nodes, &required);
        Self { nodes, required, kept }
    }

    /// The violation for two nodes that are not ordered.
    fn violation(&self, required: &Required) -> Violation {
        let phase = |node: usize| self.nodes.tile(node).map(|tile| tile.phase);
        let tensor = required.tensor;
        match (phase(required.from), phase(required.to)) {
            (Some(before), Some(after)) => Violation::Unordered { before, after, tensor },
            (Some(phase), None) => Violation::FreedEarly { phase, tensor },
            (None, Some(phase)) => Violation::WrittenEarly { phase, tensor },
            (None, None) => unreachable!("two entries that are words touch no tensor"),
        }
    }
}

/// Checks matrices, which all chunks share: no chunk may touch elements that another one writes, except for sums, which
/// have their own order.
fn across_chunks(graph: &TaskGraph, violations: &mut Vec<Violation>) {
    if graph.sizes.chunks == 1 {
        return;
    }
    let matrices =
        graph.tensors.iter().filter(|(_, tensor)| matches!(tensor.rows, RowKind::Expert(_) | RowKind::Matrix(_)));
    for (tensor, _) in matrices {
        for before in touching(graph, tensor, true) {
            for after in touching(graph, tensor, false) {
                if (before != after || !graph.adds_up(before)) && rows_meet(graph, tensor, [before, after]) {
                    violations.push(Violation::Unordered { before, after, tensor });
                }
            }
        }
    }
}

/// Whether two phases touch the same rows of a matrix.
fn rows_meet(graph: &TaskGraph, tensor: TensorId, phases: [PhaseId; 2]) -> bool {
    let [one, other] = phases.map(|phase| {
        let accesses = graph.phases[phase].accesses.iter().filter(move |access| access.tensor == tensor);
        accesses.filter_map(Cut::of_rows).map(Cut::whole)
    });
    one.clone().any(|rows| other.clone().any(|met| rows.start < met.end && met.start < rows.end))
}

/// The phases that touch a tensor, or only those that write it.
fn touching(graph: &TaskGraph, tensor: TensorId, writes: bool) -> impl Iterator<Item = PhaseId> {
    let phases = graph.phases.iter().filter(move |(_, phase)| {
        phase.accesses.iter().any(|access| access.tensor == tensor && (access.write || !writes))
    });
    phases.map(|(id, _)| id)
}
