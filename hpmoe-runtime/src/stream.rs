//! Streams of NPUs that the caller owns.

use std::ffi::c_void;

use hpmoe_kernels::{PerRank, Rank, Ranks};

/// One caller-owned stream per local rank, for instance the current streams of a framework. A launch is ordered after
/// work already enqueued on these streams and before work enqueued later.
#[derive(Clone, Debug)]
pub struct Streams(PerRank<usize>);

impl Streams {
    /// Wraps CANN streams (`aclrtStream`), given by their handles.
    ///
    /// # Safety
    ///
    /// Each handle is a stream of the rank's NPU. The stream lives until all launches that were enqueued with it have been waited for.
    #[expect(unsafe_code, reason = "handles that Rust does not know")]
    #[must_use]
    pub unsafe fn from_raw(streams: &PerRank<*mut c_void>) -> Self {
        Self(streams.map(|stream| stream.expose_provenance()))
    }

    /// The ranks that have a stream here.
    pub(crate) fn ranks(&self) -> Ranks {
        self.0.ranks()
    }

    /// The handle of a rank's stream.
    pub(crate) fn of(&self, rank: Rank) -> usize {
        self.0[rank]
    }
}
