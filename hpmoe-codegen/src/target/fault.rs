//! Faults of target files and of files of tuned schedules.

use std::fmt;

/// A fault of a file, with its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFault {
    /// Line of the file, from 1; 0 for a fault that is not in a file.
    pub line: usize,
    /// One sentence without a full stop.
    pub text: String,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.text),
            line => write!(f, "line {line}: {}", self.text),
        }
    }
}

impl std::error::Error for FileFault {}
