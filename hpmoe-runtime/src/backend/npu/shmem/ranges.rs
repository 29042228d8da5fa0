//! A list of free ranges in one block of memory.

use std::collections::BTreeMap;

use crate::abi::LINE;

/// The free ranges, from start to number of bytes. Two free ranges never touch.
pub(super) struct FreeRanges(BTreeMap<usize, usize>);

impl FreeRanges {
    /// Makes one free range of `bytes` bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self(BTreeMap::from([(0, bytes)]))
    }

    /// Allocates `bytes` bytes, rounded up to whole lines, from the first range that has room; `None` if no range has.
    pub(super) fn take(&mut self, bytes: usize) -> Option<usize> {
        let bytes = whole_lines(bytes)?;
        let (at, room) = self.0.iter().map(|(at, room)| (*at, *room)).find(|(_, room)| *room >= bytes)?;
        self.0.remove(&at);
        if room > bytes {
            self.0.insert(at + bytes, room - bytes);
        }
        Some(at)
    }

    /// Returns a range that [`take`](Self::take) allocated.
    pub(super) fn give_back(&mut self, mut at: usize, bytes: usize) {
        let mut bytes = whole_lines(bytes).expect("these bytes were taken before");
        if let Some(after) = self.0.remove(&(at + bytes)) {
            bytes += after;
        }
        let before = self.0.range(..at).next_back().map(|(before, room)| (*before, *room));
        if let Some((before, room)) = before.filter(|(before, room)| before + room == at) {
            (at, bytes) = (before, room + bytes);
        }
        self.0.insert(at, bytes);
    }

    /// Number of bytes of the largest free range.
    pub(super) fn largest(&self) -> usize {
        self.0.values().copied().max().unwrap_or(0)
    }
}

fn whole_lines(bytes: usize) -> Option<usize> {
    bytes.max(1).checked_next_multiple_of(LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_lines_that_come_together_again() {
        let mut free = FreeRanges::new(5 * LINE);
        let taken = [1, LINE, LINE + 1].map(|bytes| (free.take(bytes).unwrap(), bytes));
        assert_eq!(taken.map(|(at, _)| at), [0, LINE, 2 * LINE]);
        assert_eq!((free.largest(), free.take(LINE + 1), free.take(usize::MAX)), (LINE, None, None));
        free.give_back(taken[0].0, taken[0].1);
        free.give_back(taken[2].0, taken[2].1);
        assert_eq!((free.largest(), free.take(0)), (3 * LINE, Some(0)));
        free.give_back(0, 0);
        free.give_back(taken[1].0, taken[1].1);
        assert_eq!((free.largest(), free.take(5 * LINE), free.largest()), (5 * LINE, Some(0), 0));
    }
}
