pub const HPMOE_C_ABI: u32 = 6;
pub const HPMOE_OK: HpmoeStatus = 0;
pub const HPMOE_INVALID: HpmoeStatus = 1;
pub const HPMOE_FAILED: HpmoeStatus = 2;
pub const HPMOE_PANICKED: HpmoeStatus = 3;
pub type HpmoeStatus = ::core::ffi::c_uint;
pub const HPMOE_BF16: HpmoeElement = 1;
pub const HPMOE_F32: HpmoeElement = 2;
pub const HPMOE_I32: HpmoeElement = 3;
pub const HPMOE_I8: HpmoeElement = 4;
pub const HPMOE_I64: HpmoeElement = 5;
pub const HPMOE_I4X2: HpmoeElement = 6;
pub const HPMOE_F16: HpmoeElement = 7;
pub type HpmoeElement = ::core::ffi::c_uint;
pub const HPMOE_CPU: HpmoeDevice = 0;
pub const HPMOE_NPU: HpmoeDevice = 1;
pub type HpmoeDevice = ::core::ffi::c_uint;
pub const HPMOE_CHECKS_BY_ENVIRONMENT: HpmoeChecks = 0;
pub const HPMOE_CHECKS_ON: HpmoeChecks = 1;
pub const HPMOE_CHECKS_OFF: HpmoeChecks = 2;
pub type HpmoeChecks = ::core::ffi::c_uint;
pub type HpmoeGroup = u64;
pub type HpmoePending = u64;
pub type HpmoeFixed = u64;
pub type HpmoeListener = u64;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct HpmoeOptions {
    pub seed: u64,
    pub time_limit_ms: u64,
    pub capacity_rows: u64,
    pub threads: u32,
    pub device: HpmoeDevice,
    pub npu: u32,
    pub cancel: *const u32,
    pub checks: HpmoeChecks,
    pub attend: ::core::option::Option<unsafe extern "C" fn()>,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeOptions"][::core::mem::size_of::<HpmoeOptions>() - 64usize];
    ["Alignment of HpmoeOptions"][::core::mem::align_of::<HpmoeOptions>() - 8usize];
    [
        "Offset of field: HpmoeOptions::seed",
    ][::core::mem::offset_of!(HpmoeOptions, seed) - 0usize];
    [
        "Offset of field: HpmoeOptions::time_limit_ms",
    ][::core::mem::offset_of!(HpmoeOptions, time_limit_ms) - 8usize];
    [
        "Offset of field: HpmoeOptions::capacity_rows",
    ][::core::mem::offset_of!(HpmoeOptions, capacity_rows) - 16usize];
    [
        "Offset of field: HpmoeOptions::threads",
    ][::core::mem::offset_of!(HpmoeOptions, threads) - 24usize];
    [
        "Offset of field: HpmoeOptions::device",
    ][::core::mem::offset_of!(HpmoeOptions, device) - 28usize];
    [
        "Offset of field: HpmoeOptions::npu",
    ][::core::mem::offset_of!(HpmoeOptions, npu) - 32usize];
    [
        "Offset of field: HpmoeOptions::cancel",
    ][::core::mem::offset_of!(HpmoeOptions, cancel) - 40usize];
    [
        "Offset of field: HpmoeOptions::checks",
    ][::core::mem::offset_of!(HpmoeOptions, checks) - 48usize];
    [
        "Offset of field: HpmoeOptions::attend",
    ][::core::mem::offset_of!(HpmoeOptions, attend) - 56usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct HpmoeJoining {
    pub job: *const ::core::ffi::c_char,
    pub secret: *const ::core::ffi::c_void,
    pub secret_bytes: u64,
    pub time_limit_ms: u64,
    pub let_anyone_join: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeJoining"][::core::mem::size_of::<HpmoeJoining>() - 40usize];
    ["Alignment of HpmoeJoining"][::core::mem::align_of::<HpmoeJoining>() - 8usize];
    [
        "Offset of field: HpmoeJoining::job",
    ][::core::mem::offset_of!(HpmoeJoining, job) - 0usize];
    [
        "Offset of field: HpmoeJoining::secret",
    ][::core::mem::offset_of!(HpmoeJoining, secret) - 8usize];
    [
        "Offset of field: HpmoeJoining::secret_bytes",
    ][::core::mem::offset_of!(HpmoeJoining, secret_bytes) - 16usize];
    [
        "Offset of field: HpmoeJoining::time_limit_ms",
    ][::core::mem::offset_of!(HpmoeJoining, time_limit_ms) - 24usize];
    [
        "Offset of field: HpmoeJoining::let_anyone_join",
    ][::core::mem::offset_of!(HpmoeJoining, let_anyone_join) - 32usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct HpmoeTensor {
    pub data: *mut ::core::ffi::c_void,
    pub rows: u64,
    pub columns: u32,
    pub element: HpmoeElement,
    pub device: HpmoeDevice,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeTensor"][::core::mem::size_of::<HpmoeTensor>() - 32usize];
    ["Alignment of HpmoeTensor"][::core::mem::align_of::<HpmoeTensor>() - 8usize];
    [
        "Offset of field: HpmoeTensor::data",
    ][::core::mem::offset_of!(HpmoeTensor, data) - 0usize];
    [
        "Offset of field: HpmoeTensor::rows",
    ][::core::mem::offset_of!(HpmoeTensor, rows) - 8usize];
    [
        "Offset of field: HpmoeTensor::columns",
    ][::core::mem::offset_of!(HpmoeTensor, columns) - 16usize];
    [
        "Offset of field: HpmoeTensor::element",
    ][::core::mem::offset_of!(HpmoeTensor, element) - 20usize];
    [
        "Offset of field: HpmoeTensor::device",
    ][::core::mem::offset_of!(HpmoeTensor, device) - 24usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct HpmoeMemory {
    pub workspace_bytes: u64,
    pub heap_bytes: u64,
    pub received_rows: u64,
    pub once_rows: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeMemory"][::core::mem::size_of::<HpmoeMemory>() - 32usize];
    ["Alignment of HpmoeMemory"][::core::mem::align_of::<HpmoeMemory>() - 8usize];
    [
        "Offset of field: HpmoeMemory::workspace_bytes",
    ][::core::mem::offset_of!(HpmoeMemory, workspace_bytes) - 0usize];
    [
        "Offset of field: HpmoeMemory::heap_bytes",
    ][::core::mem::offset_of!(HpmoeMemory, heap_bytes) - 8usize];
    [
        "Offset of field: HpmoeMemory::received_rows",
    ][::core::mem::offset_of!(HpmoeMemory, received_rows) - 16usize];
    [
        "Offset of field: HpmoeMemory::once_rows",
    ][::core::mem::offset_of!(HpmoeMemory, once_rows) - 24usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct HpmoePlacement {
    pub experts: u64,
    pub places: u64,
    pub physical_to_logical: *const i32,
    pub shares: *const u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoePlacement"][::core::mem::size_of::<HpmoePlacement>() - 32usize];
    ["Alignment of HpmoePlacement"][::core::mem::align_of::<HpmoePlacement>() - 8usize];
    [
        "Offset of field: HpmoePlacement::experts",
    ][::core::mem::offset_of!(HpmoePlacement, experts) - 0usize];
    [
        "Offset of field: HpmoePlacement::places",
    ][::core::mem::offset_of!(HpmoePlacement, places) - 8usize];
    [
        "Offset of field: HpmoePlacement::physical_to_logical",
    ][::core::mem::offset_of!(HpmoePlacement, physical_to_logical) - 16usize];
    [
        "Offset of field: HpmoePlacement::shares",
    ][::core::mem::offset_of!(HpmoePlacement, shares) - 24usize];
};
unsafe extern "C" {
    pub fn hpmoe_c_abi() -> u32;
}
unsafe extern "C" {
    pub fn hpmoe_describe() -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn hpmoe_memory(
        taskflow: *const ::core::ffi::c_char,
        ranks: u64,
        capacity_rows: u64,
        memory: *mut HpmoeMemory,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_memory_table(
        taskflow: *const ::core::ffi::c_char,
        ranks: u64,
        capacity_rows: u64,
        tokens: u64,
        table: *mut *const ::core::ffi::c_char,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_group_new(
        ranks: u64,
        options: *const HpmoeOptions,
        group: *mut HpmoeGroup,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_group_join(
        rank: u64,
        ranks: u64,
        address: *const ::core::ffi::c_char,
        joining: *const HpmoeJoining,
        options: *const HpmoeOptions,
        group: *mut HpmoeGroup,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_listen(
        address: *const ::core::ffi::c_char,
        joining: *const HpmoeJoining,
        listener: *mut HpmoeListener,
        port: *mut u16,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_group_host(
        listener: HpmoeListener,
        ranks: u64,
        joining: *const HpmoeJoining,
        options: *const HpmoeOptions,
        group: *mut HpmoeGroup,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_listener_free(listener: HpmoeListener) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_group_placed(
        group: HpmoeGroup,
        placement: *const HpmoePlacement,
        placed: *mut HpmoeGroup,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_place(
        ranks: u64,
        experts: u64,
        places: u64,
        loads: *const u64,
        current: *const i32,
        moves: u64,
        physical_to_logical: *mut i32,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_group_free(group: HpmoeGroup) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_launch(
        group: HpmoeGroup,
        taskflow: *const ::core::ffi::c_char,
        ids: *const HpmoeTensor,
        ranks: u64,
        tensors: *const HpmoeTensor,
        arguments: u64,
        streams: *const *mut ::core::ffi::c_void,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_enqueue(
        group: HpmoeGroup,
        taskflow: *const ::core::ffi::c_char,
        ids: *const HpmoeTensor,
        ranks: u64,
        tensors: *const HpmoeTensor,
        arguments: u64,
        streams: *const *mut ::core::ffi::c_void,
        pending: *mut HpmoePending,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_fix(
        group: HpmoeGroup,
        taskflow: *const ::core::ffi::c_char,
        ids: *const HpmoeTensor,
        ranks: u64,
        tensors: *const HpmoeTensor,
        arguments: u64,
        fixed: *mut HpmoeFixed,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_replay(
        fixed: HpmoeFixed,
        ranks: u64,
        tensors: *const HpmoeTensor,
        arguments: u64,
        streams: *const *mut ::core::ffi::c_void,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_capture(
        fixed: HpmoeFixed,
        ranks: u64,
        tensors: *const HpmoeTensor,
        arguments: u64,
        streams: *const *mut ::core::ffi::c_void,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_replayed(fixed: HpmoeFixed, launches: u32) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_fixed_place(
        fixed: HpmoeFixed,
        placement: *const HpmoePlacement,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_fixed_free(fixed: HpmoeFixed) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_wait(pending: HpmoePending) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_reference(
        group: HpmoeGroup,
        taskflow: *const ::core::ffi::c_char,
        ids: *const HpmoeTensor,
        ranks: u64,
        tensors: *const HpmoeTensor,
        arguments: u64,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_refuse(
        group: HpmoeGroup,
        message: *const ::core::ffi::c_char,
    ) -> HpmoeStatus;
}
unsafe extern "C" {
    pub fn hpmoe_last_error() -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn hpmoe_last_report() -> *const ::core::ffi::c_char;
}
