//! Memory that kernels see.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use crate::abi::LINE;
use crate::backend::host::{Mapping, NoMapping, SharedMapping};
use crate::backend::npu::DeviceMemory;

/// Each byte that no launch has written.
pub(crate) const POISON: u8 = 0xff;

/// From this many bytes on, memory is mapped, and only pages that are touched cost time. Less is allocated and filled.
const LARGE: usize = 4 << 20;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(512))]
struct Line([u8; LINE]);

/// Memory that starts on a line and is a number of lines long.
pub(crate) struct LineMemory {
    lines: Vec<Line>,
}

impl LineMemory {
    /// At least `bytes` bytes of zeros.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        Self { lines: vec![Line([0; LINE]); bytes.div_ceil(LINE)] }
    }

    /// At least `bytes` bytes, of which the first `poisoned` have all bits set and the others are zero; `None` without room for them.
    fn poisoned(bytes: usize, poisoned: usize) -> Option<Self> {
        let count = bytes.div_ceil(LINE);
        let mut lines = Vec::new();
        lines.try_reserve_exact(count).ok()?;
        lines.resize(count, Line([POISON; LINE]));
        let mut arena = Self { lines };
        arena.bytes_mut()[poisoned..].fill(0);
        Some(arena)
    }

    /// Its address as kernels use it. It never moves.
    pub(crate) fn address(&mut self) -> u64 {
        self.lines.as_mut_ptr().expose_provenance() as u64
    }

    /// All bytes, those that fill the last line included.
    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.lines)
    }

    /// All bytes, for writing.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }

    /// Writes a value at a byte offset.
    pub(crate) fn write<T: Pod>(&mut self, offset: usize, values: &[T]) {
        let bytes = bytemuck::cast_slice(values);
        self.bytes_mut()[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
}

/// Memory of any size that begins with poison and goes on with zeros.
pub(crate) enum Poisoned {
    /// Every byte was written.
    Filled(LineMemory),
    /// Pages cost time when they are touched.
    Mapped(Mapping),
    /// Processes share it.
    Shared(Arc<SharedMapping>),
    /// It is an NPU's.
    Device(DeviceMemory),
}

impl Poisoned {
    /// At least `bytes` bytes, of which the first `poisoned` have all bits set and the others are zero. `None` where
    /// there is not enough room.
    pub(crate) fn new(bytes: usize, poisoned: usize) -> Option<Self> {
        let filled = || LineMemory::poisoned(bytes, poisoned).map(Self::Filled);
        if bytes < LARGE {
            return filled();
        }
        match Mapping::new(bytes, poisoned) {
            Ok(mapping) => Some(Self::Mapped(mapping)),
            Err(NoMapping::Unsupported) => filled(),
            Err(NoMapping::NoRoom) => None,
        }
    }

    /// Memory of no bytes, which has no address to speak of.
    pub(crate) const fn empty() -> Self {
        Self::Filled(LineMemory { lines: Vec::new() })
    }

    /// Its address as kernels use it, on a line. It never moves.
    pub(crate) fn address(&mut self) -> u64 {
        match self {
            Self::Filled(arena) => arena.address(),
            Self::Mapped(mapping) => mapping.address(),
            Self::Shared(mapping) => mapping.address(),
            Self::Device(memory) => memory.address(),
        }
    }
}

/// Hands out offsets one after another. Sizes beyond any memory end at the largest address.
#[derive(Default)]
pub(crate) struct OffsetAllocator(usize);

impl OffsetAllocator {
    /// The offset of the next `bytes` bytes, on a line of their own.
    pub(crate) fn take(&mut self, bytes: usize) -> usize {
        const LAST: usize = usize::MAX / LINE * LINE;
        let at = self.0;
        self.0 = bytes.checked_next_multiple_of(LINE).and_then(|bytes| at.checked_add(bytes)).unwrap_or(LAST);
        at
    }

    /// Bytes handed out.
    pub(crate) const fn end(&self) -> usize {
        self.0
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

    #[test]
    fn small_memory_is_filled_and_large_memory_is_mapped_where_that_can_be() {
        let bytes = |memory: &Poisoned| match memory {
            Poisoned::Filled(arena) => arena.bytes()[1022..1026].to_vec(),
            Poisoned::Mapped(mapping) => mapping.bytes()[1022..1026].to_vec(),
            Poisoned::Shared(_) | Poisoned::Device(_) => Vec::new(),
        };
        let (small, large) = (Poisoned::new(2048, 1024).unwrap(), Poisoned::new(LARGE, 1024).unwrap());
        assert!(matches!(small, Poisoned::Filled(_)));
        assert_eq!(matches!(large, Poisoned::Mapped(_)), cfg!(all(target_os = "linux", not(miri))));
        assert_eq!((bytes(&small), bytes(&large)), (vec![0xff, 0xff, 0, 0], vec![0xff, 0xff, 0, 0]));
        assert!(Poisoned::new(1 << 60, 0).is_none());
        assert!(LineMemory::poisoned(1 << 60, 0).is_none());
    }

    #[test]
    fn places_are_lines_apart() {
        let mut cursor = OffsetAllocator::default();
        assert_eq!((cursor.take(1), cursor.take(0), cursor.take(513)), (0, 512, 512));
        assert_eq!(cursor.end(), 1536);
        cursor.take(usize::MAX);
        assert_eq!(cursor.end(), usize::MAX - 511);
    }
}
