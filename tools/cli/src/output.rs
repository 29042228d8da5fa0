//! Output of the command to stdout and stderr.
//!
//! A reader that needs no more output closes its end of the pipe (`hpmoe graph FILE.rs | head`). That is not an error:
//! the command finishes its work, including files, and writes nothing more to the pipe. Control characters in text from
//! files are escaped.

use hpmoe_kernels::printable::printable_lines;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// Writes a text to stdout.
pub(crate) fn text(text: &str) -> Result<(), String> {
    let (text, mut stdout) = (printable_lines(text), io::stdout().lock());
    unless_closed(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
        .map_err(|error| format!("can't write to standard output: {error}"))
}

/// Writes a line to stdout.
pub(crate) fn line(line: impl Display) -> Result<(), String> {
    text(&format!("{line}\n"))
}

/// Writes a line to stderr, or nothing if stderr is closed.
pub(crate) fn note(note: impl Display) {
    // A failure to write to stderr can't be reported anywhere.
    let _ = writeln!(io::stderr().lock(), "{}", printable_lines(&note.to_string()));
}

fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_not_an_error_and_a_full_disk_is() {
        assert!(unless_closed(Err(ErrorKind::BrokenPipe.into())).is_ok());
        assert!(unless_closed(Err(ErrorKind::StorageFull.into())).is_err());
    }
}
