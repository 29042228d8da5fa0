//! Ranks that are processes, each with an NPU.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hpmoe_kernels::Rank;

use super::super::session::Session;
use super::super::shared::LaunchShared;
use super::super::shared_arguments::shared_arguments;
use super::super::watch::Watch;
use crate::Argument;
use crate::backend::npu::{DeviceMemory, NpuError};
use crate::layout::Word;

/// Copies, by `copy`, between the caller's tensors that peers write and the heap of this rank.
pub(super) fn each_shared(
    shared: &LaunchShared<'_>,
    row: &[&[Argument<'_>]],
    session: &Session,
    copy: impl Fn(&DeviceMemory, usize, &Argument<'_>, Rank) -> Result<(), NpuError>,
) -> Result<(), NpuError> {
    for rank in session.here.clone() {
        for (tensor, argument) in row.iter().flat_map(|arguments| shared_arguments(shared.kernel.tables(), arguments)) {
            copy(session.npu_heap(rank), session.plan.tensors[tensor], argument, Rank::new(rank))?;
        }
    }
    Ok(())
}

/// Calls `wait` while a thread watches the other processes and the handle that cancels. If a process is gone or the launch is cancelled,
/// that thread writes the abort word of each rank of this process, which ends the running launch and later ones.
pub(super) fn watched<T>(watch: Watch<'_>, session: &Session, wait: impl FnOnce() -> T) -> T {
    if watch.is_idle() {
        return wait();
    }
    let over = AtomicBool::new(false);
    let stop = || {
        for rank in session.here.clone() {
            // If the NPU takes no copies any more, its own limits end the launch.
            let _ = session.npu_heap(rank).write(session.plan.at(Word::Abort), &1_i32.to_le_bytes());
        }
        // Later launches clear the word.
        false
    };
    thread::scope(|scope| {
        let watcher = thread::Builder::new().name("watch".to_owned()).spawn_scoped(scope, || watch.run(&over, stop));
        let result = wait();
        over.store(true, Ordering::Release);
        // Without the thread, the limits of waits end a launch that has lost a peer.
        if let Ok(watcher) = watcher {
            watcher.thread().unpark();
        }
        result
    })
}
