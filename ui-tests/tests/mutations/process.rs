//! Processes that run mutants: this program again.

use crate::choices::CHOSEN;
use crate::job::Job;
use crate::mutant::{ARGUMENT, FOUND, HASTY, NOTE, NOTED, SURVIVED};
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A longer process is a failure of this tool: a mutant gives up waiting, and is stopped if it computes for ever.
const LIMIT: Duration = Duration::from_secs(1800);

/// The outcome of a mutant.
#[derive(Clone, PartialEq, Eq)]
pub enum Verdict {
    Found(String),
    Survived,
    /// No run reaches it, or it changes no kernel's code.
    Unreached,
    /// It does not compile.
    Refused(String),
    /// This tool or the runtime failed.
    Fault(String),
}

/// A run of an unchanged kernel.
pub struct Noted {
    pub milliseconds: u64,
    /// Points that it reached.
    pub points: BTreeSet<usize>,
}

/// Runs a mutant: the mutation with this number, or the libraries of the jobs.
pub fn judge(jobs: &[Job], number: Option<usize>, hasty: bool) -> Verdict {
    let mut command = itself();
    command.arg(if hasty { HASTY } else { ARGUMENT }).args(jobs.iter().map(Job::text));
    if let Some(number) = number {
        command.env(CHOSEN, number.to_string());
    }
    match output(command) {
        Ok(text) if text.contains(SURVIVED) => Verdict::Survived,
        Ok(text) => match text.lines().find_map(|line| line.strip_prefix(FOUND)) {
            Some(found) => Verdict::Found(found.to_owned()),
            None => Verdict::Fault(format!("a mutant's process ended without a verdict: {text}")),
        },
        Err(Failure::Crash(text)) => Verdict::Found(format!("crash: {text}")),
        Err(Failure::Fault(text)) => Verdict::Fault(text),
    }
}

/// Runs an unchanged kernel.
pub fn note(kernel: &str, library: &Path, points: usize, rows: usize) -> Result<Vec<Noted>, String> {
    let mut command = itself();
    command.args([NOTE, kernel]).arg(library).args([points.to_string(), rows.to_string()]);
    let text = output(command).map_err(|failure| match failure {
        Failure::Crash(text) | Failure::Fault(text) => format!("{kernel}: {text}"),
    })?;
    if let Some(found) = text.lines().find_map(|line| line.strip_prefix(FOUND)) {
        return Err(found.to_owned());
    }
    let noted = |line: &str| {
        let mut numbers = line.strip_prefix(NOTED)?.split(' ').map(|number| number.parse().expect("a number"));
        Some(Noted { milliseconds: numbers.next()? as u64, points: numbers.collect() })
    };
    Ok(text.lines().filter_map(noted).collect())
}

enum Failure {
    /// It was killed by a signal.
    Crash(String),
    /// It ended in a way that no mutant does: a panic of this tool.
    Fault(String),
}

fn itself() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the path of this program"));
    command.env_remove(CHOSEN).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// How a process ended; `None` if it was stopped because it ran longer than `limit`.
pub fn ended(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn output(mut command: Command) -> Result<String, Failure> {
    let mut child = command.spawn().expect("this program can be started");
    let (mut out, mut err) = (child.stdout.take().expect("it is piped"), child.stderr.take().expect("it is piped"));
    let (mut text, mut errors) = (String::new(), Vec::new());
    let status = std::thread::scope(|scope| {
        scope.spawn(|| out.read_to_string(&mut text));
        scope.spawn(|| err.read_to_end(&mut errors));
        ended(&mut child, LIMIT)
    });
    let errors = String::from_utf8_lossy(&errors);
    match status {
        None => Err(Failure::Fault(format!("a process still runs after {LIMIT:?}"))),
        Some(status) if status.success() => Ok(text),
        Some(status) if status.code().is_none() => Err(Failure::Crash(status.to_string())),
        Some(status) => Err(Failure::Fault(format!("a process ended with {status}: {}", errors.trim_end()))),
    }
}
