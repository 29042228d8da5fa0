//! Dependencies and the reuse of memory, found a second time: from regions alone.

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

/// Tiles that share an element which one of them writes are ordered by dependencies of the graph, and so are the uses of
/// memory that chunks take in turn.
///
/// The analysis compares regions as formulae, phase by phase. Here a few tokens are routed, each tile lists its elements, and
/// any two tiles that have one in common must be ordered: by a dependency whose counters they share, or by a way over such
/// tiles. What the analysis forgets is then missing, whatever the reason. That a schedule keeps the dependencies is for
/// [`coverage`](super::coverage::coverage) to see, and that counters count exactly for
/// [`thresholds`](super::thresholds::thresholds).
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

/// The ways by which tiles of two phases that share elements are ordered, where all of them are. Without `before` they begin at
/// the words that free memory for a chunk, without `after` they end at those that free it again. In ascending order, each once.
#[must_use]
pub fn ways(checked: &CheckedGraph, before: Option<PhaseId>, after: Option<PhaseId>) -> Option<Vec<Vec<OrderStep>>> {
    let orders = Orders::new(checked);
    let phase = |node: usize| orders.nodes.tile(node).map(|tile| tile.phase);
    let between =
        orders.required.iter().filter(|required| (phase(required.from), phase(required.to)) == (before, after));
    let ways: Option<SortedSet<_>> = between.map(|required| orders.kept.path(required.from, required.to)).collect();
    Some(ways?.into_iter().collect())
}

/// The tiles of an instance, what must be ordered, and what is.
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
            (None, None) => unreachable!("words touch nothing"),
        }
    }
}

/// All chunks share matrices: what one chunk writes there no other may touch, but for sums, which have an order of their own.
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

/// Whether two phases touch tiles of the same outer tile of a matrix.
fn rows_meet(graph: &TaskGraph, tensor: TensorId, phases: [PhaseId; 2]) -> bool {
    let [one, other] = phases.map(|phase| {
        let accesses = graph.phases[phase].accesses.iter().filter(move |access| access.tensor == tensor);
        accesses.filter_map(Cut::of_rows).map(Cut::whole)
    });
    one.clone().any(|rows| other.clone().any(|met| rows.start < met.end && met.start < rows.end))
}

/// Phases that touch a tensor, or only those that write it.
fn touching(graph: &TaskGraph, tensor: TensorId, writes: bool) -> impl Iterator<Item = PhaseId> {
    let phases = graph.phases.iter().filter(move |(_, phase)| {
        phase.accesses.iter().any(|access| access.tensor == tensor && (access.write || !writes))
    });
    phases.map(|(id, _)| id)
}
