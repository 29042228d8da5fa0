//! Writes to memory of ranks that is not mapped here.

/// How memory of a rank is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Write {
    /// Its bytes are replaced.
    Put,
    /// Its words are added to.
    Add,
}

/// Who writes the memory of ranks that is not mapped here, and adds to words that several ranks add to.
pub(crate) trait Writer: Sync {
    /// Writes at an address of a region of that rank. Writes to a rank arrive in the order of these calls.
    fn write(&self, rank: usize, to: u64, from: &[u8], how: Write);
}
