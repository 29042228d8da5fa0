//! External operators: memory as they declare it.

use super::OnChipMemory;
use super::limits::{L0, L0C, L1, L1_LINES, UB_TASKS};
use crate::finding::{Overflow, Piece};
use crate::graph::External;
use crate::units::Bytes;
use hpmoe_kernels::op::TaskKind;

/// The bytes of a memory that an external operator can use, from address 0.
pub(super) fn available(memory: OnChipMemory) -> Bytes {
    match memory {
        OnChipMemory::Ub => UB_TASKS,
        OnChipMemory::L1 => L1 - L1_LINES,
        OnChipMemory::L0A | OnChipMemory::L0B => L0,
        OnChipMemory::L0C => L0C,
    }
}

/// The memories of the core that runs tasks of this kind, each with the number of bytes that an external operator can use there, from
/// address 0 on.
#[must_use]
pub fn memory_of_operators(kind: TaskKind) -> Vec<(OnChipMemory, Bytes)> {
    let memories: &[OnChipMemory] = match kind {
        TaskKind::Matrix => &[OnChipMemory::L1, OnChipMemory::L0A, OnChipMemory::L0B, OnChipMemory::L0C],
        TaskKind::Vector | TaskKind::Put => &[OnChipMemory::Ub],
    };
    memories.iter().map(|&memory| (memory, available(memory))).collect()
}

/// The bytes of each memory that an operator declares, or all bytes that it can use there.
///
/// # Errors
///
/// The operator declares more of a memory than it can use.
pub(super) fn declared(kind: TaskKind, external: &External) -> Result<Vec<(OnChipMemory, Bytes)>, Overflow> {
    let all = memory_of_operators(kind).into_iter();
    all.map(|(which, capacity)| {
        let declared = external.memory.iter().find(|(declared, _)| *declared == which);
        let needed = declared.map_or(capacity, |(_, bytes)| *bytes);
        if needed > capacity {
            let piece = Piece::External { file: external.file.clone() };
            return Err(Overflow { memory: which, capacity, needed, piece, contents: Vec::new() });
        }
        Ok((which, needed))
    })
    .collect()
}
