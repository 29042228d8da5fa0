//! The size of the elements of weight gradients.

use crate::graph::{Access, RowKind, Storage, TaskGraph};

/// Bytes per element of the first weight gradient that a taskflow writes: an argument with a matrix per expert. `None` if it writes none.
#[must_use]
pub fn gradient_bytes(graph: &TaskGraph) -> Option<u32> {
    let is_gradient = |access: &Access| {
        let tensor = &graph.tensors[access.tensor];
        access.write && matches!(tensor.rows, RowKind::Expert(_)) && tensor.storage == Storage::Argument
    };
    let mut accesses =
        graph.phases.iter().flat_map(|(_, phase)| phase.accesses.iter().map(move |access| (phase, access)));
    accesses.find_map(|(phase, access)| {
        let param = phase.accesses.iter().position(|other| other == access && is_gradient(other))?;
        Some(graph.tasks[phase.task].params[param].shape.element.bytes() as u32)
    })
}
