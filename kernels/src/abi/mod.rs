//! The interface between host and kernel, as `include/hpmoe/abi.h` of the device library describes it.

// Made by bindgen; `tests/all/bindings.rs` says how to renew it.
#[rustfmt::skip]
#[expect(missing_docs, clippy::allow_attributes_without_reason, reason = "described in the C header, as bindgen writes it")]
mod bindings;
mod little_endian;

pub use bindings::*;
