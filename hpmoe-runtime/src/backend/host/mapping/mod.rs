//! Memory of any size that reads as poison and costs only what is touched, and memory that processes share.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod shared;
#[cfg(target_os = "linux")]
mod system;

#[cfg(target_os = "linux")]
pub(crate) use linux::Mapping;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{Mapping, SharedMapping};
#[cfg(target_os = "linux")]
pub(crate) use shared::SharedMapping;

/// Why there is no mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoMapping {
    /// This system can't: memory must be allocated and filled.
    Unsupported,
    /// There is not enough room.
    NoRoom,
}
