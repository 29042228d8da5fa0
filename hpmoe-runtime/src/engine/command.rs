//! Commands for the thread that makes all calls of the library.

use std::sync::mpsc::SyncSender;

use crate::backend::host::Write;

/// A request to the thread that makes all calls of the library.
pub(super) enum Command {
    Write {
        rank: usize,
        to: u64,
        bytes: Box<[u8]>,
        how: Write,
    },
    Allocate(usize, SyncSender<Option<u64>>),
    /// Broadcasts rank 0's bytes to all ranks. The other ranks pass no bytes.
    Tell(Vec<u8>, SyncSender<Vec<u8>>),
    /// Ends the thread, because the process exits.
    End(SyncSender<()>),
}
