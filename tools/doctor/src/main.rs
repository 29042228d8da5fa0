//! `hpmoe-doctor`: checks hpmoe's assumptions about NPUs, probe by probe.
//!
//! A probe is a small kernel with a known answer. Probes run in the order of their dependencies, on one NPU or on several. The answer of a
//! probe says that the assumption holds, that it fails, or that the probe was not run. The kernel is compiled when the program runs, by the
//! same command lines as in a build for NPUs, so an error of the compiler is an answer, too.

#![deny(unsafe_code)]

mod answer;
mod cores;
mod examination;
mod heap;
mod kernel;
mod launch;
mod measure;
mod no_npu;
mod options;
mod peers;
mod probes;
mod processes;
mod request;
mod team;
mod words;

use clap::Parser as _;
use examination::Examination;
use hpmoe_runtime::end_npus;
use hpmoe_runtime::printable::printable_lines;
use options::Options;
use std::process::ExitCode;

fn main() -> ExitCode {
    let examined = examine(&Options::parse());
    if let Err(error) = end_npus() {
        eprintln!("warning: {}", printable_lines(&error.to_string()));
    }
    match examined {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {}", printable_lines(&problem));
            ExitCode::from(2)
        }
    }
}

/// Runs all probes, or the steps without an NPU. Returns true if nothing failed.
fn examine(options: &Options) -> Result<bool, String> {
    if let Some(file) = &options.compile {
        return no_npu::compile(file, options);
    }
    if options.no_npu {
        return no_npu::examine(options);
    }
    probes::refuse_unknown(&options.skip)?;
    let (team, started) = processes::start(options)?;
    let mut examination = Examination::new(team, options);
    let answers = probes::answers(&mut examination);
    if examination.team.tells() {
        words::summary(&answers, &examination, options.json);
    }
    let healthy = answers.iter().all(|(_, answer)| !answer.is_failure());
    let measured = match options.measure {
        true => measure::measure(&mut examination, options, &answers),
        false => Ok(()),
    };
    let gone = examination.gone.take();
    examination.end();
    if let Some(gone) = gone {
        return Err(gone);
    }
    started.wait()?;
    measured.map(|()| healthy)
}
