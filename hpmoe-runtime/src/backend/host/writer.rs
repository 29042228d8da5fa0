//! Writes to heaps of other ranks that are not mapped into this process.

/// The kind of a write to another rank's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Write {
    /// Replaces the destination's bytes.
    Put,
    /// Adds to the destination's words, which other ranks may add to as well.
    Add,
}

/// A writer for heaps of other ranks that are not mapped into this process.
pub(crate) trait Writer: Sync {
    /// Writes `from` to address `to`, in a region of rank `rank`. Writes to one rank arrive in the order of the calls.
    fn write(&self, rank: usize, to: u64, from: &[u8], how: Write);
}
