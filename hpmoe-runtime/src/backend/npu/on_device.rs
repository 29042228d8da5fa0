//! Selects the current device of a thread.

use super::NpuError;
use super::acl::Acl;

/// A device that is current for this thread while this value lives. Dropping it restores the caller's device.
pub(super) struct OnDevice {
    acl: &'static Acl,
    before: Option<i32>,
}

impl OnDevice {
    pub(super) fn new(acl: &'static Acl, device: i32) -> Result<Self, NpuError> {
        let before = acl.current_device();
        acl.set_device(device)?;
        Ok(Self { acl, before })
    }
}

impl Drop for OnDevice {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // It was set before, so it can be set again.
            let _ = self.acl.set_device(before);
        }
    }
}
