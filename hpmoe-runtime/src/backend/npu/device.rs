//! One NPU with a stream of its own.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use super::NpuError;
use super::acl::{
    ACL_DEV_ATTR_CUBE_CORE_NUM, ACL_DEV_ATTR_IS_VIRTUAL, ACL_DEV_ATTR_SUPER_POD_ID, ACL_DEV_ATTR_VECTOR_CORE_NUM, Acl,
    Handle,
};
use super::chain::Chain;
use super::kept::Kept;
use super::ring::Ring;

/// Chips of the architecture that kernels are generated for, by how their names begin.
const CHIPS: [&str; 2] = ["Ascend910B", "Ascend910_93"];

/// Those whose memory other processes can map by fabric handles.
const WITH_FABRIC: &str = "Ascend910_93";

/// An NPU of this process.
pub struct Npu {
    pub(super) acl: &'static Acl,
    pub(super) device: i32,
    pub(super) stream: Handle,
    /// The order of launches on it.
    pub(super) chain: Arc<Chain>,
    pub(super) kept: Kept,
    pub(super) ring: Ring,
}

/// The NPU of one rank of many processes: that of its number among those of this machine, or the only one that it sees.
///
/// # Errors
///
/// There is no library, no such NPU, or a call failed.
pub fn open_one(local_rank: usize) -> Result<Npu, NpuError> {
    let (_, devices) = fitting()?;
    let number = if devices == 1 { 0 } else { local_rank };
    open_with_peers(number)
}

/// The NPU of that number, which can access the memory of all others that it reaches.
pub(crate) fn open_with_peers(number: usize) -> Result<Npu, NpuError> {
    let (acl, devices) = fitting()?;
    if number >= devices as usize {
        return Err(NpuError::Devices { ranks: number + 1, devices });
    }
    let (device, all) = (i32::try_from(number).unwrap_or(i32::MAX), 0..i32::try_from(devices).unwrap_or(i32::MAX));
    let _here = OnDevice::new(acl, device)?;
    for peer in all.filter(|peer| *peer != device) {
        // Memory of another process can lie on any NPU that this process sees too.
        if acl.can_access_peer(device, peer)? {
            acl.enable_peer_access(peer)?;
        }
    }
    Npu::new(acl, device)
}

/// The NPUs of ranks 0 to `ranks`, from the one of that number on, each of which can access the memory of all others.
///
/// # Errors
///
/// There is no library, there are too few NPUs, they can't access each other's memory, or a call failed.
pub fn open(first: usize, ranks: usize) -> Result<Vec<Npu>, NpuError> {
    let (acl, devices) = fitting()?;
    let end = first.saturating_add(ranks);
    if end > devices as usize {
        return Err(match first {
            0 => NpuError::Devices { ranks, devices },
            first => NpuError::Number { first, ranks, devices },
        });
    }
    let number = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let numbers = number(first)..number(end);
    for device in numbers.clone() {
        let _here = OnDevice::new(acl, device)?;
        for peer in numbers.clone().filter(|peer| *peer != device) {
            if !acl.can_access_peer(device, peer)? {
                return Err(NpuError::Reach { device, peer });
            }
            acl.enable_peer_access(peer)?;
        }
    }
    numbers.map(|device| Npu::new(acl, device)).collect()
}

/// The library, and the number of NPUs, whose chips are of the right kind.
fn fitting() -> Result<(&'static Acl, u32), NpuError> {
    let acl = Acl::get()?;
    let (devices, soc) = (acl.device_count()?, acl.soc_name());
    match CHIPS.iter().any(|chip| soc.starts_with(chip)) {
        true => Ok((acl, devices)),
        false => Err(NpuError::Chip { soc }),
    }
}

impl Npu {
    fn new(acl: &'static Acl, device: i32) -> Result<Self, NpuError> {
        let _here = OnDevice::new(acl, device)?;
        let chain = Chain::of(acl, device)?;
        Ok(Self { acl, device, stream: acl.create_stream()?, chain, kept: Kept::default(), ring: Ring::default() })
    }

    /// Sets it as this thread's device, until the result is dropped.
    pub(super) fn here(&self) -> Result<OnDevice, NpuError> {
        OnDevice::new(self.acl, self.device)
    }

    /// Its number among those that the process sees.
    #[must_use]
    pub const fn number(&self) -> i32 {
        self.device
    }

    /// The number of the NPU whose memory an address is in; `None` for memory of the host, and for none that the library knows.
    pub(crate) fn owner_of(&self, address: u64) -> Result<Option<i32>, NpuError> {
        let _here = self.here()?;
        Ok(self.acl.device_of(address)?.map(|device| i32::try_from(device).unwrap_or(i32::MAX)))
    }

    /// The handle of its stream, as other users of CANN know it.
    #[must_use]
    pub fn stream(&self) -> *mut c_void {
        self.stream.pointer()
    }

    /// The name of the chip.
    #[must_use]
    pub fn chip(&self) -> String {
        self.acl.soc_name()
    }

    /// Its matrix and its vector cores.
    ///
    /// # Errors
    ///
    /// A call that failed.
    pub fn cores(&self) -> Result<(i64, i64), NpuError> {
        let count = |attribute| self.acl.device_info(self.device, attribute);
        Ok((count(ACL_DEV_ATTR_CUBE_CORE_NUM)?, count(ACL_DEV_ATTR_VECTOR_CORE_NUM)?))
    }

    /// Refuses an NPU whose memory has no fabric handles.
    pub(super) fn has_fabric(&self) -> Result<(), NpuError> {
        let soc = self.acl.soc_name();
        if !soc.starts_with(WITH_FABRIC) {
            return Err(NpuError::NoFabric { soc });
        }
        match self.known(ACL_DEV_ATTR_IS_VIRTUAL) {
            Some(1) => Err(NpuError::Virtual { device: self.device }),
            _ => Ok(()),
        }
    }

    /// The superpod that it is in, if the driver tells.
    pub(crate) fn superpod(&self) -> Option<i64> {
        self.known(ACL_DEV_ATTR_SUPER_POD_ID)
    }

    /// What older drivers don't tell.
    fn known(&self, attribute: u32) -> Option<i64> {
        self.acl.device_info(self.device, attribute).ok()
    }

    /// Refuses a kernel whose schedule is for other cores.
    pub(crate) fn fits(&self, kernel: &'static str, aic: u32, aiv: u32) -> Result<(), NpuError> {
        let (found_aic, found_aiv) = self.cores()?;
        match i64::from(aic) <= found_aic && i64::from(aiv) <= found_aiv {
            true => Ok(()),
            false => Err(NpuError::Cores { kernel, aic, aiv, device: self.device, found_aic, found_aiv }),
        }
    }

    /// Launches from now on follow what is on a stream of somebody else's.
    pub(crate) fn follow(&self, stream: usize) -> Result<(), NpuError> {
        let _here = self.here()?;
        self.chain.follow(self.stream, Handle::of_other(stream))
    }

    /// What is put on a stream of somebody else's from now on follows the last launch.
    pub(crate) fn precede(&self, stream: usize) -> Result<(), NpuError> {
        let _here = self.here()?;
        self.chain.precede(Handle::of_other(stream))
    }

    /// Waits until its stream has nothing to do.
    ///
    /// # Errors
    ///
    /// Work on the stream failed, or has not ended within the limit.
    pub fn wait(&self, limit: Duration) -> Result<(), NpuError> {
        let _here = self.here()?;
        self.acl.synchronize(self.stream, limit)
    }
}

impl Drop for Npu {
    fn drop(&mut self) {
        // What a failed device can't give back goes with the process.
        let Ok(_here) = self.here() else { return };
        self.ring.clear();
        let _ = self.acl.destroy_stream(self.stream);
    }
}

/// A device that this thread has set for a while. The one that its caller had set comes back afterwards.
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
