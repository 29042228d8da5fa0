//! The main function of every example.

use clap::Parser;
use hpmoe_runtime::Place;
use std::process::ExitCode;

/// Reads the command line and runs; fails where what came of it is wrong, or nothing did.
pub fn main<O: Parser>(run: impl FnOnce(&O) -> Result<bool, String>) -> ExitCode {
    match run(&O::parse()) {
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
