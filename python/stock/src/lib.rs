//! The stock layers of the Python package: `hpmoe.moe(..)` builds this crate with the requested sizes.

#![forbid(unsafe_code)]

#[cfg(gpt_oss)]
pub mod biased;
#[cfg(all(swiglu, not(in_chunks)))]
pub mod joined;
#[cfg(all(swiglu, in_chunks))]
#[path = "joined_in_chunks.rs"]
pub mod joined;
#[cfg(all(swiglu, not(in_chunks)))]
pub mod separate;
#[cfg(all(swiglu, in_chunks))]
#[path = "separate_in_chunks.rs"]
pub mod separate;

hpmoe_c::export!();

#[cfg(test)]
mod tests;
