//! `hpmoe doctor` and `hpmoe measure`, which run the separate program `hpmoe-doctor`.

use hpmoe_kernels::printable::printable_path;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Name of the program. One in the folder of this program is preferred to one in `PATH`.
const PROGRAM: &str = "hpmoe-doctor";

/// `hpmoe measure`.
pub(crate) fn measure(arguments: &[OsString]) -> Result<ExitCode, String> {
    doctor(&[&["--measure".into()], arguments].concat())
}

pub(crate) fn doctor(arguments: &[OsString]) -> Result<ExitCode, String> {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
    let program = beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(PROGRAM));
    let mut command = Command::new(&program);
    command.args(arguments);
    run(command).map_err(|error| {
        format!(
            "can't start `{}`: {error}; it is a separate package, so build it first: cargo build --release -p {PROGRAM}",
            printable_path(&program)
        )
    })
}

/// Replaces this program by the given one, so that signals to this process reach it.
#[cfg(unix)]
fn run(mut command: Command) -> std::io::Result<ExitCode> {
    Err(std::os::unix::process::CommandExt::exec(&mut command))
}

#[cfg(not(unix))]
fn run(mut command: Command) -> std::io::Result<ExitCode> {
    let code = command.status()?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
