//! Memory that initially contains poison and uses physical memory only for touched pages; and memory that processes
//! share.

// Miri knows no files without names.
#[cfg(all(target_os = "linux", not(miri)))]
mod linux;
// Tests compile it on every system, so that its lints are seen.
#[cfg(any(not(target_os = "linux"), miri, test))]
#[cfg_attr(all(target_os = "linux", not(miri)), expect(dead_code, reason = "for other systems"))]
mod other;
#[cfg(all(target_os = "linux", not(miri)))]
mod shared;
#[cfg(all(target_os = "linux", not(miri)))]
mod system;

#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use linux::Mapping;
#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) use other::{Mapping, SharedMapping};
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use shared::SharedMapping;
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use system::nameless_file;

/// The reason why memory could not be mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoMapping {
    /// The system has no copy-on-write mappings of poison: the memory must be allocated and filled.
    Unsupported,
    /// There is not enough memory or address space.
    #[cfg_attr(any(not(target_os = "linux"), miri), expect(dead_code, reason = "nothing is mapped there"))]
    NoRoom,
}
