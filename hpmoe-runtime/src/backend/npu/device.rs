//! Devices: NPUs as the library represents them, each with its own stream.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use super::NpuError;
use super::acl::{
    ACL_DEV_ATTR_CUBE_CORE_NUM, ACL_DEV_ATTR_IS_VIRTUAL, ACL_DEV_ATTR_SUPER_POD_ID, ACL_DEV_ATTR_VECTOR_CORE_NUM, Acl,
    Handle, InUse,
};
use super::chain::Chain;
use super::on_device::OnDevice;

/// Prefix of the names of chips whose memory other processes can map by fabric handles.
const WITH_FABRIC: &str = "Ascend910_93";

/// An NPU as CANN's library represents it, with a stream of its own.
pub struct Device {
    pub(super) acl: &'static Acl,
    number: i32,
    pub(super) stream: Handle,
    /// The order of launches on the NPU.
    pub(super) chain: Arc<Chain>,
    _in_use: InUse,
}

impl Device {
    pub(super) fn new(acl: &'static Acl, number: i32) -> Result<Self, NpuError> {
        let _here = OnDevice::new(acl, number)?;
        let chain = Chain::of(acl, number)?;
        Ok(Self { acl, number, stream: acl.create_stream()?, chain, _in_use: InUse::new(acl) })
    }

    /// Makes this the current device of the thread, until the result is dropped.
    pub(super) fn here(&self) -> Result<OnDevice, NpuError> {
        OnDevice::new(self.acl, self.number)
    }

    /// Number of the NPU among those that the process can see.
    #[must_use]
    pub const fn number(&self) -> i32 {
        self.number
    }

    /// The number of the NPU whose memory `address` lies in; `None` for host memory, and for addresses that the library does not know.
    pub(crate) fn owner_of(&self, address: u64) -> Result<Option<i32>, NpuError> {
        let _here = self.here()?;
        Ok(self.acl.device_of(address)?.map(|device| i32::try_from(device).unwrap_or(i32::MAX)))
    }

    /// The handle of the device's stream, as `aclrtStream`.
    #[must_use]
    pub fn stream(&self) -> *mut c_void {
        self.stream.pointer()
    }

    /// The name of the chip, with a note if the library is the stand-in for CANN.
    #[must_use]
    pub fn chip(&self) -> String {
        self.acl.chip()
    }

    /// Numbers of matrix cores and of vector cores.
    ///
    /// CANN's simulator reports no vector cores. The result then has two for each matrix core, as all A2 and A3 NPUs have.
    ///
    /// # Errors
    ///
    /// If a call of CANN fails.
    pub fn cores(&self) -> Result<(i64, i64), NpuError> {
        let count = |attribute| self.acl.device_info(self.number, attribute);
        let (matrix, vector) = (count(ACL_DEV_ATTR_CUBE_CORE_NUM)?, count(ACL_DEV_ATTR_VECTOR_CORE_NUM)?);
        Ok((matrix, if vector == 0 { 2 * matrix } else { vector }))
    }

    /// Refuses an NPU whose memory has no fabric handles.
    pub(super) fn has_fabric(&self) -> Result<(), NpuError> {
        let soc = self.acl.soc_name();
        if !soc.starts_with(WITH_FABRIC) {
            return Err(NpuError::NoFabric { soc });
        }
        match self.known(ACL_DEV_ATTR_IS_VIRTUAL) {
            Some(1) => Err(NpuError::Virtual { device: self.number }),
            _ => Ok(()),
        }
    }

    /// The superpod of the NPU, if the driver reports it.
    pub(crate) fn superpod(&self) -> Option<i64> {
        self.known(ACL_DEV_ATTR_SUPER_POD_ID)
    }

    /// Reads an attribute that older drivers may not have; `None` if this driver does not.
    fn known(&self, attribute: u32) -> Option<i64> {
        self.acl.device_info(self.number, attribute).ok()
    }

    /// Refuses a kernel whose schedule needs more cores than the NPU has.
    pub(crate) fn fits(&self, kernel: &'static str, aic: u32, aiv: u32) -> Result<(), NpuError> {
        let (found_aic, found_aiv) = self.cores()?;
        match i64::from(aic) <= found_aic && i64::from(aiv) <= found_aiv {
            true => Ok(()),
            false => Err(NpuError::Cores { kernel, aic, aiv, device: self.number, found_aic, found_aiv }),
        }
    }

    /// Orders later launches after the work already enqueued on a stream of the caller.
    pub(crate) fn follow(&self, stream: usize) -> Result<(), NpuError> {
        let _here = self.here()?;
        self.chain.follow(self.stream, Handle::of_other(stream))
    }

    /// Orders later work on a stream of the caller after the last launch.
    pub(crate) fn precede(&self, stream: usize) -> Result<(), NpuError> {
        let _here = self.here()?;
        self.chain.precede(Handle::of_other(stream))
    }

    /// Waits until the device's stream is idle.
    ///
    /// # Errors
    ///
    /// If work on the stream failed, or did not end within `limit`.
    pub fn wait(&self, limit: Duration) -> Result<(), NpuError> {
        let _here = self.here()?;
        self.acl.synchronize(self.stream, limit)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // Memory that a failed device can't free is freed with the process.
        let Ok(_here) = self.here() else { return };
        let _ = self.acl.destroy_stream(self.stream);
    }
}
