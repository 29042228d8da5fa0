//! Standard output of the examples.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _, stdout};

/// Prints lines. A reader that stops, such as `head`, is not an error.
///
/// # Errors
///
/// If the lines can't be written, for instance to a full disk.
pub fn print(lines: impl Display) -> Result<(), String> {
    match stdout().write_all(format!("{lines}\n").as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("can't write to standard output: {error}")),
        _ => Ok(()),
    }
}
