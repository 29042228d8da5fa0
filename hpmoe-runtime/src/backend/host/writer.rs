//! Writes to memory of ranks that is not mapped into this process.

/// How memory of a rank is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Write {
    /// Replaces the destination's bytes.
    Put,
    /// Adds to the destination's words.
    Add,
}

/// A writer for memory of ranks that is not mapped into this process, which also adds to words that several ranks add to.
pub(crate) trait Writer: Sync {
    /// Writes to an address in a region of rank `rank`. Writes to one rank arrive in the order of the calls.
    fn write(&self, rank: usize, to: u64, from: &[u8], how: Write);
}
