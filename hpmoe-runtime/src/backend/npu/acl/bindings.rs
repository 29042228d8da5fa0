pub const ACL_SUCCESS: u32 = 0;
pub const ACL_ERROR_REPEAT_INITIALIZE: u32 = 100002;
pub const ACL_EVENT_SYNC: u32 = 1;
pub type aclError = ::core::ffi::c_int;
pub type aclrtStream = *mut ::core::ffi::c_void;
pub type aclrtEvent = *mut ::core::ffi::c_void;
pub type aclrtBinHandle = *mut ::core::ffi::c_void;
pub type aclrtFuncHandle = *mut ::core::ffi::c_void;
pub type aclrtDrvMemHandle = *mut ::core::ffi::c_void;
pub const ACL_EVENT_RECORDED_STATUS_NOT_READY: aclrtEventRecordedStatus = 0;
pub const ACL_EVENT_RECORDED_STATUS_COMPLETE: aclrtEventRecordedStatus = 1;
pub type aclrtEventRecordedStatus = ::core::ffi::c_uint;
pub const ACL_MEMCPY_HOST_TO_HOST: aclrtMemcpyKind = 0;
pub const ACL_MEMCPY_HOST_TO_DEVICE: aclrtMemcpyKind = 1;
pub const ACL_MEMCPY_DEVICE_TO_HOST: aclrtMemcpyKind = 2;
pub const ACL_MEMCPY_DEVICE_TO_DEVICE: aclrtMemcpyKind = 3;
pub type aclrtMemcpyKind = ::core::ffi::c_uint;
pub const ACL_MEM_MALLOC_HUGE_FIRST: aclrtMemMallocPolicy = 0;
pub type aclrtMemMallocPolicy = ::core::ffi::c_uint;
pub const ACL_MEM_HANDLE_TYPE_NONE: aclrtMemHandleType = 0;
pub type aclrtMemHandleType = ::core::ffi::c_uint;
pub const ACL_MEM_ALLOCATION_TYPE_PINNED: aclrtMemAllocationType = 0;
pub type aclrtMemAllocationType = ::core::ffi::c_uint;
pub const ACL_HBM_MEM_HUGE: aclrtMemAttr = 4;
pub type aclrtMemAttr = ::core::ffi::c_uint;
pub const ACL_MEM_LOCATION_TYPE_HOST: aclrtMemLocationType = 0;
pub const ACL_MEM_LOCATION_TYPE_DEVICE: aclrtMemLocationType = 1;
pub type aclrtMemLocationType = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct aclrtMemLocation {
    pub id: u32,
    pub type_: aclrtMemLocationType,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of aclrtMemLocation"][::core::mem::size_of::<aclrtMemLocation>() - 8usize];
    [
        "Alignment of aclrtMemLocation",
    ][::core::mem::align_of::<aclrtMemLocation>() - 4usize];
    [
        "Offset of field: aclrtMemLocation::id",
    ][::core::mem::offset_of!(aclrtMemLocation, id) - 0usize];
    [
        "Offset of field: aclrtMemLocation::type_",
    ][::core::mem::offset_of!(aclrtMemLocation, type_) - 4usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct aclrtPtrAttributes {
    pub location: aclrtMemLocation,
    pub pageSize: u32,
    pub rsv: [u32; 4usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclrtPtrAttributes",
    ][::core::mem::size_of::<aclrtPtrAttributes>() - 28usize];
    [
        "Alignment of aclrtPtrAttributes",
    ][::core::mem::align_of::<aclrtPtrAttributes>() - 4usize];
    [
        "Offset of field: aclrtPtrAttributes::location",
    ][::core::mem::offset_of!(aclrtPtrAttributes, location) - 0usize];
    [
        "Offset of field: aclrtPtrAttributes::pageSize",
    ][::core::mem::offset_of!(aclrtPtrAttributes, pageSize) - 8usize];
    [
        "Offset of field: aclrtPtrAttributes::rsv",
    ][::core::mem::offset_of!(aclrtPtrAttributes, rsv) - 12usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct aclrtPhysicalMemProp {
    pub handleType: aclrtMemHandleType,
    pub allocationType: aclrtMemAllocationType,
    pub memAttr: aclrtMemAttr,
    pub location: aclrtMemLocation,
    pub reserve: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclrtPhysicalMemProp",
    ][::core::mem::size_of::<aclrtPhysicalMemProp>() - 32usize];
    [
        "Alignment of aclrtPhysicalMemProp",
    ][::core::mem::align_of::<aclrtPhysicalMemProp>() - 8usize];
    [
        "Offset of field: aclrtPhysicalMemProp::handleType",
    ][::core::mem::offset_of!(aclrtPhysicalMemProp, handleType) - 0usize];
    [
        "Offset of field: aclrtPhysicalMemProp::allocationType",
    ][::core::mem::offset_of!(aclrtPhysicalMemProp, allocationType) - 4usize];
    [
        "Offset of field: aclrtPhysicalMemProp::memAttr",
    ][::core::mem::offset_of!(aclrtPhysicalMemProp, memAttr) - 8usize];
    [
        "Offset of field: aclrtPhysicalMemProp::location",
    ][::core::mem::offset_of!(aclrtPhysicalMemProp, location) - 12usize];
    [
        "Offset of field: aclrtPhysicalMemProp::reserve",
    ][::core::mem::offset_of!(aclrtPhysicalMemProp, reserve) - 24usize];
};
pub const ACL_MEM_SHARE_HANDLE_TYPE_FABRIC: aclrtMemSharedHandleType = 2;
pub type aclrtMemSharedHandleType = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct aclrtMemFabricHandle {
    pub data: [u8; 128usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclrtMemFabricHandle",
    ][::core::mem::size_of::<aclrtMemFabricHandle>() - 128usize];
    [
        "Alignment of aclrtMemFabricHandle",
    ][::core::mem::align_of::<aclrtMemFabricHandle>() - 1usize];
    [
        "Offset of field: aclrtMemFabricHandle::data",
    ][::core::mem::offset_of!(aclrtMemFabricHandle, data) - 0usize];
};
pub const ACL_DEV_ATTR_CUBE_CORE_NUM: aclrtDevAttr = 102;
pub const ACL_DEV_ATTR_VECTOR_CORE_NUM: aclrtDevAttr = 201;
pub const ACL_DEV_ATTR_SUPER_POD_ID: aclrtDevAttr = 405;
pub const ACL_DEV_ATTR_IS_VIRTUAL: aclrtDevAttr = 501;
pub type aclrtDevAttr = ::core::ffi::c_uint;
pub const ACL_FUNC_ATTR_KERNEL_TYPE: aclrtFuncAttribute = 1;
pub const ACL_FUNC_ATTR_KERNEL_RATIO: aclrtFuncAttribute = 2;
pub type aclrtFuncAttribute = ::core::ffi::c_uint;
pub const ACL_RT_BINARY_LOAD_OPT_MAGIC: aclrtBinaryLoadOptionType = 2;
pub type aclrtBinaryLoadOptionType = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub union aclrtBinaryLoadOptionValue {
    pub magic: u32,
    pub rsv: [u32; 4usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclrtBinaryLoadOptionValue",
    ][::core::mem::size_of::<aclrtBinaryLoadOptionValue>() - 16usize];
    [
        "Alignment of aclrtBinaryLoadOptionValue",
    ][::core::mem::align_of::<aclrtBinaryLoadOptionValue>() - 4usize];
    [
        "Offset of field: aclrtBinaryLoadOptionValue::magic",
    ][::core::mem::offset_of!(aclrtBinaryLoadOptionValue, magic) - 0usize];
    [
        "Offset of field: aclrtBinaryLoadOptionValue::rsv",
    ][::core::mem::offset_of!(aclrtBinaryLoadOptionValue, rsv) - 0usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct aclrtBinaryLoadOption {
    pub type_: aclrtBinaryLoadOptionType,
    pub value: aclrtBinaryLoadOptionValue,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclrtBinaryLoadOption",
    ][::core::mem::size_of::<aclrtBinaryLoadOption>() - 20usize];
    [
        "Alignment of aclrtBinaryLoadOption",
    ][::core::mem::align_of::<aclrtBinaryLoadOption>() - 4usize];
    [
        "Offset of field: aclrtBinaryLoadOption::type_",
    ][::core::mem::offset_of!(aclrtBinaryLoadOption, type_) - 0usize];
    [
        "Offset of field: aclrtBinaryLoadOption::value",
    ][::core::mem::offset_of!(aclrtBinaryLoadOption, value) - 4usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct aclrtBinaryLoadOptions {
    pub options: *mut aclrtBinaryLoadOption,
    pub numOpt: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclrtBinaryLoadOptions",
    ][::core::mem::size_of::<aclrtBinaryLoadOptions>() - 16usize];
    [
        "Alignment of aclrtBinaryLoadOptions",
    ][::core::mem::align_of::<aclrtBinaryLoadOptions>() - 8usize];
    [
        "Offset of field: aclrtBinaryLoadOptions::options",
    ][::core::mem::offset_of!(aclrtBinaryLoadOptions, options) - 0usize];
    [
        "Offset of field: aclrtBinaryLoadOptions::numOpt",
    ][::core::mem::offset_of!(aclrtBinaryLoadOptions, numOpt) - 8usize];
};
pub const ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE: aclrtLaunchKernelAttrId = 1;
pub const ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT: aclrtLaunchKernelAttrId = 7;
pub type aclrtLaunchKernelAttrId = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Copy, Clone)]
pub union aclrtLaunchKernelAttrValue {
    pub schemMode: u8,
    pub timeout: u16,
    pub rsv: [u32; 4usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclrtLaunchKernelAttrValue",
    ][::core::mem::size_of::<aclrtLaunchKernelAttrValue>() - 16usize];
    [
        "Alignment of aclrtLaunchKernelAttrValue",
    ][::core::mem::align_of::<aclrtLaunchKernelAttrValue>() - 4usize];
    [
        "Offset of field: aclrtLaunchKernelAttrValue::schemMode",
    ][::core::mem::offset_of!(aclrtLaunchKernelAttrValue, schemMode) - 0usize];
    [
        "Offset of field: aclrtLaunchKernelAttrValue::timeout",
    ][::core::mem::offset_of!(aclrtLaunchKernelAttrValue, timeout) - 0usize];
    [
        "Offset of field: aclrtLaunchKernelAttrValue::rsv",
    ][::core::mem::offset_of!(aclrtLaunchKernelAttrValue, rsv) - 0usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct aclrtLaunchKernelAttr {
    pub id: aclrtLaunchKernelAttrId,
    pub value: aclrtLaunchKernelAttrValue,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclrtLaunchKernelAttr",
    ][::core::mem::size_of::<aclrtLaunchKernelAttr>() - 20usize];
    [
        "Alignment of aclrtLaunchKernelAttr",
    ][::core::mem::align_of::<aclrtLaunchKernelAttr>() - 4usize];
    [
        "Offset of field: aclrtLaunchKernelAttr::id",
    ][::core::mem::offset_of!(aclrtLaunchKernelAttr, id) - 0usize];
    [
        "Offset of field: aclrtLaunchKernelAttr::value",
    ][::core::mem::offset_of!(aclrtLaunchKernelAttr, value) - 4usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct aclrtLaunchKernelCfg {
    pub attrs: *mut aclrtLaunchKernelAttr,
    pub numAttrs: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclrtLaunchKernelCfg",
    ][::core::mem::size_of::<aclrtLaunchKernelCfg>() - 16usize];
    [
        "Alignment of aclrtLaunchKernelCfg",
    ][::core::mem::align_of::<aclrtLaunchKernelCfg>() - 8usize];
    [
        "Offset of field: aclrtLaunchKernelCfg::attrs",
    ][::core::mem::offset_of!(aclrtLaunchKernelCfg, attrs) - 0usize];
    [
        "Offset of field: aclrtLaunchKernelCfg::numAttrs",
    ][::core::mem::offset_of!(aclrtLaunchKernelCfg, numAttrs) - 8usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct aclrtPlaceHolderInfo {
    pub addrOffset: u32,
    pub dataOffset: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclrtPlaceHolderInfo",
    ][::core::mem::size_of::<aclrtPlaceHolderInfo>() - 8usize];
    [
        "Alignment of aclrtPlaceHolderInfo",
    ][::core::mem::align_of::<aclrtPlaceHolderInfo>() - 4usize];
    [
        "Offset of field: aclrtPlaceHolderInfo::addrOffset",
    ][::core::mem::offset_of!(aclrtPlaceHolderInfo, addrOffset) - 0usize];
    [
        "Offset of field: aclrtPlaceHolderInfo::dataOffset",
    ][::core::mem::offset_of!(aclrtPlaceHolderInfo, dataOffset) - 4usize];
};
pub struct AclCalls {
    __library: ::libloading::Library,
    pub aclInit: unsafe extern "C" fn(
        configPath: *const ::core::ffi::c_char,
    ) -> aclError,
    pub aclFinalizeReference: unsafe extern "C" fn(refCount: *mut u64) -> aclError,
    pub aclGetRecentErrMsg: unsafe extern "C" fn() -> *const ::core::ffi::c_char,
    pub aclrtGetDeviceCount: unsafe extern "C" fn(count: *mut u32) -> aclError,
    pub aclrtSetDevice: unsafe extern "C" fn(deviceId: i32) -> aclError,
    pub aclrtResetDevice: unsafe extern "C" fn(deviceId: i32) -> aclError,
    pub aclrtGetDevice: unsafe extern "C" fn(deviceId: *mut i32) -> aclError,
    pub aclrtGetSocName: unsafe extern "C" fn() -> *const ::core::ffi::c_char,
    pub aclrtGetDeviceInfo: unsafe extern "C" fn(
        deviceId: u32,
        attr: aclrtDevAttr,
        value: *mut i64,
    ) -> aclError,
    pub aclrtDeviceCanAccessPeer: unsafe extern "C" fn(
        canAccessPeer: *mut i32,
        deviceId: i32,
        peerDeviceId: i32,
    ) -> aclError,
    pub aclrtDeviceEnablePeerAccess: unsafe extern "C" fn(
        peerDeviceId: i32,
        flags: u32,
    ) -> aclError,
    pub aclrtCreateStream: unsafe extern "C" fn(stream: *mut aclrtStream) -> aclError,
    pub aclrtDestroyStream: unsafe extern "C" fn(stream: aclrtStream) -> aclError,
    pub aclrtSynchronizeStreamWithTimeout: unsafe extern "C" fn(
        stream: aclrtStream,
        timeout: i32,
    ) -> aclError,
    pub aclrtCreateEventExWithFlag: unsafe extern "C" fn(
        event: *mut aclrtEvent,
        flag: u32,
    ) -> aclError,
    pub aclrtDestroyEvent: unsafe extern "C" fn(event: aclrtEvent) -> aclError,
    pub aclrtQueryEventStatus: unsafe extern "C" fn(
        event: aclrtEvent,
        status: *mut aclrtEventRecordedStatus,
    ) -> aclError,
    pub aclrtSynchronizeEventWithTimeout: unsafe extern "C" fn(
        event: aclrtEvent,
        timeout: i32,
    ) -> aclError,
    pub aclrtRecordEvent: unsafe extern "C" fn(
        event: aclrtEvent,
        stream: aclrtStream,
    ) -> aclError,
    pub aclrtStreamWaitEvent: unsafe extern "C" fn(
        stream: aclrtStream,
        event: aclrtEvent,
    ) -> aclError,
    pub aclrtMalloc: unsafe extern "C" fn(
        devPtr: *mut *mut ::core::ffi::c_void,
        size: usize,
        policy: aclrtMemMallocPolicy,
    ) -> aclError,
    pub aclrtFree: unsafe extern "C" fn(devPtr: *mut ::core::ffi::c_void) -> aclError,
    pub aclrtMallocHost: unsafe extern "C" fn(
        hostPtr: *mut *mut ::core::ffi::c_void,
        size: usize,
    ) -> aclError,
    pub aclrtFreeHost: unsafe extern "C" fn(
        hostPtr: *mut ::core::ffi::c_void,
    ) -> aclError,
    pub aclrtPointerGetAttributes: unsafe extern "C" fn(
        ptr: *const ::core::ffi::c_void,
        attributes: *mut aclrtPtrAttributes,
    ) -> aclError,
    pub aclrtReserveMemAddress: unsafe extern "C" fn(
        virPtr: *mut *mut ::core::ffi::c_void,
        size: usize,
        alignment: usize,
        expectPtr: *mut ::core::ffi::c_void,
        flags: u64,
    ) -> aclError,
    pub aclrtReleaseMemAddress: unsafe extern "C" fn(
        virPtr: *mut ::core::ffi::c_void,
    ) -> aclError,
    pub aclrtMallocPhysical: unsafe extern "C" fn(
        handle: *mut aclrtDrvMemHandle,
        size: usize,
        prop: *const aclrtPhysicalMemProp,
        flags: u64,
    ) -> aclError,
    pub aclrtFreePhysical: unsafe extern "C" fn(handle: aclrtDrvMemHandle) -> aclError,
    pub aclrtMapMem: unsafe extern "C" fn(
        virPtr: *mut ::core::ffi::c_void,
        size: usize,
        offset: usize,
        handle: aclrtDrvMemHandle,
        flags: u64,
    ) -> aclError,
    pub aclrtUnmapMem: unsafe extern "C" fn(
        virPtr: *mut ::core::ffi::c_void,
    ) -> aclError,
    pub aclrtMemExportToShareableHandleV2: unsafe extern "C" fn(
        handle: aclrtDrvMemHandle,
        flags: u64,
        shareType: aclrtMemSharedHandleType,
        shareableHandle: *mut ::core::ffi::c_void,
    ) -> aclError,
    pub aclrtMemImportFromShareableHandleV2: unsafe extern "C" fn(
        shareableHandle: *mut ::core::ffi::c_void,
        shareType: aclrtMemSharedHandleType,
        flags: u64,
        handle: *mut aclrtDrvMemHandle,
    ) -> aclError,
    pub aclrtMemset: unsafe extern "C" fn(
        devPtr: *mut ::core::ffi::c_void,
        maxCount: usize,
        value: i32,
        count: usize,
    ) -> aclError,
    pub aclrtMemcpy: unsafe extern "C" fn(
        dst: *mut ::core::ffi::c_void,
        destMax: usize,
        src: *const ::core::ffi::c_void,
        count: usize,
        kind: aclrtMemcpyKind,
    ) -> aclError,
    pub aclrtMemcpyAsync: unsafe extern "C" fn(
        dst: *mut ::core::ffi::c_void,
        destMax: usize,
        src: *const ::core::ffi::c_void,
        count: usize,
        kind: aclrtMemcpyKind,
        stream: aclrtStream,
    ) -> aclError,
    pub aclrtBinaryLoadFromData: unsafe extern "C" fn(
        data: *const ::core::ffi::c_void,
        length: usize,
        options: *const aclrtBinaryLoadOptions,
        binHandle: *mut aclrtBinHandle,
    ) -> aclError,
    pub aclrtBinaryGetFunction: unsafe extern "C" fn(
        binHandle: aclrtBinHandle,
        kernelName: *const ::core::ffi::c_char,
        funcHandle: *mut aclrtFuncHandle,
    ) -> aclError,
    pub aclrtBinaryUnLoad: unsafe extern "C" fn(binHandle: aclrtBinHandle) -> aclError,
    pub aclrtGetFunctionAttribute: unsafe extern "C" fn(
        funcHandle: aclrtFuncHandle,
        attrType: aclrtFuncAttribute,
        attrValue: *mut i64,
    ) -> aclError,
    pub aclrtLaunchKernelWithHostArgs: unsafe extern "C" fn(
        funcHandle: aclrtFuncHandle,
        blockDim: u32,
        stream: aclrtStream,
        cfg: *mut aclrtLaunchKernelCfg,
        hostArgs: *mut ::core::ffi::c_void,
        argsSize: usize,
        placeHolderArray: *mut aclrtPlaceHolderInfo,
        placeHolderNum: usize,
    ) -> aclError,
}
impl AclCalls {
    pub unsafe fn new<P>(path: P) -> Result<Self, ::libloading::Error>
    where
        P: AsRef<::std::ffi::OsStr>,
    {
        let path = path.as_ref();
        let library = unsafe { ::libloading::Library::new(path) }?;
        unsafe { Self::from_library(library) }
    }
    pub unsafe fn from_library<L>(library: L) -> Result<Self, ::libloading::Error>
    where
        L: Into<::libloading::Library>,
    {
        let __library = library.into();
        let aclInit = unsafe { __library.get(b"aclInit\0") }.map(|sym| *sym)?;
        let aclFinalizeReference = unsafe { __library.get(b"aclFinalizeReference\0") }
            .map(|sym| *sym)?;
        let aclGetRecentErrMsg = unsafe { __library.get(b"aclGetRecentErrMsg\0") }
            .map(|sym| *sym)?;
        let aclrtGetDeviceCount = unsafe { __library.get(b"aclrtGetDeviceCount\0") }
            .map(|sym| *sym)?;
        let aclrtSetDevice = unsafe { __library.get(b"aclrtSetDevice\0") }
            .map(|sym| *sym)?;
        let aclrtResetDevice = unsafe { __library.get(b"aclrtResetDevice\0") }
            .map(|sym| *sym)?;
        let aclrtGetDevice = unsafe { __library.get(b"aclrtGetDevice\0") }
            .map(|sym| *sym)?;
        let aclrtGetSocName = unsafe { __library.get(b"aclrtGetSocName\0") }
            .map(|sym| *sym)?;
        let aclrtGetDeviceInfo = unsafe { __library.get(b"aclrtGetDeviceInfo\0") }
            .map(|sym| *sym)?;
        let aclrtDeviceCanAccessPeer = unsafe {
            __library.get(b"aclrtDeviceCanAccessPeer\0")
        }
            .map(|sym| *sym)?;
        let aclrtDeviceEnablePeerAccess = unsafe {
            __library.get(b"aclrtDeviceEnablePeerAccess\0")
        }
            .map(|sym| *sym)?;
        let aclrtCreateStream = unsafe { __library.get(b"aclrtCreateStream\0") }
            .map(|sym| *sym)?;
        let aclrtDestroyStream = unsafe { __library.get(b"aclrtDestroyStream\0") }
            .map(|sym| *sym)?;
        let aclrtSynchronizeStreamWithTimeout = unsafe {
            __library.get(b"aclrtSynchronizeStreamWithTimeout\0")
        }
            .map(|sym| *sym)?;
        let aclrtCreateEventExWithFlag = unsafe {
            __library.get(b"aclrtCreateEventExWithFlag\0")
        }
            .map(|sym| *sym)?;
        let aclrtDestroyEvent = unsafe { __library.get(b"aclrtDestroyEvent\0") }
            .map(|sym| *sym)?;
        let aclrtQueryEventStatus = unsafe { __library.get(b"aclrtQueryEventStatus\0") }
            .map(|sym| *sym)?;
        let aclrtSynchronizeEventWithTimeout = unsafe {
            __library.get(b"aclrtSynchronizeEventWithTimeout\0")
        }
            .map(|sym| *sym)?;
        let aclrtRecordEvent = unsafe { __library.get(b"aclrtRecordEvent\0") }
            .map(|sym| *sym)?;
        let aclrtStreamWaitEvent = unsafe { __library.get(b"aclrtStreamWaitEvent\0") }
            .map(|sym| *sym)?;
        let aclrtMalloc = unsafe { __library.get(b"aclrtMalloc\0") }.map(|sym| *sym)?;
        let aclrtFree = unsafe { __library.get(b"aclrtFree\0") }.map(|sym| *sym)?;
        let aclrtMallocHost = unsafe { __library.get(b"aclrtMallocHost\0") }
            .map(|sym| *sym)?;
        let aclrtFreeHost = unsafe { __library.get(b"aclrtFreeHost\0") }
            .map(|sym| *sym)?;
        let aclrtPointerGetAttributes = unsafe {
            __library.get(b"aclrtPointerGetAttributes\0")
        }
            .map(|sym| *sym)?;
        let aclrtReserveMemAddress = unsafe {
            __library.get(b"aclrtReserveMemAddress\0")
        }
            .map(|sym| *sym)?;
        let aclrtReleaseMemAddress = unsafe {
            __library.get(b"aclrtReleaseMemAddress\0")
        }
            .map(|sym| *sym)?;
        let aclrtMallocPhysical = unsafe { __library.get(b"aclrtMallocPhysical\0") }
            .map(|sym| *sym)?;
        let aclrtFreePhysical = unsafe { __library.get(b"aclrtFreePhysical\0") }
            .map(|sym| *sym)?;
        let aclrtMapMem = unsafe { __library.get(b"aclrtMapMem\0") }.map(|sym| *sym)?;
        let aclrtUnmapMem = unsafe { __library.get(b"aclrtUnmapMem\0") }
            .map(|sym| *sym)?;
        let aclrtMemExportToShareableHandleV2 = unsafe {
            __library.get(b"aclrtMemExportToShareableHandleV2\0")
        }
            .map(|sym| *sym)?;
        let aclrtMemImportFromShareableHandleV2 = unsafe {
            __library.get(b"aclrtMemImportFromShareableHandleV2\0")
        }
            .map(|sym| *sym)?;
        let aclrtMemset = unsafe { __library.get(b"aclrtMemset\0") }.map(|sym| *sym)?;
        let aclrtMemcpy = unsafe { __library.get(b"aclrtMemcpy\0") }.map(|sym| *sym)?;
        let aclrtMemcpyAsync = unsafe { __library.get(b"aclrtMemcpyAsync\0") }
            .map(|sym| *sym)?;
        let aclrtBinaryLoadFromData = unsafe {
            __library.get(b"aclrtBinaryLoadFromData\0")
        }
            .map(|sym| *sym)?;
        let aclrtBinaryGetFunction = unsafe {
            __library.get(b"aclrtBinaryGetFunction\0")
        }
            .map(|sym| *sym)?;
        let aclrtBinaryUnLoad = unsafe { __library.get(b"aclrtBinaryUnLoad\0") }
            .map(|sym| *sym)?;
        let aclrtGetFunctionAttribute = unsafe {
            __library.get(b"aclrtGetFunctionAttribute\0")
        }
            .map(|sym| *sym)?;
        let aclrtLaunchKernelWithHostArgs = unsafe {
            __library.get(b"aclrtLaunchKernelWithHostArgs\0")
        }
            .map(|sym| *sym)?;
        Ok(AclCalls {
            __library,
            aclInit,
            aclFinalizeReference,
            aclGetRecentErrMsg,
            aclrtGetDeviceCount,
            aclrtSetDevice,
            aclrtResetDevice,
            aclrtGetDevice,
            aclrtGetSocName,
            aclrtGetDeviceInfo,
            aclrtDeviceCanAccessPeer,
            aclrtDeviceEnablePeerAccess,
            aclrtCreateStream,
            aclrtDestroyStream,
            aclrtSynchronizeStreamWithTimeout,
            aclrtCreateEventExWithFlag,
            aclrtDestroyEvent,
            aclrtQueryEventStatus,
            aclrtSynchronizeEventWithTimeout,
            aclrtRecordEvent,
            aclrtStreamWaitEvent,
            aclrtMalloc,
            aclrtFree,
            aclrtMallocHost,
            aclrtFreeHost,
            aclrtPointerGetAttributes,
            aclrtReserveMemAddress,
            aclrtReleaseMemAddress,
            aclrtMallocPhysical,
            aclrtFreePhysical,
            aclrtMapMem,
            aclrtUnmapMem,
            aclrtMemExportToShareableHandleV2,
            aclrtMemImportFromShareableHandleV2,
            aclrtMemset,
            aclrtMemcpy,
            aclrtMemcpyAsync,
            aclrtBinaryLoadFromData,
            aclrtBinaryGetFunction,
            aclrtBinaryUnLoad,
            aclrtGetFunctionAttribute,
            aclrtLaunchKernelWithHostArgs,
        })
    }
    pub unsafe fn aclInit(&self, configPath: *const ::core::ffi::c_char) -> aclError {
        unsafe { (self.aclInit)(configPath) }
    }
    pub unsafe fn aclFinalizeReference(&self, refCount: *mut u64) -> aclError {
        unsafe { (self.aclFinalizeReference)(refCount) }
    }
    pub unsafe fn aclGetRecentErrMsg(&self) -> *const ::core::ffi::c_char {
        unsafe { (self.aclGetRecentErrMsg)() }
    }
    pub unsafe fn aclrtGetDeviceCount(&self, count: *mut u32) -> aclError {
        unsafe { (self.aclrtGetDeviceCount)(count) }
    }
    pub unsafe fn aclrtSetDevice(&self, deviceId: i32) -> aclError {
        unsafe { (self.aclrtSetDevice)(deviceId) }
    }
    pub unsafe fn aclrtResetDevice(&self, deviceId: i32) -> aclError {
        unsafe { (self.aclrtResetDevice)(deviceId) }
    }
    pub unsafe fn aclrtGetDevice(&self, deviceId: *mut i32) -> aclError {
        unsafe { (self.aclrtGetDevice)(deviceId) }
    }
    pub unsafe fn aclrtGetSocName(&self) -> *const ::core::ffi::c_char {
        unsafe { (self.aclrtGetSocName)() }
    }
    pub unsafe fn aclrtGetDeviceInfo(
        &self,
        deviceId: u32,
        attr: aclrtDevAttr,
        value: *mut i64,
    ) -> aclError {
        unsafe { (self.aclrtGetDeviceInfo)(deviceId, attr, value) }
    }
    pub unsafe fn aclrtDeviceCanAccessPeer(
        &self,
        canAccessPeer: *mut i32,
        deviceId: i32,
        peerDeviceId: i32,
    ) -> aclError {
        unsafe { (self.aclrtDeviceCanAccessPeer)(canAccessPeer, deviceId, peerDeviceId) }
    }
    pub unsafe fn aclrtDeviceEnablePeerAccess(
        &self,
        peerDeviceId: i32,
        flags: u32,
    ) -> aclError {
        unsafe { (self.aclrtDeviceEnablePeerAccess)(peerDeviceId, flags) }
    }
    pub unsafe fn aclrtCreateStream(&self, stream: *mut aclrtStream) -> aclError {
        unsafe { (self.aclrtCreateStream)(stream) }
    }
    pub unsafe fn aclrtDestroyStream(&self, stream: aclrtStream) -> aclError {
        unsafe { (self.aclrtDestroyStream)(stream) }
    }
    pub unsafe fn aclrtSynchronizeStreamWithTimeout(
        &self,
        stream: aclrtStream,
        timeout: i32,
    ) -> aclError {
        unsafe { (self.aclrtSynchronizeStreamWithTimeout)(stream, timeout) }
    }
    pub unsafe fn aclrtCreateEventExWithFlag(
        &self,
        event: *mut aclrtEvent,
        flag: u32,
    ) -> aclError {
        unsafe { (self.aclrtCreateEventExWithFlag)(event, flag) }
    }
    pub unsafe fn aclrtDestroyEvent(&self, event: aclrtEvent) -> aclError {
        unsafe { (self.aclrtDestroyEvent)(event) }
    }
    pub unsafe fn aclrtQueryEventStatus(
        &self,
        event: aclrtEvent,
        status: *mut aclrtEventRecordedStatus,
    ) -> aclError {
        unsafe { (self.aclrtQueryEventStatus)(event, status) }
    }
    pub unsafe fn aclrtSynchronizeEventWithTimeout(
        &self,
        event: aclrtEvent,
        timeout: i32,
    ) -> aclError {
        unsafe { (self.aclrtSynchronizeEventWithTimeout)(event, timeout) }
    }
    pub unsafe fn aclrtRecordEvent(
        &self,
        event: aclrtEvent,
        stream: aclrtStream,
    ) -> aclError {
        unsafe { (self.aclrtRecordEvent)(event, stream) }
    }
    pub unsafe fn aclrtStreamWaitEvent(
        &self,
        stream: aclrtStream,
        event: aclrtEvent,
    ) -> aclError {
        unsafe { (self.aclrtStreamWaitEvent)(stream, event) }
    }
    pub unsafe fn aclrtMalloc(
        &self,
        devPtr: *mut *mut ::core::ffi::c_void,
        size: usize,
        policy: aclrtMemMallocPolicy,
    ) -> aclError {
        unsafe { (self.aclrtMalloc)(devPtr, size, policy) }
    }
    pub unsafe fn aclrtFree(&self, devPtr: *mut ::core::ffi::c_void) -> aclError {
        unsafe { (self.aclrtFree)(devPtr) }
    }
    pub unsafe fn aclrtMallocHost(
        &self,
        hostPtr: *mut *mut ::core::ffi::c_void,
        size: usize,
    ) -> aclError {
        unsafe { (self.aclrtMallocHost)(hostPtr, size) }
    }
    pub unsafe fn aclrtFreeHost(&self, hostPtr: *mut ::core::ffi::c_void) -> aclError {
        unsafe { (self.aclrtFreeHost)(hostPtr) }
    }
    pub unsafe fn aclrtPointerGetAttributes(
        &self,
        ptr: *const ::core::ffi::c_void,
        attributes: *mut aclrtPtrAttributes,
    ) -> aclError {
        unsafe { (self.aclrtPointerGetAttributes)(ptr, attributes) }
    }
    pub unsafe fn aclrtReserveMemAddress(
        &self,
        virPtr: *mut *mut ::core::ffi::c_void,
        size: usize,
        alignment: usize,
        expectPtr: *mut ::core::ffi::c_void,
        flags: u64,
    ) -> aclError {
        unsafe {
            (self.aclrtReserveMemAddress)(virPtr, size, alignment, expectPtr, flags)
        }
    }
    pub unsafe fn aclrtReleaseMemAddress(
        &self,
        virPtr: *mut ::core::ffi::c_void,
    ) -> aclError {
        unsafe { (self.aclrtReleaseMemAddress)(virPtr) }
    }
    pub unsafe fn aclrtMallocPhysical(
        &self,
        handle: *mut aclrtDrvMemHandle,
        size: usize,
        prop: *const aclrtPhysicalMemProp,
        flags: u64,
    ) -> aclError {
        unsafe { (self.aclrtMallocPhysical)(handle, size, prop, flags) }
    }
    pub unsafe fn aclrtFreePhysical(&self, handle: aclrtDrvMemHandle) -> aclError {
        unsafe { (self.aclrtFreePhysical)(handle) }
    }
    pub unsafe fn aclrtMapMem(
        &self,
        virPtr: *mut ::core::ffi::c_void,
        size: usize,
        offset: usize,
        handle: aclrtDrvMemHandle,
        flags: u64,
    ) -> aclError {
        unsafe { (self.aclrtMapMem)(virPtr, size, offset, handle, flags) }
    }
    pub unsafe fn aclrtUnmapMem(&self, virPtr: *mut ::core::ffi::c_void) -> aclError {
        unsafe { (self.aclrtUnmapMem)(virPtr) }
    }
    pub unsafe fn aclrtMemExportToShareableHandleV2(
        &self,
        handle: aclrtDrvMemHandle,
        flags: u64,
        shareType: aclrtMemSharedHandleType,
        shareableHandle: *mut ::core::ffi::c_void,
    ) -> aclError {
        unsafe {
            (self
                .aclrtMemExportToShareableHandleV2)(
                handle,
                flags,
                shareType,
                shareableHandle,
            )
        }
    }
    pub unsafe fn aclrtMemImportFromShareableHandleV2(
        &self,
        shareableHandle: *mut ::core::ffi::c_void,
        shareType: aclrtMemSharedHandleType,
        flags: u64,
        handle: *mut aclrtDrvMemHandle,
    ) -> aclError {
        unsafe {
            (self
                .aclrtMemImportFromShareableHandleV2)(
                shareableHandle,
                shareType,
                flags,
                handle,
            )
        }
    }
    pub unsafe fn aclrtMemset(
        &self,
        devPtr: *mut ::core::ffi::c_void,
        maxCount: usize,
        value: i32,
        count: usize,
    ) -> aclError {
        unsafe { (self.aclrtMemset)(devPtr, maxCount, value, count) }
    }
    pub unsafe fn aclrtMemcpy(
        &self,
        dst: *mut ::core::ffi::c_void,
        destMax: usize,
        src: *const ::core::ffi::c_void,
        count: usize,
        kind: aclrtMemcpyKind,
    ) -> aclError {
        unsafe { (self.aclrtMemcpy)(dst, destMax, src, count, kind) }
    }
    pub unsafe fn aclrtMemcpyAsync(
        &self,
        dst: *mut ::core::ffi::c_void,
        destMax: usize,
        src: *const ::core::ffi::c_void,
        count: usize,
        kind: aclrtMemcpyKind,
        stream: aclrtStream,
    ) -> aclError {
        unsafe { (self.aclrtMemcpyAsync)(dst, destMax, src, count, kind, stream) }
    }
    pub unsafe fn aclrtBinaryLoadFromData(
        &self,
        data: *const ::core::ffi::c_void,
        length: usize,
        options: *const aclrtBinaryLoadOptions,
        binHandle: *mut aclrtBinHandle,
    ) -> aclError {
        unsafe { (self.aclrtBinaryLoadFromData)(data, length, options, binHandle) }
    }
    pub unsafe fn aclrtBinaryGetFunction(
        &self,
        binHandle: aclrtBinHandle,
        kernelName: *const ::core::ffi::c_char,
        funcHandle: *mut aclrtFuncHandle,
    ) -> aclError {
        unsafe { (self.aclrtBinaryGetFunction)(binHandle, kernelName, funcHandle) }
    }
    pub unsafe fn aclrtBinaryUnLoad(&self, binHandle: aclrtBinHandle) -> aclError {
        unsafe { (self.aclrtBinaryUnLoad)(binHandle) }
    }
    pub unsafe fn aclrtGetFunctionAttribute(
        &self,
        funcHandle: aclrtFuncHandle,
        attrType: aclrtFuncAttribute,
        attrValue: *mut i64,
    ) -> aclError {
        unsafe { (self.aclrtGetFunctionAttribute)(funcHandle, attrType, attrValue) }
    }
    pub unsafe fn aclrtLaunchKernelWithHostArgs(
        &self,
        funcHandle: aclrtFuncHandle,
        blockDim: u32,
        stream: aclrtStream,
        cfg: *mut aclrtLaunchKernelCfg,
        hostArgs: *mut ::core::ffi::c_void,
        argsSize: usize,
        placeHolderArray: *mut aclrtPlaceHolderInfo,
        placeHolderNum: usize,
    ) -> aclError {
        unsafe {
            (self
                .aclrtLaunchKernelWithHostArgs)(
                funcHandle,
                blockDim,
                stream,
                cfg,
                hostArgs,
                argsSize,
                placeHolderArray,
                placeHolderNum,
            )
        }
    }
}
