//! Barriers of the vector pipe.

use crate::plan::{BufferId, Holds, Instruction, VectorPlan};
use crate::units::Bytes;

/// Before which calls the vector pipe must be done with what it wrote: where a call reads or overwrites that. The body
/// is a loop, so what is left open at its end counts at its start. Output stages are kept apart by flags.
pub(super) fn barriers(plan: &VectorPlan) -> Vec<bool> {
    let program = &plan.program;
    let range = |id: BufferId| (plan.offsets[id], plan.offsets[id] + plan.bytes(id));
    let meets = |id: BufferId, open: &[(Bytes, Bytes)]| {
        let (from, to) = range(id);
        open.iter().any(|&(start, end)| from < end && start < to)
    };
    let mut open: Vec<(Bytes, Bytes)> = Vec::new();
    let mut found = Vec::new();
    for _turn in 0..2 {
        found.clear();
        for call in &program.calls {
            let touched = call.from.iter().chain(&call.scratch).chain(std::iter::once(&call.to));
            let waits = matches!(call.instruction, Instruction::Routine { waits: true, .. });
            let needed = !waits && touched.copied().any(|id| meets(id, &open));
            if needed || waits {
                open.clear();
            }
            found.push(needed);
            let written = call.scratch.iter().chain(std::iter::once(&call.to));
            open.extend(written.filter(|&&id| program.buffers[id].holds == Holds::Value).map(|&id| range(id)));
        }
    }
    found
}
