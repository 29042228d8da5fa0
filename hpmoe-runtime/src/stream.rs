//! Streams of NPUs that belong to the caller.

use std::ffi::c_void;

use hpmoe_kernels::{PerRank, Rank, Ranks};

/// A stream of the caller's for each rank that is here, such as the current streams of a framework. A launch follows what was put on it before, and
/// comes before what is put on it afterwards.
#[derive(Clone, Debug)]
pub struct Streams(PerRank<usize>);

impl Streams {
    /// Streams of CANN (`aclrtStream`), by their handles.
    ///
    /// # Safety
    ///
    /// Each handle is that of a stream of the rank's NPU, which lives until all launches that are given it have been waited for.
    #[expect(unsafe_code, reason = "handles that Rust does not know")]
    #[must_use]
    pub unsafe fn from_raw(streams: &PerRank<*mut c_void>) -> Self {
        Self(streams.map(|stream| stream.expose_provenance()))
    }

    /// The ranks that they were made for.
    pub(crate) fn ranks(&self) -> Ranks {
        self.0.ranks()
    }

    /// The handle of a rank's stream.
    pub(crate) fn of(&self, rank: Rank) -> usize {
        self.0[rank]
    }
}
