pub const ACLSHMEM_SUCCESS: u32 = 0;
pub const ACLSHMEM_STATUS_IS_INITIALIZED: u32 = 2;
pub const ACLSHMEMX_INIT_WITH_DEFAULT: u32 = 1;
pub const ACLSHMEM_DATA_OP_MTE: u32 = 1;
pub const ACLSHMEM_MAX_IP_PORT_LEN: u32 = 64;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct aclshmem_init_optional_attr_t {
    pub version: i32,
    pub data_op_engine_type: u32,
    pub shm_init_timeout: u32,
    pub shm_create_timeout: u32,
    pub control_operation_timeout: u32,
    pub sockFd: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclshmem_init_optional_attr_t",
    ][::core::mem::size_of::<aclshmem_init_optional_attr_t>() - 24usize];
    [
        "Alignment of aclshmem_init_optional_attr_t",
    ][::core::mem::align_of::<aclshmem_init_optional_attr_t>() - 4usize];
    [
        "Offset of field: aclshmem_init_optional_attr_t::version",
    ][::core::mem::offset_of!(aclshmem_init_optional_attr_t, version) - 0usize];
    [
        "Offset of field: aclshmem_init_optional_attr_t::data_op_engine_type",
    ][::core::mem::offset_of!(aclshmem_init_optional_attr_t, data_op_engine_type)
        - 4usize];
    [
        "Offset of field: aclshmem_init_optional_attr_t::shm_init_timeout",
    ][::core::mem::offset_of!(aclshmem_init_optional_attr_t, shm_init_timeout) - 8usize];
    [
        "Offset of field: aclshmem_init_optional_attr_t::shm_create_timeout",
    ][::core::mem::offset_of!(aclshmem_init_optional_attr_t, shm_create_timeout)
        - 12usize];
    [
        "Offset of field: aclshmem_init_optional_attr_t::control_operation_timeout",
    ][::core::mem::offset_of!(aclshmem_init_optional_attr_t, control_operation_timeout)
        - 16usize];
    [
        "Offset of field: aclshmem_init_optional_attr_t::sockFd",
    ][::core::mem::offset_of!(aclshmem_init_optional_attr_t, sockFd) - 20usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct aclshmemx_init_attr_t {
    pub my_pe: i32,
    pub n_pes: i32,
    pub ip_port: [::core::ffi::c_char; 64usize],
    pub local_mem_size: u64,
    pub option_attr: aclshmem_init_optional_attr_t,
    pub comm_args: *mut ::core::ffi::c_void,
    pub instance_id: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of aclshmemx_init_attr_t",
    ][::core::mem::size_of::<aclshmemx_init_attr_t>() - 120usize];
    [
        "Alignment of aclshmemx_init_attr_t",
    ][::core::mem::align_of::<aclshmemx_init_attr_t>() - 8usize];
    [
        "Offset of field: aclshmemx_init_attr_t::my_pe",
    ][::core::mem::offset_of!(aclshmemx_init_attr_t, my_pe) - 0usize];
    [
        "Offset of field: aclshmemx_init_attr_t::n_pes",
    ][::core::mem::offset_of!(aclshmemx_init_attr_t, n_pes) - 4usize];
    [
        "Offset of field: aclshmemx_init_attr_t::ip_port",
    ][::core::mem::offset_of!(aclshmemx_init_attr_t, ip_port) - 8usize];
    [
        "Offset of field: aclshmemx_init_attr_t::local_mem_size",
    ][::core::mem::offset_of!(aclshmemx_init_attr_t, local_mem_size) - 72usize];
    [
        "Offset of field: aclshmemx_init_attr_t::option_attr",
    ][::core::mem::offset_of!(aclshmemx_init_attr_t, option_attr) - 80usize];
    [
        "Offset of field: aclshmemx_init_attr_t::comm_args",
    ][::core::mem::offset_of!(aclshmemx_init_attr_t, comm_args) - 104usize];
    [
        "Offset of field: aclshmemx_init_attr_t::instance_id",
    ][::core::mem::offset_of!(aclshmemx_init_attr_t, instance_id) - 112usize];
};
pub struct ShmemCalls {
    __library: ::libloading::Library,
    pub aclshmemx_init_status: unsafe extern "C" fn() -> ::core::ffi::c_int,
    pub aclshmemx_set_conf_store_tls: unsafe extern "C" fn(
        enable: bool,
        tls_info: *const ::core::ffi::c_char,
        tls_info_len: u32,
    ) -> i32,
    pub aclshmemx_init_attr: unsafe extern "C" fn(
        bootstrap_flags: u32,
        attributes: *mut aclshmemx_init_attr_t,
    ) -> ::core::ffi::c_int,
    pub aclshmem_my_pe: unsafe extern "C" fn() -> ::core::ffi::c_int,
    pub aclshmem_n_pes: unsafe extern "C" fn() -> ::core::ffi::c_int,
    pub aclshmem_align: unsafe extern "C" fn(
        alignment: usize,
        size: usize,
    ) -> *mut ::core::ffi::c_void,
    pub aclshmem_free: unsafe extern "C" fn(ptr: *mut ::core::ffi::c_void),
    pub aclshmem_ptr: unsafe extern "C" fn(
        ptr: *mut ::core::ffi::c_void,
        pe: ::core::ffi::c_int,
    ) -> *mut ::core::ffi::c_void,
    pub aclshmem_finalize: unsafe extern "C" fn() -> ::core::ffi::c_int,
}
impl ShmemCalls {
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
        let aclshmemx_init_status = unsafe { __library.get(b"aclshmemx_init_status\0") }
            .map(|sym| *sym)?;
        let aclshmemx_set_conf_store_tls = unsafe {
            __library.get(b"aclshmemx_set_conf_store_tls\0")
        }
            .map(|sym| *sym)?;
        let aclshmemx_init_attr = unsafe { __library.get(b"aclshmemx_init_attr\0") }
            .map(|sym| *sym)?;
        let aclshmem_my_pe = unsafe { __library.get(b"aclshmem_my_pe\0") }
            .map(|sym| *sym)?;
        let aclshmem_n_pes = unsafe { __library.get(b"aclshmem_n_pes\0") }
            .map(|sym| *sym)?;
        let aclshmem_align = unsafe { __library.get(b"aclshmem_align\0") }
            .map(|sym| *sym)?;
        let aclshmem_free = unsafe { __library.get(b"aclshmem_free\0") }
            .map(|sym| *sym)?;
        let aclshmem_ptr = unsafe { __library.get(b"aclshmem_ptr\0") }.map(|sym| *sym)?;
        let aclshmem_finalize = unsafe { __library.get(b"aclshmem_finalize\0") }
            .map(|sym| *sym)?;
        Ok(ShmemCalls {
            __library,
            aclshmemx_init_status,
            aclshmemx_set_conf_store_tls,
            aclshmemx_init_attr,
            aclshmem_my_pe,
            aclshmem_n_pes,
            aclshmem_align,
            aclshmem_free,
            aclshmem_ptr,
            aclshmem_finalize,
        })
    }
    pub unsafe fn aclshmemx_init_status(&self) -> ::core::ffi::c_int {
        unsafe { (self.aclshmemx_init_status)() }
    }
    pub unsafe fn aclshmemx_set_conf_store_tls(
        &self,
        enable: bool,
        tls_info: *const ::core::ffi::c_char,
        tls_info_len: u32,
    ) -> i32 {
        unsafe { (self.aclshmemx_set_conf_store_tls)(enable, tls_info, tls_info_len) }
    }
    pub unsafe fn aclshmemx_init_attr(
        &self,
        bootstrap_flags: u32,
        attributes: *mut aclshmemx_init_attr_t,
    ) -> ::core::ffi::c_int {
        unsafe { (self.aclshmemx_init_attr)(bootstrap_flags, attributes) }
    }
    pub unsafe fn aclshmem_my_pe(&self) -> ::core::ffi::c_int {
        unsafe { (self.aclshmem_my_pe)() }
    }
    pub unsafe fn aclshmem_n_pes(&self) -> ::core::ffi::c_int {
        unsafe { (self.aclshmem_n_pes)() }
    }
    pub unsafe fn aclshmem_align(
        &self,
        alignment: usize,
        size: usize,
    ) -> *mut ::core::ffi::c_void {
        unsafe { (self.aclshmem_align)(alignment, size) }
    }
    pub unsafe fn aclshmem_free(&self, ptr: *mut ::core::ffi::c_void) {
        unsafe { (self.aclshmem_free)(ptr) }
    }
    pub unsafe fn aclshmem_ptr(
        &self,
        ptr: *mut ::core::ffi::c_void,
        pe: ::core::ffi::c_int,
    ) -> *mut ::core::ffi::c_void {
        unsafe { (self.aclshmem_ptr)(ptr, pe) }
    }
    pub unsafe fn aclshmem_finalize(&self) -> ::core::ffi::c_int {
        unsafe { (self.aclshmem_finalize)() }
    }
}
