//! Faults of target files and of files of tuned schedules.

use std::fmt;

/// A fault of a file, with its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFault {
    /// Line of the file, from 1; 0 if the fault has no line in a file.
    pub line: usize,
    /// The fault as one sentence, without a full stop.
    pub text: String,
}

/// Returns `read` if there are no faults, and otherwise all faults by line.
pub(crate) fn without_faults<T>(read: T, faults: Vec<FileFault>) -> Result<T, Vec<FileFault>> {
    if faults.is_empty() { Ok(read) } else { Err(by_line(faults)) }
}

fn by_line(mut faults: Vec<FileFault>) -> Vec<FileFault> {
    faults.sort_by_key(|fault| fault.line);
    faults
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
