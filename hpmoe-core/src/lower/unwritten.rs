//! Whether the kernel reads a tensor of received rows that no call writes. A later stage reports that, so the lowering does not
//! report the missing put, too.

use crate::graph::{Phase, RowKind, TaskGraph};
use crate::ids::TensorId;

/// Whether a call reads a tensor of received rows that the taskflow makes and that no call writes.
pub(super) fn reads_unwritten(graph: &TaskGraph) -> bool {
    let is_written = |tensor: TensorId| graph.phases.iter().any(|(_, phase)| touches(phase, tensor, true));
    let is_read = |tensor: TensorId| graph.phases.iter().any(|(_, phase)| touches(phase, tensor, false));
    graph.tensors.iter().any(|(id, tensor)| {
        tensor.rows == RowKind::Received && !tensor.storage.is_argument() && is_read(id) && !is_written(id)
    })
}

/// Whether a phase writes a tensor (if `write`), or reads it.
fn touches(phase: &Phase, tensor: TensorId, write: bool) -> bool {
    phase.accesses.iter().any(|access| access.tensor == tensor && access.write == write)
}
