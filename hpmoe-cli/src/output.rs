//! What the command prints on standard output. Who reads it may stop: then there is nothing left to say, and the command ends as if
//! all had been read. Any other fault of writing is told.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write as _};
use std::process::exit;

/// Prints a text, and ends the process where that can't be done.
pub(crate) fn print(text: Arguments<'_>) {
    let mut stdout = std::io::stdout().lock();
    if let Err(error) = stdout.write_fmt(text).and_then(|()| stdout.flush()) {
        if error.kind() == ErrorKind::BrokenPipe {
            exit(0);
        }
        eprintln!("error: can't write to standard output: {error}");
        exit(1);
    }
}

/// Prints a text.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::print(format_args!($($text)*)) };
}

/// Prints a text and the end of its line.
macro_rules! say_line {
    ($($text:tt)*) => { $crate::output::print(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use {say, say_line};
