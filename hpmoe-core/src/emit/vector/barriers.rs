//! Barriers of the vector pipe.

use crate::plan::{BufferId, Holds, Instruction, VectorPlan};
use crate::units::Bytes;
use hpmoe_kernels::op::Waits;

/// For each call, whether a barrier of the vector pipe must precede it, because it reads or overwrites what an earlier call wrote. The body
/// is a loop, so writes that are pending at its end are pending at its start. Output stages need no barriers: flags order accesses to them.
pub(super) fn barriers(plan: &VectorPlan) -> Vec<bool> {
    let program = &plan.program;
    let range = |id: BufferId| (plan.offsets[id], plan.offsets[id] + plan.bytes(id));
    let meets = |id: BufferId, open: &[(Bytes, Bytes)]| {
        let (from, to) = range(id);
        open.iter().any(|&(start, end)| from < end && start < to)
    };
    let mut open: Vec<(Bytes, Bytes)> = Vec::new();
    let mut barriers = Vec::new();
    for _turn in 0..2 {
        barriers.clear();
        for call in &program.calls {
            let waits = match call.instruction {
                Instruction::Routine { waits, .. } => waits,
                Instruction::Spread(spread) => spread.routine().1,
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
            barriers.push(needed);
            open.extend(written.filter(|&&id| program.buffers[id].holds == Holds::Value).map(|&id| range(id)));
        }
    }
    barriers
}
