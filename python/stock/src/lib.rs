//! The layers that the Python package brings along: `hpmoe.moe(..)` builds this crate with the sizes that it is asked for.

#![forbid(unsafe_code)]

#[cfg(gpt_oss)]
pub mod biased;
#[cfg(swiglu)]
pub mod joined;
#[cfg(swiglu)]
pub mod separate;

hpmoe_c::export!();

#[cfg(test)]
mod tests;
