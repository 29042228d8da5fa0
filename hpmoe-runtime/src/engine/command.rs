//! Commands for the thread that makes all calls of the library.

use std::sync::mpsc::SyncSender;

use crate::backend::host::Write;

/// What the thread is asked to do.
pub(super) enum Command {
    Write {
        rank: usize,
        to: u64,
        bytes: Box<[u8]>,
        how: Write,
    },
    Allocate(usize, SyncSender<Option<u64>>),
    /// What rank 0 says goes to all; the others say nothing.
    Tell(Vec<u8>, SyncSender<Vec<u8>>),
    /// The process ends.
    End(SyncSender<()>),
}
