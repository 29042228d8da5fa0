//! Memory that kernels can access.

use bytemuck::{Pod, Zeroable};

use crate::abi::LINE;

/// Value of every byte that no launch has written.
pub(crate) const POISON: u8 = 0xff;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(512))]
struct Line([u8; LINE]);

/// Memory that starts at a multiple of a line (512 bytes), and whose size is a multiple of a line.
pub(crate) struct LineMemory {
    lines: Vec<Line>,
}

impl LineMemory {
    /// Allocates at least `bytes` bytes of zeros.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        Self { lines: vec![Line([0; LINE]); bytes.div_ceil(LINE)] }
    }

    /// Allocates at least `bytes` bytes. The first `poisoned` bytes have all bits set, and the others are zero. `None` if there is not
    /// enough memory.
    pub(crate) fn poisoned(bytes: usize, poisoned: usize) -> Option<Self> {
        let count = bytes.div_ceil(LINE);
        let mut lines = Vec::new();
        lines.try_reserve_exact(count).ok()?;
        lines.resize(count, Line([POISON; LINE]));
        let mut arena = Self { lines };
        arena.bytes_mut()[poisoned..].fill(0);
        Some(arena)
    }

    /// Memory of zero bytes.
    pub(crate) const fn empty() -> Self {
        Self { lines: Vec::new() }
    }

    /// Address of the memory, as kernels use it. The memory never moves.
    pub(crate) fn address(&mut self) -> u64 {
        self.lines.as_mut_ptr().expose_provenance() as u64
    }

    /// All bytes, including those that fill up the last line.
    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.lines)
    }

    /// All bytes, for writing.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }

    /// Writes values at byte offset `offset`.
    pub(crate) fn write<T: Pod>(&mut self, offset: usize, values: &[T]) {
        let bytes = bytemuck::cast_slice(values);
        self.bytes_mut()[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_on_a_line_and_is_poisoned() {
        let mut arena = LineMemory::poisoned(1025, 1025).unwrap();
        assert_eq!(arena.bytes().len(), 1536);
        assert_eq!(arena.address() % 512, 0);
        assert!(arena.bytes()[..1025].iter().all(|byte| *byte == 0xff));
        arena.write(512, &[1_u32, 2]);
        assert_eq!(arena.bytes()[511..521], [0xff, 1, 0, 0, 0, 2, 0, 0, 0, 0xff]);
    }
}
