//! CANN's runtime library. Only this module calls it. Every call is checked, and an error names the call.
#![expect(unsafe_code, reason = "a C interface")]

#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    unreachable_pub,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::allow_attributes_without_reason,
    reason = "made by bindgen from acl.h"
)]
#[rustfmt::skip]
mod bindings;
mod ending;
mod library;
mod shared;
mod stream;
mod to_undo;

pub(super) use bindings::aclrtMemcpyKind as CopyKind;
pub(super) use bindings::{
    ACL_DEV_ATTR_CUBE_CORE_NUM, ACL_DEV_ATTR_IS_VIRTUAL, ACL_DEV_ATTR_SUPER_POD_ID, ACL_DEV_ATTR_VECTOR_CORE_NUM,
    ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE,
};

pub(super) use ending::InUse;
pub(super) use library::reason;
pub(super) use shared::FabricName;

use bindings::*;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{null_mut, with_exposed_provenance, with_exposed_provenance_mut};
use to_undo::ToUndo;

use hpmoe_kernels::printable::{printable, printable_lines};

use super::NpuError;

/// The magic number of an object with code for both matrix and vector cores.
const MAGIC_OF_BOTH: u32 = 0x4355_4245;

/// CANN's runtime library, opened.
pub(super) struct Acl {
    calls: AclCalls,
    /// Whether the library is that of `hpmoe-standin`.
    stand_in: bool,
    to_undo: ToUndo,
}

/// A stream, an event, a loaded object or a function of an object: an address that only the library interprets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Handle(usize);

impl Handle {
    fn new(pointer: *mut c_void) -> Self {
        Self(pointer.expose_provenance())
    }

    /// A handle from outside of this crate, which the caller has promised to be one of the library.
    pub(super) const fn of_other(handle: usize) -> Self {
        Self(handle)
    }

    pub(super) fn pointer(self) -> *mut c_void {
        with_exposed_provenance_mut(self.0)
    }
}

impl Acl {
    /// Converts the error code of a call into an error with the library's own message.
    fn check(&self, call: &'static str, code: c_int) -> Result<(), NpuError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: takes nothing; the text is copied before another call of this thread can change it.
        let says = unsafe {
            let text = self.calls.aclGetRecentErrMsg();
            if text.is_null() {
                String::new()
            } else {
                printable_lines(CStr::from_ptr(text).to_string_lossy().trim()).into()
            }
        };
        Err(NpuError::Call { call, code, says })
    }

    /// Initialises the library. It is not an error if other code in the process has initialised it already.
    fn initialize(&self) -> Result<(), NpuError> {
        // SAFETY: null is "no configuration".
        let code = unsafe { self.calls.aclInit(std::ptr::null()) };
        if u32::try_from(code) == Ok(ACL_ERROR_REPEAT_INITIALIZE) { Ok(()) } else { self.check("aclInit", code) }
    }

    pub(super) fn device_count(&self) -> Result<u32, NpuError> {
        let mut count = 0;
        // SAFETY: a place for the result.
        self.check("aclrtGetDeviceCount", unsafe { self.calls.aclrtGetDeviceCount(&raw mut count) })?;
        Ok(count)
    }

    /// The device that this thread has set; `None` if it has set none.
    pub(super) fn current_device(&self) -> Option<i32> {
        let mut device = 0;
        // SAFETY: a place for the result.
        (unsafe { self.calls.aclrtGetDevice(&raw mut device) } == 0).then_some(device)
    }

    /// The name of the chip, as the library reports it.
    pub(super) fn soc_name(&self) -> String {
        // SAFETY: takes nothing; the name is the library's and stays.
        unsafe {
            let name = self.calls.aclrtGetSocName();
            if name.is_null() { String::new() } else { printable(&CStr::from_ptr(name).to_string_lossy()).into() }
        }
    }

    /// The name of the chip, for messages. For the stand-in, the text adds that its times mean nothing.
    pub(super) fn chip(&self) -> String {
        let name = self.soc_name();
        if self.stand_in { name + " (a stand-in, whose times mean nothing)" } else { name }
    }

    pub(super) fn device_info(&self, device: i32, attribute: u32) -> Result<i64, NpuError> {
        let mut value = 0;
        // SAFETY: a place for the result.
        let code = unsafe { self.calls.aclrtGetDeviceInfo(device.unsigned_abs(), attribute, &raw mut value) };
        self.check("aclrtGetDeviceInfo", code)?;
        Ok(value)
    }

    pub(super) fn can_access_peer(&self, device: i32, peer: i32) -> Result<bool, NpuError> {
        let mut can = 0;
        // SAFETY: a place for the result.
        let code = unsafe { self.calls.aclrtDeviceCanAccessPeer(&raw mut can, device, peer) };
        self.check("aclrtDeviceCanAccessPeer", code)?;
        Ok(can == 1)
    }

    /// Lets kernels of this thread's device access the memory of device `peer`.
    pub(super) fn enable_peer_access(&self, peer: i32) -> Result<(), NpuError> {
        // SAFETY: takes numbers.
        self.check("aclrtDeviceEnablePeerAccess", unsafe { self.calls.aclrtDeviceEnablePeerAccess(peer, 0) })
    }

    /// Allocates memory of this thread's device, and returns its address.
    pub(super) fn allocate(&self, bytes: usize) -> Result<u64, NpuError> {
        let mut address = null_mut();
        // SAFETY: a place for the result.
        let code = unsafe { self.calls.aclrtMalloc(&raw mut address, bytes, ACL_MEM_MALLOC_HUGE_FIRST) };
        self.check("aclrtMalloc", code)?;
        Ok(address.expose_provenance() as u64)
    }

    pub(super) fn free(&self, address: u64) -> Result<(), NpuError> {
        // SAFETY: from `allocate`, and its owner is being dropped.
        self.check("aclrtFree", unsafe { self.calls.aclrtFree(with_exposed_provenance_mut(address as usize)) })
    }

    /// Allocates pinned host memory, which copies on a stream can read, and returns its address.
    pub(super) fn allocate_pinned(&self, bytes: usize) -> Result<u64, NpuError> {
        let mut address = null_mut();
        // SAFETY: a place for the result.
        self.check("aclrtMallocHost", unsafe { self.calls.aclrtMallocHost(&raw mut address, bytes) })?;
        Ok(address.expose_provenance() as u64)
    }

    pub(super) fn free_pinned(&self, address: u64) -> Result<(), NpuError> {
        let address = with_exposed_provenance_mut(address as usize);
        // SAFETY: from `allocate_pinned`, and its owner is being dropped.
        self.check("aclrtFreeHost", unsafe { self.calls.aclrtFreeHost(address) })
    }

    /// The device whose memory an address is in; `None` for memory of the host.
    pub(super) fn device_of(&self, address: u64) -> Result<Option<u32>, NpuError> {
        // SAFETY: numbers, for which zero is valid.
        let mut found: aclrtPtrAttributes = unsafe { std::mem::zeroed() };
        let pointer = with_exposed_provenance(address as usize);
        // SAFETY: the library only looks at the address; a place for the result.
        let code = unsafe { self.calls.aclrtPointerGetAttributes(pointer, &raw mut found) };
        self.check("aclrtPointerGetAttributes", code)?;
        Ok((found.location.type_ == ACL_MEM_LOCATION_TYPE_DEVICE).then_some(found.location.id))
    }

    pub(super) fn fill(&self, address: u64, byte: u8, bytes: usize) -> Result<(), NpuError> {
        let memory = with_exposed_provenance_mut(address as usize);
        // SAFETY: the library checks that the bytes are memory of a device.
        self.check("aclrtMemset", unsafe { self.calls.aclrtMemset(memory, bytes, i32::from(byte), bytes) })
    }

    /// Copies between this thread's device and the host, and returns when the copy is complete.
    ///
    /// # Safety
    ///
    /// The host address (`to` or `from`, by `kind`) has `bytes` bytes that can be written or read. Nothing else accesses them during the
    /// call.
    pub(super) unsafe fn copy(&self, to: u64, from: u64, bytes: usize, kind: CopyKind) -> Result<(), NpuError> {
        let (to, from) = (with_exposed_provenance_mut(to as usize), with_exposed_provenance(from as usize));
        // SAFETY: the caller knows of the host's side, and the library checks the device's.
        self.check("aclrtMemcpy", unsafe { self.calls.aclrtMemcpy(to, bytes, from, bytes, kind) })
    }

    /// Enqueues a copy from the host to the stream's device, and returns at once.
    ///
    /// # Safety
    ///
    /// `from` is pinned host memory. It stays allocated and unchanged until the stream has completed the copy.
    pub(super) unsafe fn copy_later(&self, to: u64, from: u64, bytes: usize, stream: Handle) -> Result<(), NpuError> {
        let (to, from) = (with_exposed_provenance_mut(to as usize), with_exposed_provenance(from as usize));
        let kind = ACL_MEMCPY_HOST_TO_DEVICE;
        // SAFETY: the caller knows of the host's side, and the library checks the device's.
        let code = unsafe { self.calls.aclrtMemcpyAsync(to, bytes, from, bytes, kind, stream.pointer()) };
        self.check("aclrtMemcpyAsync", code)
    }

    /// Loads an object with code for both kinds of core.
    pub(super) fn load(&self, object: &[u8]) -> Result<Handle, NpuError> {
        // The library may read words of it: the copy begins at the address of one.
        let mut words = vec![0_u64; object.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..object.len()].copy_from_slice(object);
        let value = aclrtBinaryLoadOptionValue { magic: MAGIC_OF_BOTH };
        let mut option = aclrtBinaryLoadOption { type_: ACL_RT_BINARY_LOAD_OPT_MAGIC, value };
        let options = aclrtBinaryLoadOptions { options: &raw mut option, numOpt: 1 };
        let mut handle = null_mut();
        // SAFETY: data, options and result live until the call returns.
        let code = unsafe {
            self.calls.aclrtBinaryLoadFromData(words.as_ptr().cast(), object.len(), &raw const options, &raw mut handle)
        };
        self.check("aclrtBinaryLoadFromData", code)?;
        Ok(Handle::new(handle))
    }

    pub(super) fn unload(&self, object: Handle) -> Result<(), NpuError> {
        // SAFETY: from `load`, and its owner is being dropped.
        self.check("aclrtBinaryUnLoad", unsafe { self.calls.aclrtBinaryUnLoad(object.pointer()) })
    }

    /// Finds the kernel `name` in a loaded object.
    pub(super) fn function(&self, object: Handle, name: &str) -> Result<Handle, NpuError> {
        let name = CString::new(name).expect("symbols have no zeros");
        let mut function = null_mut();
        // SAFETY: the object's owner lives, and so do name and result.
        let code = unsafe { self.calls.aclrtBinaryGetFunction(object.pointer(), name.as_ptr(), &raw mut function) };
        self.check("aclrtBinaryGetFunction", code)?;
        Ok(Handle::new(function))
    }

    /// The type that the library reports for the kernel.
    pub(super) fn kernel_type(&self, function: Handle) -> Result<i64, NpuError> {
        let mut value = 0;
        // SAFETY: the function's object is loaded; a place for the result.
        let code = unsafe {
            self.calls.aclrtGetFunctionAttribute(function.pointer(), ACL_FUNC_ATTR_KERNEL_TYPE, &raw mut value)
        };
        self.check("aclrtGetFunctionAttribute", code)?;
        Ok(value)
    }

    /// Numbers of matrix and vector cores that the library starts together for the kernel; `None` if it does not report them, as
    /// before 9.1.
    pub(super) fn kernel_ratio(&self, function: Handle) -> Option<(u16, u16)> {
        let mut value: i64 = 0;
        // SAFETY: the function's object is loaded; a place for the result.
        let code = unsafe {
            self.calls.aclrtGetFunctionAttribute(function.pointer(), ACL_FUNC_ATTR_KERNEL_RATIO, &raw mut value)
        };
        (code == 0 && value != 0).then_some(((value >> 16) as u16, value as u16))
    }

    /// Starts a kernel on a stream: all cores at the same time, for at most `seconds` seconds.
    ///
    /// # Safety
    ///
    /// `function` is a kernel that takes `arguments`. They point to memory of the stream's device that stays allocated until the kernel has
    /// ended.
    pub(super) unsafe fn launch(
        &self,
        function: Handle,
        blocks: u32,
        stream: Handle,
        arguments: &[u64],
        seconds: u16,
    ) -> Result<(), NpuError> {
        let mut attributes = [
            aclrtLaunchKernelAttr {
                id: ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE,
                value: aclrtLaunchKernelAttrValue { rsv: [1, 0, 0, 0] },
            },
            aclrtLaunchKernelAttr {
                id: ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT,
                value: aclrtLaunchKernelAttrValue { rsv: [u32::from(seconds), 0, 0, 0] },
            },
        ];
        let mut settings = aclrtLaunchKernelCfg { attrs: attributes.as_mut_ptr(), numAttrs: attributes.len() };
        let mut arguments = arguments.to_vec();
        // SAFETY: the caller knows of kernel and argument; settings and arguments are copied by the call.
        let code = unsafe {
            self.calls.aclrtLaunchKernelWithHostArgs(
                function.pointer(),
                blocks,
                stream.pointer(),
                &raw mut settings,
                arguments.as_mut_ptr().cast(),
                size_of_val(arguments.as_slice()),
                null_mut(),
                0,
            )
        };
        self.check("aclrtLaunchKernelWithHostArgs", code)
    }
}
