//! Barriers of the vector pipe.

use hpmoe_kernels::op::Waits;
use hpmoe_language::plan::{BufferId, Holds, Instruction, VectorPlan};
use hpmoe_language::units::Bytes;

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
            let waits = match call.instruction {
                Instruction::Routine { waits, .. } => waits,
                _ => Waits::Never,
            };
            let written = call.scratch.iter().chain(std::iter::once(&call.to));
            let meets = |&id: &BufferId| meets(id, &open);
            let needed = match waits {
                Waits::Never => call.from.iter().chain(written.clone()).any(meets),
                Waits::First => false,
                Waits::BehindScratch => call.scratch.iter().any(meets),
            };
            if needed || waits != Waits::Never {
                open.clear();
            }
            found.push(needed);
            open.extend(written.filter(|&&id| program.buffers[id].holds == Holds::Value).map(|&id| range(id)));
        }
    }
    found
}
