//! The main function of every example.

use super::options::{CommandLine, help, parse};
use super::output::print;
use hpmoe_runtime::{Place, end_npus};
use std::process::ExitCode;

/// The exit code of a command line that can't be read.
const USAGE: u8 = 2;

/// Reads the command line and runs; fails if `run` returns false or an error.
pub fn main<O: CommandLine>(run: impl FnOnce(&O) -> Result<bool, String>) -> ExitCode {
    let done = match parse::<O>(std::env::args_os().skip(1)) {
        Ok(Some(options)) => run(&options),
        Ok(None) => print(help::<O>()).map(|()| true),
        Err(problem) => {
            eprintln!("error: {problem}\nhelp: --help lists the options");
            return ExitCode::from(USAGE);
        }
    };
    // What ran on NPUs was dropped by `run`.
    if let Err(error) = end_npus() {
        eprintln!("warning: {error}");
    }
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            match Place::from_launcher() {
                Ok(Some(Place { rank, ranks, .. })) => eprintln!("error: rank {rank} of {ranks}: {problem}"),
                Ok(None) | Err(_) => eprintln!("error: {problem}"),
            }
            ExitCode::FAILURE
        }
    }
}
