//! The end of the SHMEM library, which all processes come to together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use super::{Shmem, ShmemError, check};
use crate::backend::npu::Npu;
use crate::backend::npu::device::OnDevice;

/// The longest that this process waits for the others.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether this process does not wait for the others any more.
static ALONE: AtomicBool = AtomicBool::new(false);

/// The processes no longer do the same: the library ends with this one, whatever the others do.
pub(in super::super) fn ends_alone() {
    ALONE.store(true, Ordering::Release);
}

/// Finalises the library. After an error it can't be initialised again: a thread of this process may be within it.
pub(super) fn end(npu: &Npu) -> Result<(), ShmemError> {
    let call = "aclshmem_finalize";
    let late = ShmemError::Call { call, code: -7 };
    if ALONE.load(Ordering::Acquire) {
        return Err(late);
    }
    let (tell, told) = sync_channel(1);
    let (shmem, acl, device) = (Shmem::get()?, npu.acl, npu.number());
    let finalize = move || {
        let Ok(_here) = OnDevice::new(acl, device) else { return };
        // SAFETY: nothing of the library is used any more.
        let _ = tell.send(check(call, unsafe { shmem.calls.aclshmem_finalize() }));
    };
    let thread = thread::Builder::new().name("end of SHMEM".to_owned()).spawn(finalize);
    thread.map_err(|_| late.clone())?;
    told.recv_timeout(PATIENCE).unwrap_or(Err(late))
}
