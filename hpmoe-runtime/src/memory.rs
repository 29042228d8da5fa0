//! Memory that kernels see.

use bytemuck::{Pod, Zeroable};

use crate::abi::LINE;

/// What no launch has written.
const POISON: u8 = 0xff;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(512))]
struct Line([u8; LINE]);

/// Memory that starts on a line and is a number of lines long.
pub(crate) struct Arena {
    lines: Vec<Line>,
}

impl Arena {
    /// At least `bytes` bytes with all bits set.
    pub(crate) fn poisoned(bytes: usize) -> Self {
        Self { lines: vec![Line([POISON; LINE]); bytes.div_ceil(LINE)] }
    }

    /// At least `bytes` bytes of zeros.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        Self { lines: vec![Line([0; LINE]); bytes.div_ceil(LINE)] }
    }

    /// Its address as kernels use it. It never moves.
    pub(crate) fn address(&mut self) -> u64 {
        self.lines.as_mut_ptr().expose_provenance() as u64
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.lines)
    }

    /// All of it.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }

    /// Writes a value at a byte offset.
    pub(crate) fn write<T: Pod>(&mut self, offset: usize, values: &[T]) {
        let bytes = bytemuck::cast_slice(values);
        self.bytes_mut()[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
}

/// Hands out places one after another.
#[derive(Default)]
pub(crate) struct Cursor(usize);

impl Cursor {
    /// The offset of the next `bytes` bytes, on a line of their own.
    pub(crate) fn take(&mut self, bytes: usize) -> usize {
        let at = self.0;
        self.0 += bytes.next_multiple_of(LINE);
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
        let mut arena = Arena::poisoned(513);
        assert_eq!(arena.bytes().len(), 1024);
        assert_eq!(arena.address() % 512, 0);
        assert!(arena.bytes().iter().all(|byte| *byte == 0xff));
        arena.write(512, &[1_u32, 2]);
        assert_eq!(arena.bytes()[511..521], [0xff, 1, 0, 0, 0, 2, 0, 0, 0, 0xff]);
    }

    #[test]
    fn places_are_lines_apart() {
        let mut cursor = Cursor::default();
        assert_eq!((cursor.take(1), cursor.take(0), cursor.take(513)), (0, 512, 512));
        assert_eq!(cursor.end(), 1536);
    }
}
