//! The interface between host and kernel: bindings of the device library's `include/hpmoe/abi.h`.

// Made by bindgen; `tests/all/bindings.rs` says how to renew it.
#[rustfmt::skip]
#[expect(missing_docs, clippy::allow_attributes_without_reason, reason = "described in the C header, as bindgen writes it")]
mod bindings;
mod little_endian;

pub use bindings::*;
