//! Reads and writes whose deadline covers all their system calls: a peer that sends or takes single bytes does not extend it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::deadline::rest;
use crate::bootstrap::Cancel;

/// Time limit for a peer to receive one piece of up to [`PIECE`] bytes.
const SENDING: Duration = Duration::from_secs(10);

/// Maximum number of bytes that are sent under one deadline. With [`SENDING`], a peer must take 1 MiB per second.
const PIECE: usize = 10 << 20;

/// A connection that is read until a deadline, or until the read is cancelled.
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
                Err(error) if can_go_on(&error) => {}
                other => return other,
            }
        }
    }
}

/// Whether a call returned early for a harmless reason: its own short timeout passed, or a signal interrupted it.
fn can_go_on(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// A connection to write to. The peer must take each piece within [`SENDING`].
pub(super) struct Urgent<'a>(pub(super) &'a TcpStream);

impl Write for Urgent<'_> {
    /// Sends the next piece as a whole: up to [`PIECE`] bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        let deadline = Instant::now() + SENDING;
        let mut left = piece;
        while !left.is_empty() {
            let Some(rest) = rest(deadline) else { return Err(ErrorKind::TimedOut.into()) };
            self.0.set_write_timeout(Some(rest))?;
            match (&mut &*self.0).write(left) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => left = &left[sent..],
                Err(error) if can_go_on(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
