//! The system calls that map memory. Only this module uses `libc`.
//!
//! `rustix` wraps the same calls in safe types. This module uses `libc` because it compiles in a quarter of the time,
//! and every clean build of a user's package waits for it.
#![expect(unsafe_code, reason = "calls of the system")]

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::ptr::{NonNull, null_mut};

use libc::{
    F_ADD_SEALS, F_GET_SEALS, MAP_ANONYMOUS, MAP_FAILED, MAP_NORESERVE, MAP_PRIVATE, MFD_ALLOW_SEALING, MFD_CLOEXEC,
    PROT_NONE, PROT_READ, PROT_WRITE, c_int,
};

/// A file in memory that has no path and can be sealed. The system lists it under `label`.
pub(crate) fn nameless_file(label: &CStr) -> io::Result<File> {
    // SAFETY: `label` ends with a zero, and the descriptor that comes back belongs to nothing else.
    unsafe {
        let descriptor = succeeded(libc::memfd_create(label.as_ptr(), MFD_CLOEXEC | MFD_ALLOW_SEALING))?;
        Ok(File::from_raw_fd(descriptor))
    }
}

/// Adds `seals` (`F_SEAL_…`) to a file. Seals can't be removed.
pub(super) fn add_seals(file: &File, seals: c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the command takes a number.
    succeeded(unsafe { libc::fcntl(file.as_raw_fd(), F_ADD_SEALS, seals) }).map(drop)
}

/// Returns the seals of a file (`F_SEAL_…`).
pub(super) fn seals(file: &File) -> io::Result<c_int> {
    // SAFETY: the descriptor is open, and the command takes nothing.
    succeeded(unsafe { libc::fcntl(file.as_raw_fd(), F_GET_SEALS) })
}

/// Maps `bytes` bytes for reading and writing, from the start of `file`, or without a file (`MAP_ANONYMOUS`).
///
/// # Safety
///
/// With `MAP_FIXED`, nothing may refer to the `bytes` bytes at `at`. The file must not shrink while it is mapped.
pub(super) unsafe fn map(at: *mut u8, bytes: usize, flags: c_int, file: Option<&File>) -> io::Result<NonNull<u8>> {
    // SAFETY: as the caller promises.
    unsafe { map_as(PROT_READ | PROT_WRITE, at, bytes, flags, file) }
}

/// Reserves `bytes` bytes of address space that can be neither read nor written.
pub(super) fn reserve(bytes: usize) -> io::Result<NonNull<u8>> {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // SAFETY: the system chooses the addresses, so nothing that exists is replaced.
    unsafe { map_as(PROT_NONE, null_mut(), bytes, flags, None) }
}

/// Like [`map`], with the protection `protection` (`PROT_…`).
///
/// # Safety
///
/// The conditions of [`map`].
unsafe fn map_as(
    protection: c_int,
    at: *mut u8,
    bytes: usize,
    flags: c_int,
    file: Option<&File>,
) -> io::Result<NonNull<u8>> {
    let descriptor = file.map_or(-1, |file| file.as_raw_fd());
    // SAFETY: as the caller promises.
    let start = unsafe { libc::mmap(at.cast(), bytes, protection, flags, descriptor, 0) };
    if start == MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Unmaps `bytes` bytes from `start` on.
///
/// # Safety
///
/// Nothing may refer to these bytes.
pub(super) unsafe fn unmap(start: NonNull<u8>, bytes: usize) -> io::Result<()> {
    // SAFETY: as the caller promises.
    succeeded(unsafe { libc::munmap(start.as_ptr().cast(), bytes) }).map(drop)
}

fn succeeded(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
