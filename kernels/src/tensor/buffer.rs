//! Aligned memory of cells.

use std::cell::Cell;
use std::ops::Deref;

use crate::Element;

/// Alignment of tensors in bytes, which is that of buffers in the device's runtime.
const ALIGNMENT: usize = 512;

/// A fixed number of cells, the first of which is aligned to [`ALIGNMENT`] bytes.
///
/// It is a vector that is never resized, so that its cells never move; the cells before the first aligned one and after
/// the last one are not used. Alignment and padding keep the lines of different tensors apart.
pub(crate) struct CellBuffer<T> {
    cells: Vec<Cell<T>>,
    start: usize,
    len: usize,
}

impl<T: Element> CellBuffer<T> {
    pub(crate) fn filled(len: usize, value: T) -> Self {
        let padding = ALIGNMENT / size_of::<T>();
        let cells = vec![Cell::new(value); len.next_multiple_of(padding) + padding];
        let start = cells.as_ptr().align_offset(ALIGNMENT);
        Self { cells, start, len }
    }

    pub(crate) fn copied(values: &[T]) -> Self {
        let buffer = Self::filled(values.len(), T::default());
        for (cell, value) in buffer.iter().zip(values) {
            cell.set(*value);
        }
        buffer
    }

    pub(crate) fn to_vec(&self) -> Vec<T> {
        self.iter().map(Cell::get).collect()
    }
}

impl<T> Deref for CellBuffer<T> {
    type Target = [Cell<T>];

    fn deref(&self) -> &[Cell<T>] {
        &self.cells[self.start..self.start + self.len]
    }
}

impl<T: Element> Clone for CellBuffer<T> {
    fn clone(&self) -> Self {
        Self::copied(&self.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bf16;

    #[test]
    fn starts_on_its_alignment_and_keeps_it_when_moved() {
        for len in [0, 1, 255, 256, 257] {
            let buffer = CellBuffer::filled(len, bf16::POISON);
            let moved = Box::new(buffer.clone());
            for buffer in [&buffer, &moved] {
                assert_eq!(buffer.len(), len);
                assert_eq!(buffer.as_ptr().addr() % ALIGNMENT, 0);
            }
        }
    }
}
