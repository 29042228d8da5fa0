//! Implementations of the header's functions. [`export!`](crate::export) defines each exported function as one call of
//! a function here.

use std::ffi::{CStr, c_char, c_void};
use std::sync::PoisonError;

use crate::error::{self, Failure, guarded};
use crate::fixed::{Fixed, Replay};
use crate::header::{
    HPMOE_C_ABI, HpmoeFixed, HpmoeGroup, HpmoeJoining, HpmoeListener, HpmoeMemory, HpmoeOptions, HpmoePending,
    HpmoePlacement, HpmoeStatus, HpmoeTensor,
};
use crate::launch::Request;
use crate::library::Library;
use crate::{groups, joining, launches, listeners, memory_table, placement, report};

/// Implements `hpmoe_c_abi` of the C header.
#[must_use]
pub const fn abi() -> u32 {
    HPMOE_C_ABI
}

/// Implements `hpmoe_describe` of the C header.
#[must_use]
pub fn describe(library: &'static Library) -> *const c_char {
    library.description().as_ptr()
}

/// Implements `hpmoe_memory` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn memory(
    library: &'static Library,
    taskflow: *const c_char,
    ranks: u64,
    capacity_rows: u64,
    memory: *mut HpmoeMemory,
) -> HpmoeStatus {
    guarded(|| {
        let invalid = |error: hpmoe_runtime::LaunchError| Failure::invalid(error.to_string());
        if memory.is_null() {
            return Err(Failure::invalid("`memory` is null: pass the address of an HpmoeMemory for the result"));
        }
        // SAFETY: the caller's string.
        let kernel = unsafe { library.kernel(taskflow) }?;
        let ranks = usize::try_from(ranks).unwrap_or(usize::MAX);
        let capacity = (capacity_rows > 0).then_some(capacity_rows as usize);
        let needed = kernel.compiled.memory(ranks, capacity).map_err(invalid)?;
        let found = HpmoeMemory {
            workspace_bytes: needed.workspace as u64,
            heap_bytes: needed.heap as u64,
            received_rows: needed.received_rows as u64,
            once_rows: needed.once_rows as u64,
        };
        // SAFETY: the caller's structure.
        unsafe { memory.write(found) };
        Ok(())
    })
}

/// Implements `hpmoe_memory_table` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn memory_table(
    library: &'static Library,
    taskflow: *const c_char,
    ranks: u64,
    capacity_rows: u64,
    tokens: u64,
    table: *mut *const c_char,
) -> HpmoeStatus {
    guarded(|| {
        if table.is_null() {
            return Err(Failure::invalid("`table` is null: pass the address of a pointer for the result"));
        }
        // SAFETY: the caller's string.
        let kernel = unsafe { library.kernel(taskflow) }?;
        let made = memory_table::make(kernel, ranks, capacity_rows, tokens)?;
        // SAFETY: the caller's variable.
        unsafe { table.write(made) };
        Ok(())
    })
}

/// Implements `hpmoe_group_new` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn group_new(ranks: u64, options: *const HpmoeOptions, group: *mut HpmoeGroup) -> HpmoeStatus {
    guarded(|| {
        if group.is_null() {
            return Err(Failure::invalid("`group` is null: pass the address of an HpmoeGroup for the result"));
        }
        // SAFETY: null, or the caller's structure.
        let options = unsafe { options.as_ref() }.copied().unwrap_or_default();
        // SAFETY: the caller upholds the contract of this function.
        let made = unsafe { groups::make(ranks, &options) }?;
        // SAFETY: the caller's variable.
        unsafe { group.write(made) };
        Ok(())
    })
}

/// Implements `hpmoe_group_join` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn group_join(
    rank: u64,
    ranks: u64,
    address: *const c_char,
    joining: *const HpmoeJoining,
    options: *const HpmoeOptions,
    group: *mut HpmoeGroup,
) -> HpmoeStatus {
    guarded(|| {
        if group.is_null() {
            return Err(Failure::invalid("`group` is null: pass the address of an HpmoeGroup for the result"));
        }
        // SAFETY: null, or the caller's string and structures.
        let (address, joining, options) = unsafe { (address_of(address)?, joining.as_ref(), options.as_ref()) };
        let options = options.copied().unwrap_or_default();
        // SAFETY: the caller upholds the contract of this function.
        let joining = unsafe { joining::joining(&joining.copied().unwrap_or_default(), &options) }?;
        let made = groups::join(rank, ranks, address, &joining, &options)?;
        // SAFETY: the caller's variable.
        unsafe { group.write(made) };
        Ok(())
    })
}

/// Implements `hpmoe_listen` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn listen(
    address: *const c_char,
    joining: *const HpmoeJoining,
    listener: *mut HpmoeListener,
    port: *mut u16,
) -> HpmoeStatus {
    guarded(|| {
        if listener.is_null() || port.is_null() {
            return Err(Failure::invalid("`listener` or `port` is null: pass the addresses of both results"));
        }
        // SAFETY: null, or the caller's string and structure.
        let (address, joining) = unsafe { (address_of(address)?, joining.as_ref()) };
        // SAFETY: the caller upholds the contract of this function.
        let joining = unsafe { joining::joining(&joining.copied().unwrap_or_default(), &HpmoeOptions::default()) }?;
        let (number, found) = listeners::listen(&address, &joining)?;
        // SAFETY: the caller's variables.
        unsafe {
            listener.write(number);
            port.write(found);
        }
        Ok(())
    })
}

/// Implements `hpmoe_group_host` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn group_host(
    listener: HpmoeListener,
    ranks: u64,
    joining: *const HpmoeJoining,
    options: *const HpmoeOptions,
    group: *mut HpmoeGroup,
) -> HpmoeStatus {
    guarded(|| {
        if group.is_null() {
            return Err(Failure::invalid("`group` is null: pass the address of an HpmoeGroup for the result"));
        }
        // SAFETY: null, or the caller's structures.
        let (joining, options) = unsafe { (joining.as_ref(), options.as_ref()) };
        let options = options.copied().unwrap_or_default();
        // SAFETY: the caller upholds the contract of this function.
        let joining = unsafe { joining::joining(&joining.copied().unwrap_or_default(), &options) }?;
        let made = groups::host(listener, ranks, &joining, &options)?;
        // SAFETY: the caller's variable.
        unsafe { group.write(made) };
        Ok(())
    })
}

/// Implements `hpmoe_listener_free` of the C header.
pub fn listener_free(listener: HpmoeListener) -> HpmoeStatus {
    guarded(|| listeners::take(listener).map(drop))
}

/// The address that the caller passed for rank 0.
///
/// # Safety
///
/// `address` is null, or a string that ends with a zero byte.
unsafe fn address_of(address: *const c_char) -> Result<String, Failure> {
    if address.is_null() {
        return Err(Failure::invalid(
            "`address` is null: pass the address that rank 0 listens on, such as 127.0.0.1:28471",
        ));
    }
    // SAFETY: the caller upholds the contract of this function.
    Ok(unsafe { CStr::from_ptr(address) }.to_string_lossy().into_owned())
}

/// Implements `hpmoe_group_free` of the C header.
pub fn group_free(group: HpmoeGroup) -> HpmoeStatus {
    guarded(|| {
        let freed = groups::take(group)?;
        launches::leave(group);
        drop(freed);
        Ok(())
    })
}

/// Implements `hpmoe_group_placed` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn group_placed(
    group: HpmoeGroup,
    placement: *const HpmoePlacement,
    placed: *mut HpmoeGroup,
) -> HpmoeStatus {
    guarded(|| {
        if placed.is_null() {
            return Err(Failure::invalid("`placed` is null: pass the address of an HpmoeGroup for the result"));
        }
        // SAFETY: null, or the caller's structure.
        let placement = unsafe { placement.as_ref() }
            .ok_or_else(|| Failure::invalid("`placement` is null: pass an HpmoePlacement"))?;
        // SAFETY: the caller upholds the contract of this function.
        let made = unsafe { placement::group_placed(group, placement) }?;
        // SAFETY: the caller's variable.
        unsafe { placed.write(made) };
        Ok(())
    })
}

/// Implements `hpmoe_place` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn place(
    ranks: u64,
    experts: u64,
    places: u64,
    loads: *const u64,
    current: *const i32,
    moves: u64,
    physical_to_logical: *mut i32,
) -> HpmoeStatus {
    // SAFETY: the caller upholds the contract of this function.
    guarded(|| unsafe { placement::place((ranks, experts, places), loads, (current, moves), physical_to_logical) })
}

/// Implements `hpmoe_launch` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
#[expect(clippy::too_many_arguments, reason = "those of the header")]
pub unsafe fn launch(
    library: &'static Library,
    group: HpmoeGroup,
    taskflow: *const c_char,
    ids: *const HpmoeTensor,
    ranks: u64,
    tensors: *const HpmoeTensor,
    arguments: u64,
    streams: *const *mut c_void,
) -> HpmoeStatus {
    let request = Request { group, taskflow, ids, ranks, tensors, arguments, streams };
    // SAFETY: the caller upholds the contract of this function.
    guarded(|| unsafe { crate::launch::launch(library, &request) })
}

/// Implements `hpmoe_enqueue` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
#[expect(clippy::too_many_arguments, reason = "those of the header")]
pub unsafe fn enqueue(
    library: &'static Library,
    group: HpmoeGroup,
    taskflow: *const c_char,
    ids: *const HpmoeTensor,
    ranks: u64,
    tensors: *const HpmoeTensor,
    arguments: u64,
    streams: *const *mut c_void,
    pending: *mut HpmoePending,
) -> HpmoeStatus {
    let request = Request { group, taskflow, ids, ranks, tensors, arguments, streams };
    guarded(|| {
        if pending.is_null() {
            return Err(Failure::invalid("`pending` is null: pass the address of an HpmoePending for the result"));
        }
        // SAFETY: the caller upholds the contract of this function.
        let started = unsafe { crate::launch::start(library, &request) }?;
        // SAFETY: the caller's variable.
        unsafe { pending.write(launches::keep_pending(group, started)) };
        Ok(())
    })
}

/// Implements `hpmoe_fix` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
#[expect(clippy::too_many_arguments, reason = "those of the header")]
pub unsafe fn fix(
    library: &'static Library,
    group: HpmoeGroup,
    taskflow: *const c_char,
    ids: *const HpmoeTensor,
    ranks: u64,
    tensors: *const HpmoeTensor,
    arguments: u64,
    fixed: *mut HpmoeFixed,
) -> HpmoeStatus {
    let request = Request { group, taskflow, ids, ranks, tensors, arguments, streams: std::ptr::null() };
    guarded(|| {
        if fixed.is_null() {
            return Err(Failure::invalid("`fixed` is null: pass the address of an HpmoeFixed for the result"));
        }
        // SAFETY: the caller upholds the contract of this function.
        let made = unsafe { Fixed::new(library, &request) }?;
        // SAFETY: the caller's variable.
        unsafe { fixed.write(launches::keep_fixed(group, made)) };
        Ok(())
    })
}

/// Implements `hpmoe_replay` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn replay(
    fixed: HpmoeFixed,
    ranks: u64,
    tensors: *const HpmoeTensor,
    arguments: u64,
    streams: *const *mut c_void,
) -> HpmoeStatus {
    let replay = Replay { ranks, tensors, arguments, streams };
    guarded(|| {
        report::forget();
        let fixed = launches::fixed(fixed)?;
        // SAFETY: the caller upholds the contract of this function.
        unsafe { fixed.lock().unwrap_or_else(PoisonError::into_inner).replay(&replay) }
    })
}

/// Implements `hpmoe_capture` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn capture(
    fixed: HpmoeFixed,
    ranks: u64,
    tensors: *const HpmoeTensor,
    arguments: u64,
    streams: *const *mut c_void,
) -> HpmoeStatus {
    let replay = Replay { ranks, tensors, arguments, streams };
    guarded(|| {
        if streams.is_null() {
            return Err(Failure::invalid("`streams` is null: pass the streams that are being captured"));
        }
        report::forget();
        let fixed = launches::fixed(fixed)?;
        // SAFETY: the caller upholds the contract of this function.
        unsafe { fixed.lock().unwrap_or_else(PoisonError::into_inner).capture(&replay) }
    })
}

/// Implements `hpmoe_replayed` of the C header.
pub fn replayed(fixed: HpmoeFixed, launches: u32) -> HpmoeStatus {
    guarded(|| launches::fixed(fixed)?.lock().unwrap_or_else(PoisonError::into_inner).replayed(launches))
}

/// Implements `hpmoe_fixed_place` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn fixed_place(fixed: HpmoeFixed, placement: *const HpmoePlacement) -> HpmoeStatus {
    guarded(|| {
        // SAFETY: null, or the caller's structure.
        let placement = unsafe { placement.as_ref() }
            .ok_or_else(|| Failure::invalid("`placement` is null: pass an HpmoePlacement"))?;
        // SAFETY: the caller upholds the contract of this function.
        unsafe { placement::fixed_place(fixed, placement) }
    })
}

/// Implements `hpmoe_fixed_free` of the C header.
pub fn fixed_free(fixed: HpmoeFixed) -> HpmoeStatus {
    guarded(|| launches::free(fixed))
}

/// Implements `hpmoe_wait` of the C header.
pub fn wait(pending: HpmoePending) -> HpmoeStatus {
    guarded(|| launches::wait(pending))
}

/// Implements `hpmoe_reference` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn reference(
    library: &'static Library,
    group: HpmoeGroup,
    taskflow: *const c_char,
    ids: *const HpmoeTensor,
    ranks: u64,
    tensors: *const HpmoeTensor,
    arguments: u64,
) -> HpmoeStatus {
    let request = Request { group, taskflow, ids, ranks, tensors, arguments, streams: std::ptr::null() };
    // SAFETY: the caller upholds the contract of this function.
    guarded(|| unsafe { crate::launch::reference(library, &request) })
}

/// Implements `hpmoe_refuse` of the C header.
///
/// # Safety
///
/// The conditions in the header apply.
pub unsafe fn refuse(group: HpmoeGroup, message: *const c_char) -> HpmoeStatus {
    guarded(|| {
        // SAFETY: the caller's string, if there is one.
        let message = (!message.is_null()).then(|| unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned());
        crate::launch::refuse(group, message.unwrap_or_else(|| "it has not said why".to_owned()))
    })
}

/// Implements `hpmoe_last_error` of the C header.
#[must_use]
pub fn last_error() -> *const c_char {
    error::last_error()
}

/// Implements `hpmoe_last_report` of the C header.
#[must_use]
pub fn last_report() -> *const c_char {
    report::last_report()
}
