//! The types of the C header.

// Made by bindgen; `tests/all/bindings.rs` of `hpmoe-kernels` says how to renew it.
#[rustfmt::skip]
#[expect(missing_docs, clippy::allow_attributes_without_reason, reason = "described in the C header, as bindgen writes it")]
mod bindings;

pub use bindings::*;

impl Default for HpmoeOptions {
    fn default() -> Self {
        let cancel = std::ptr::null();
        let (device, checks) = (HPMOE_CPU, HPMOE_CHECKS_BY_ENVIRONMENT);
        Self { seed: 0, time_limit_ms: 0, capacity_rows: 0, threads: 0, device, npu: 0, cancel, checks, attend: None }
    }
}

impl Default for HpmoeJoining {
    fn default() -> Self {
        let (job, secret) = (std::ptr::null(), std::ptr::null());
        Self { job, secret, secret_bytes: 0, time_limit_ms: 0, let_anyone_join: 0 }
    }
}
