//! The system's queue of connections that have not been accepted yet.

use std::net::TcpListener;

/// Makes a listener's queue as long as the system allows. The standard library asks for 128 connections. If more ranks connect at once,
/// their connections are retried only after a second or more.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a call of the system")]
pub(in super::super) fn lengthen(listener: &TcpListener) {
    use std::os::fd::AsRawFd as _;
    /// Length of the queue: Linux's default limit, `net.core.somaxconn`.
    const LENGTH: i32 = 4096;
    // SAFETY: takes a descriptor that is open, and a number. If the system refuses, the queue stays as it was.
    let _ = unsafe { libc::listen(listener.as_raw_fd(), LENGTH) };
}

#[cfg(not(target_os = "linux"))]
pub(in super::super) fn lengthen(_listener: &TcpListener) {}
