//! The NPUs that this process has opened.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use super::acl::Acl;
use super::device::Device;
use super::kept::Kept;
use super::on_device::OnDevice;
use super::ring::{Ring, SentBlock, WaitForOldest};
use super::{DeviceMemory, NpuError, Program};
use crate::CompiledKernel;

/// Prefixes of the names of chips that kernels can run on.
const CHIPS: [&str; 2] = ["Ascend910B", "Ascend910_93"];

/// An NPU of this process: a [`Device`], and the state that launches on it share.
pub struct Npu {
    device: Device,
    pub(super) kept: Kept,
    ring: Ring,
}

/// Opens the NPU of one rank of a group of processes: NPU number `local_rank`, or NPU 0 if it is the only one that the process can see.
///
/// # Errors
///
/// If CANN's library is missing, kernels are not generated for the chip, the NPU does not exist, or a call of CANN fails.
pub fn open_one(local_rank: usize) -> Result<Npu, NpuError> {
    let (_, devices) = fitting()?;
    let number = if devices == 1 { 0 } else { local_rank };
    open_with_peers(number)
}

/// Opens NPU `number`. Its kernels can access the memory of every NPU of this process that it can reach.
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

/// Opens NPUs `first` to `first + ranks - 1`, one for each rank, rank 0 first. Each NPU can access the memory of all the others.
///
/// # Errors
///
/// If CANN's library is missing, kernels are not generated for the chip, there are too few NPUs, two of the NPUs can't access each other's
/// memory, or a call of CANN fails.
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

/// The library and the number of NPUs. Fails if the chip is not one of [`CHIPS`].
fn fitting() -> Result<(&'static Acl, u32), NpuError> {
    let acl = Acl::get()?;
    let (devices, soc) = (acl.device_count()?, acl.soc_name());
    match CHIPS.iter().any(|chip| soc.starts_with(chip)) {
        true => Ok((acl, devices)),
        false => Err(NpuError::Chip { soc }),
    }
}

impl Npu {
    fn new(acl: &'static Acl, number: i32) -> Result<Self, NpuError> {
        Ok(Self { device: Device::new(acl, number)?, kept: Kept::default(), ring: Ring::default() })
    }

    /// The kernel, loaded on this NPU on first use.
    pub(crate) fn program(&self, kernel: &CompiledKernel) -> Result<Arc<Program>, NpuError> {
        self.kept.program(self, kernel)
    }

    /// Enqueues the copy of a launch's argument block; see [`Ring::send`].
    pub(crate) fn send(
        &self,
        block: &[u8],
        to: &DeviceMemory,
        limit: Duration,
        with_patience: impl FnOnce(WaitForOldest<'_>) -> Result<(), NpuError>,
    ) -> Result<SentBlock<'_>, NpuError> {
        self.ring.send(self, block, to, limit, with_patience)
    }
}

impl Deref for Npu {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Drop for Npu {
    fn drop(&mut self) {
        // Memory that a failed device can't free is freed with the process.
        let Ok(_here) = self.here() else { return };
        self.ring.clear();
    }
}
