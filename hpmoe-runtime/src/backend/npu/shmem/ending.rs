//! Finalises the SHMEM library, which all processes must do together.

use std::ptr::with_exposed_provenance_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use super::bindings::ShmemCalls;
use super::error::{ShmemError, check};
use super::heap::Heap;
use crate::backend::npu::acl::InUse;
use crate::backend::npu::device::Device;
use crate::backend::npu::on_device::OnDevice;

/// The maximum time that this process waits for the other processes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Set when this process no longer waits for the other processes.
static ALONE: AtomicBool = AtomicBool::new(false);

/// Tells this module that the processes no longer act alike. This process then frees no shared memory before it ends.
pub(crate) fn ends_alone() {
    ALONE.store(true, Ordering::Release);
}

/// Finalises the library, or frees its memory if the program has initialised it. After an error, the library can't be called again, because
/// a thread of this process may still be inside it.
pub(super) fn end(calls: &'static ShmemCalls, npu: &Device, heap: &Heap) -> Result<(), ShmemError> {
    let call = if heap.of_program { "aclshmem_free" } else { "aclshmem_finalize" };
    let late = ShmemError::Call { call, code: -7 };
    if ALONE.load(Ordering::Acquire) {
        return Err(late);
    }
    let (tell, told) = sync_channel(1);
    let (acl, device) = (npu.acl, npu.number());
    let (of_program, base) = (heap.of_program, heap.base as usize);
    let end = move || {
        let Ok(_here) = OnDevice::new(acl, device) else { return };
        // SAFETY: the memory is no longer used, and neither is the library if this runtime has initialised it.
        let code = unsafe {
            match of_program {
                true => {
                    calls.aclshmem_free(with_exposed_provenance_mut(base));
                    0
                }
                false => calls.aclshmem_finalize(),
            }
        };
        let _ = tell.send(check(call, code));
    };
    let thread = thread::Builder::new().name("end of SHMEM".to_owned()).spawn(end);
    thread.map_err(|_| late.clone())?;
    told.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        // CANN's runtime library must not end before that call has.
        std::mem::forget(InUse::new(acl));
        Err(late)
    })
}
