//! The choice of how processes share memory.

use std::env;
use std::sync::Arc;

use hpmoe_kernels::printable::printable;

use super::fabric::Fabric;
use super::shmem::Shmem;
use super::symmetric::SymmetricMemory;
use super::{Npu, NpuError};

/// The variable that chooses the source of shared memory.
const CHOICE: &str = "HPMOE_SYMMETRIC_MEMORY";

/// The source of a group's shared memory, which is finalised when the group ends.
pub(crate) struct SharedByGroup {
    shared: &'static dyn SymmetricMemory,
    npu: Arc<Npu>,
}

impl SharedByGroup {
    /// The source that the environment selects ([`symmetric_memory`]), for a group with this NPU.
    pub(crate) fn chosen(npu: &Arc<Npu>) -> Result<Self, NpuError> {
        Ok(Self { shared: symmetric_memory()?, npu: Arc::clone(npu) })
    }
}

impl Drop for SharedByGroup {
    fn drop(&mut self) {
        self.shared.end(&self.npu);
    }
}

/// The way to share memory between processes that the environment selects: CANN's SHMEM library with `HPMOE_SYMMETRIC_MEMORY=shmem`;
/// otherwise fabric handles.
///
/// # Errors
///
/// If `HPMOE_SYMMETRIC_MEMORY` has a value other than `fabric` and `shmem`, or the SHMEM library can't be opened.
pub fn symmetric_memory() -> Result<&'static dyn SymmetricMemory, NpuError> {
    match env::var_os(CHOICE).filter(|value| !value.is_empty()) {
        None => Ok(&Fabric),
        Some(value) if value == "fabric" => Ok(&Fabric),
        Some(value) if value == "shmem" => Ok(Shmem::get()?),
        Some(value) => Err(NpuError::SymmetricMemory { value: printable(&value.to_string_lossy()).into() }),
    }
}
