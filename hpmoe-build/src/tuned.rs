//! The file beside a kernel's source that keeps what `hpmoe tune` has found.

use hpmoe_codegen::target::Fault;
use hpmoe_codegen::tuned::Tuned;
use std::path::{Path, PathBuf};

/// The file for the kernels of a source file: `src/moe.tuned.toml` for `src/moe.rs`.
#[must_use]
pub fn tuned_file(source: &Path) -> PathBuf {
    source.with_extension("tuned.toml")
}

/// Reads it; `None` where there is none.
///
/// # Errors
///
/// What is wrong with it, line by line.
pub fn read_tuned(file: &Path) -> Result<Option<Tuned>, String> {
    let name = file.display();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("can't read `{name}`: {error}")),
    };
    let words = |faults: Vec<Fault>| {
        let lines: Vec<String> = faults.iter().map(|fault| format!("`{name}`, {fault}")).collect();
        format!("{}\nhelp: correct it, or delete it and run `hpmoe tune` again", lines.join("\n       "))
    };
    Tuned::read(&text).map(Some).map_err(words)
}
