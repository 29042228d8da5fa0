//! Ranges of global memory that host runs check accesses against.

/// A range of global memory that a kernel may access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryRegion {
    pub(crate) name: &'static str,
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    pub(crate) rank: u32,
    pub(crate) symmetric: bool,
    pub(crate) writable: bool,
    /// Whether each word shows by its value that it has been written, so that a reader needs no other synchronization.
    pub(crate) self_validating: bool,
}
