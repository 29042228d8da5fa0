//! Reads from a connection under one deadline for any number of reads.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::time::Instant;

use super::links::rest;
use crate::bootstrap::Cancel;

/// A connection that is read until a deadline, or until the read is cancelled. A peer that sends a byte now and then gains no
/// time.
pub(super) struct Patient<'a> {
    pub(super) stream: &'a TcpStream,
    pub(super) deadline: Instant,
    pub(super) cancel: &'a Cancel,
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(rest) = rest(self.deadline) else { return Err(ErrorKind::TimedOut.into()) };
            if self.cancel.is_cancelled() {
                return Err(io::Error::other("cancelled"));
            }
            self.stream.set_read_timeout(Some(rest.min(Cancel::PAUSE)))?;
            match (&mut &*self.stream).read(buffer) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                }
                other => return other,
            }
        }
    }
}
