//! The system's queue of connections that have not been accepted.

use std::net::TcpListener;

/// Makes the queue of a listener as long as the system allows: in one of 128, which the standard library asks for, ranks that come in a crowd
/// wait a second and more for their second try.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a call of the system")]
pub(in super::super) fn lengthen(listener: &TcpListener) {
    use std::os::fd::AsRawFd as _;
    /// The default limit of Linux, `net.core.somaxconn`.
    const LENGTH: i32 = 4096;
    // SAFETY: takes a descriptor that is open, and a number. If the system refuses, the queue stays as it was.
    let _ = unsafe { libc::listen(listener.as_raw_fd(), LENGTH) };
}

#[cfg(not(target_os = "linux"))]
pub(in super::super) fn lengthen(_listener: &TcpListener) {}
