//! Calls for device memory that processes share.

use std::ptr::{null_mut, with_exposed_provenance_mut};

use super::bindings::*;
use super::{Acl, Handle, NpuError};

/// The flag for reserving addresses of large pages.
const LARGE_PAGES: u64 = 1;
/// The flag for exporting memory to processes with any number, rather than to a list of them.
const FOR_ANY_PROCESS: u64 = 1;

/// The fabric handle of physical memory, by which other processes import it.
pub(in super::super) type FabricName = [u8; 128];

impl Acl {
    /// Reserves a range of addresses, without memory.
    pub(in super::super) fn reserve(&self, bytes: usize) -> Result<u64, NpuError> {
        let mut address = null_mut();
        // SAFETY: a place for the result.
        let code = unsafe { self.calls.aclrtReserveMemAddress(&raw mut address, bytes, 0, null_mut(), LARGE_PAGES) };
        self.check("aclrtReserveMemAddress", code)?;
        Ok(address.expose_provenance() as u64)
    }

    pub(in super::super) fn release(&self, address: u64) -> Result<(), NpuError> {
        let address = with_exposed_provenance_mut(address as usize);
        // SAFETY: from `reserve`, and its owner is being dropped.
        self.check("aclrtReleaseMemAddress", unsafe { self.calls.aclrtReleaseMemAddress(address) })
    }

    /// Allocates physical memory of `device`, which this thread has set. The memory has no addresses until it is
    /// mapped.
    pub(in super::super) fn allocate_physical(&self, device: i32, bytes: usize) -> Result<Handle, NpuError> {
        let location = aclrtMemLocation { id: device.unsigned_abs(), type_: ACL_MEM_LOCATION_TYPE_DEVICE };
        let what = aclrtPhysicalMemProp {
            handleType: ACL_MEM_HANDLE_TYPE_NONE,
            allocationType: ACL_MEM_ALLOCATION_TYPE_PINNED,
            memAttr: ACL_HBM_MEM_HUGE,
            location,
            reserve: 0,
        };
        let mut handle = null_mut();
        // SAFETY: description and result live until the call returns.
        let code = unsafe { self.calls.aclrtMallocPhysical(&raw mut handle, bytes, &raw const what, 0) };
        self.check("aclrtMallocPhysical", code)?;
        Ok(Handle::new(handle))
    }

    pub(in super::super) fn free_physical(&self, physical: Handle) -> Result<(), NpuError> {
        // SAFETY: from `allocate_physical` or `import`, and its owner is being dropped.
        self.check("aclrtFreePhysical", unsafe { self.calls.aclrtFreePhysical(physical.pointer()) })
    }

    pub(in super::super) fn map(&self, address: u64, bytes: usize, physical: Handle) -> Result<(), NpuError> {
        let address = with_exposed_provenance_mut(address as usize);
        // SAFETY: addresses from `reserve`, memory from `allocate_physical` or `import`.
        self.check("aclrtMapMem", unsafe { self.calls.aclrtMapMem(address, bytes, 0, physical.pointer(), 0) })
    }

    pub(in super::super) fn unmap(&self, address: u64) -> Result<(), NpuError> {
        let address = with_exposed_provenance_mut(address as usize);
        // SAFETY: mapped by `map`, and its owner is being dropped.
        self.check("aclrtUnmapMem", unsafe { self.calls.aclrtUnmapMem(address) })
    }

    /// Returns the fabric handle by which other processes can import physical memory.
    pub(in super::super) fn export(&self, physical: Handle) -> Result<FabricName, NpuError> {
        let mut name = aclrtMemFabricHandle { data: [0; 128] };
        // SAFETY: memory from `allocate_physical`, and room for a name of this kind.
        let code = unsafe {
            self.calls.aclrtMemExportToShareableHandleV2(
                physical.pointer(),
                FOR_ANY_PROCESS,
                ACL_MEM_SHARE_HANDLE_TYPE_FABRIC,
                (&raw mut name).cast(),
            )
        };
        self.check("aclrtMemExportToShareableHandleV2", code)?;
        Ok(name.data)
    }

    /// Imports the physical memory of another process by its fabric handle.
    pub(in super::super) fn import(&self, name: FabricName) -> Result<Handle, NpuError> {
        let mut name = aclrtMemFabricHandle { data: name };
        let mut handle = null_mut();
        // SAFETY: name and result live until the call returns.
        let code = unsafe {
            self.calls.aclrtMemImportFromShareableHandleV2(
                (&raw mut name).cast(),
                ACL_MEM_SHARE_HANDLE_TYPE_FABRIC,
                0,
                &raw mut handle,
            )
        };
        self.check("aclrtMemImportFromShareableHandleV2", code)?;
        Ok(Handle::new(handle))
    }
}
