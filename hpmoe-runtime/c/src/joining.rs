//! Converts a caller's `HpmoeJoining`: the settings that decide who may join a group of processes.

use std::ffi::CStr;
use std::slice;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use hpmoe_runtime::{BootstrapError, Cancel, Joining, Secret};

use crate::error::Failure;
use crate::header::{HpmoeJoining, HpmoeOptions};

/// The settings for joining: those that the caller sets, and otherwise those of the environment.
///
/// # Safety
///
/// Both structures must satisfy the conditions in the header.
pub(crate) unsafe fn joining(said: &HpmoeJoining, options: &HpmoeOptions) -> Result<Joining, Failure> {
    let HpmoeJoining { job, secret, secret_bytes, time_limit_ms, let_anyone_join } = *said;
    let mut joining = Joining::from_environment().map_err(invalid)?;
    if !job.is_null() {
        // SAFETY: the caller's string.
        joining = joining.job(unsafe { CStr::from_ptr(job) }.to_string_lossy());
    }
    if !secret.is_null() {
        // SAFETY: the caller's bytes.
        let bytes = unsafe { slice::from_raw_parts(secret.cast::<u8>(), secret_bytes as usize) };
        joining = joining.secret(Secret::new(bytes).map_err(invalid)?);
    }
    if time_limit_ms > 0 {
        joining = joining.limit(Duration::from_millis(time_limit_ms));
    }
    joining = match let_anyone_join {
        0 => joining,
        1 => joining.let_anyone_join(),
        other => return Err(Failure::invalid(format!("`let_anyone_join` is {other}, but should be 0 or 1"))),
    };
    // SAFETY: the caller upholds the contract of this function.
    Ok(match unsafe { cancel(options) } {
        Some(cancel) => joining.cancelled_by(&cancel),
        None => joining,
    })
}

/// A handle for the caller's `cancel` number, if there is one.
///
/// # Safety
///
/// The conditions in the header apply.
pub(crate) unsafe fn cancel(options: &HpmoeOptions) -> Option<Cancel> {
    let number = options.cancel.cast_mut();
    // SAFETY: the caller's number, which lives as long as the process and is only written as a whole.
    (!number.is_null()).then(|| Cancel::from_static(unsafe { AtomicU32::from_ptr(number) }))
}

/// Makes a failure of an error in the settings.
pub(crate) fn invalid(error: BootstrapError) -> Failure {
    Failure::invalid(error.to_string())
}
