//! The command `hpmoe`, which works on the kernels of a source file without compiling their crate.

mod calibrate;
mod check;
mod diff;
mod doctor;
mod emit;
mod faults;
mod graph;
mod input;
mod memory;
mod options;
mod output;
mod place;
mod placements;
mod plan;
mod progress;
mod report;
mod routing;
mod schedule;
mod simulate;
mod target;
mod tune;

use clap::Parser as _;
use options::{Command, Options};
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match Options::parse().command {
        Command::Check(check) => check::check(&check),
        Command::Graph(graph) => graph::graph(&graph),
        Command::Schedule(schedule) => schedule::schedule(&schedule),
        Command::Emit(emit) => emit::emit(&emit),
        Command::Simulate(simulate) => simulate::simulate(&simulate),
        Command::Report(report) => report::report(&report),
        Command::Memory(memory) => memory::memory(&memory),
        Command::Calibrate(calibrate) => calibrate::calibrate(&calibrate),
        Command::Tune(tune) => tune::tune(&tune),
        Command::Place(place) => place::place(&place),
        Command::Diff(diff) => diff::diff(&diff),
        Command::Doctor(doctor) => doctor::doctor(&doctor.arguments),
        Command::Measure(doctor) => doctor::measure(&doctor.arguments),
    };
    match result {
        Ok(code) => code,
        Err(problem) => {
            output::note(format!("error: {problem}"));
            ExitCode::FAILURE
        }
    }
}
