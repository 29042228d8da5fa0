//! A mutant in its own process: it may crash, or never end.

use crate::job::Job;
use crate::kernels::{ALL, Kernel};
use crate::pieces::halves;
use crate::rows::Row;
use crate::watch::Watch;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{CompiledKernel, CoreReport, InjectedFault};
use libloading::Library;
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

/// First argument of a process that runs a mutant; jobs follow.
pub const ARGUMENT: &str = "--mutant";
/// Like the argument above, for a process that treats a long wait as a hang, even on a busy machine.
pub const HASTY: &str = "--hasty-mutant";
/// First argument of a process that records the points that a kernel reaches. The kernel's name, its library, the
/// number of points and the number of rows follow.
pub const NOTE: &str = "--note";
/// Start of a verdict's line.
pub const FOUND: &str = "found: ";
pub const SURVIVED: &str = "survived";
/// Start of the line of a row of [`NOTE`]; milliseconds and points follow.
pub const NOTED: &str = "noted: ";

/// How long a mutant may wait on an idle machine: longer than an unchanged kernel does. A mutant that waits longer is
/// run again.
const LIMIT: Duration = Duration::from_secs(2);
/// The limit on a busy machine.
const LONG_LIMIT: Duration = Duration::from_secs(10);
/// The limit for an unchanged kernel, even on a busy machine.
const WHOLE_LIMIT: Duration = Duration::from_secs(120);
/// Time limits that end waits early, one row after the other.
const HURRIES: [Duration; 4] =
    [Duration::ZERO, Duration::from_micros(100), Duration::from_micros(500), Duration::from_millis(3)];
/// One in this many of a core's first waits is given up although it has ended, in one launch after the other.
const GIVEN_UP: [u32; 3] = [3, 10, 40];

/// Runs jobs until one fails, and prints the verdict.
pub fn run(jobs: &[String], hasty: bool) {
    let limits: &[Duration] = if hasty { &[LIMIT] } else { &[LIMIT, LONG_LIMIT] };
    let jobs: Vec<Job> = jobs.iter().map(|text| Job::read(text).expect("the sweep names jobs")).collect();
    let kernels: Vec<&Kernel> = jobs.iter().map(|job| kernel(&job.kernel)).collect();
    let rows: Vec<Vec<Row>> = kernels.iter().map(|kernel| kernel.rows()).collect();
    let mut mutants: Vec<Option<Mutant>> = jobs.iter().map(|_| None).collect();
    // Whether a row of a kernel failed; prints the reason.
    let mut is_wrong = |at: usize, row: usize, under: &str, problem: &dyn Fn(&Mutant, &Row) -> Option<String>| {
        let (job, row) = (&jobs[at], &rows[at][row]);
        let mutant = mutants[at].get_or_insert_with(|| mutant(kernels[at], library(&job.library)));
        let told =
            |problem: &str| format!("{FOUND}{problem} [{}, seed {}, {} ranks{under}]", job.kernel, row.seed, row.ranks);
        let watch = Watch::start(job.milliseconds, told("endless: computes for ever, and waits for nothing"));
        let found = problem(mutant, row);
        if let Some(problem) = &found {
            println!("{}", told(problem));
        }
        drop(watch);
        found.is_some()
    };
    let most = jobs.iter().map(|job| job.rows.len()).max().unwrap_or(0);
    // One row of each kernel, then the next row of each: one kernel may find at once a fault that another one can't
    // find.
    for turn in 0..most {
        for (at, job) in jobs.iter().enumerate() {
            let Some(&row) = job.rows.get(turn) else { continue };
            if is_wrong(at, row, "", &|mutant, row| problem(kernels[at], mutant, row, limits)) {
                return;
            }
        }
    }
    // Waits that are given up: a core that continues breaks a rule.
    for (at, job) in jobs.iter().enumerate().filter(|_| !hasty) {
        for (&row, limit) in job.rows.iter().zip(HURRIES.into_iter().cycle()) {
            let broken = |mutant: &Mutant, row: &Row| broken_rule(launch(kernels[at], mutant, row, group(row, limit)));
            if is_wrong(at, row, &format!(", limit {limit:?}"), &broken) {
                return;
            }
            for first in GIVEN_UP {
                let broken = |mutant: &Mutant, row: &Row| broken_rule(given_up(kernels[at], mutant, row, first));
                if is_wrong(at, row, &format!(", one of {first} waits given up"), &broken) {
                    return;
                }
            }
        }
    }
    println!("{SURVIVED}");
}

/// Runs all rows of an unchanged kernel. Prints the time of each row and the points that it reached.
pub fn note(name: &str, path: &str, points: usize, rows: usize) {
    let kernel = kernel(name);
    let library = library(Path::new(path));
    let reached = reached(library, points);
    let numbers = || (0..points).filter(|point| reached[*point].get() != 0).map(|point| format!(" {point}")).collect();
    // The points in the initialisation of constants.
    let at_load: String = numbers();
    let whole = mutant(kernel, library);
    for row in kernel.rows().into_iter().take(rows) {
        reached.iter().for_each(|point| point.set(0));
        let begin = Watch::milliseconds();
        if let Some(problem) = problem(kernel, &whole, &row, &[WHOLE_LIMIT]) {
            println!("{FOUND}{problem} [{name}, seed {}, {} ranks]", row.seed, row.ranks);
            return;
        }
        println!("{NOTED}{}{at_load}{}", Watch::milliseconds() - begin, numbers());
        for first in GIVEN_UP {
            let problem = given_up(kernel, &whole, &row, first).filter(|problem| problem.kind != ProblemKind::Wait);
            if let Some(Problem { text, .. }) = problem {
                println!(
                    "{FOUND}{text} [{name}, seed {}, {} ranks, one of {first} waits given up]",
                    row.seed, row.ranks
                );
                return;
            }
        }
    }
    println!("{SURVIVED}");
}

fn kernel(name: &str) -> &'static Kernel {
    ALL.iter().find(|known| known.name == name).expect("the sweep names one of its kernels")
}

/// A library, which stays loaded.
#[expect(unsafe_code, reason = "mutants come as libraries")]
fn library(path: &Path) -> &'static Library {
    // SAFETY: when it is loaded, the library computes constants and reads the environment, which nothing changes.
    let library = unsafe { Library::new(path).expect("the mutant's library can be loaded") };
    Box::leak(Box::new(library))
}

/// A kernel with a library's code.
struct Mutant {
    compiled: CompiledKernel,
    halves: &'static Cell<bool>,
}

/// The kernel with the library's entry point.
#[expect(unsafe_code, reason = "mutants come as libraries")]
fn mutant(kernel: &Kernel, library: &'static Library) -> Mutant {
    let symbol = symbol(kernel.text);
    // SAFETY: its kernel was generated for these tables, but for one change; that this may break anything is why it has a process of
    // its own. The library is never closed.
    let compiled = unsafe {
        let entry = *library.get(symbol.as_bytes()).expect("the mutant has the kernel's symbol");
        CompiledKernel::new(entry, *kernel.compiled.tables())
    };
    Mutant { compiled, halves: halves(library) }
}

/// The points that the library records. Cores of one rank are fibers of a thread, and all threads have ended when this
/// is read.
#[expect(unsafe_code, reason = "mutants come as libraries")]
fn reached(library: &'static Library, points: usize) -> &'static [Cell<u8>] {
    // SAFETY: the symbol is an array of so many bytes, and only read and written here while no kernel runs.
    unsafe {
        let first = *library.get::<*mut Cell<u8>>(b"hpmoe_reached").expect("the library notes points");
        std::slice::from_raw_parts(first, points)
    }
}

fn symbol(text: &str) -> &str {
    let rest = text.split("extern \"C\"").nth(1).expect("generated files end with the kernel");
    let name = rest.split(" void ").nth(1).and_then(|declaration| declaration.split('(').next());
    name.expect("the kernel is a function that returns nothing")
}

/// The failure of a run under one of the time limits, if any.
fn problem(kernel: &Kernel, mutant: &Mutant, row: &Row, limits: &[Duration]) -> Option<String> {
    let mut last = None;
    for limit in limits {
        last = launch(kernel, mutant, row, group(row, *limit));
        if last.as_ref().is_none_or(|problem| problem.kind != ProblemKind::Wait) {
            break;
        }
    }
    last.map(|problem| problem.text)
}

/// The failure of a run in which the cores of a rank give up one of their first waits, if any.
fn given_up(kernel: &Kernel, mutant: &Mutant, row: &Row, first: u32) -> Option<Problem> {
    let rank = Rank::new(row.seed as usize % row.ranks);
    launch(kernel, mutant, row, group(row, LIMIT).fault(rank, InjectedFault::Wait(first)))
}

fn broken_rule(problem: Option<Problem>) -> Option<String> {
    problem.filter(|problem| problem.kind == ProblemKind::Rule).map(|problem| problem.text)
}

fn group(row: &Row, limit: Duration) -> Group {
    let group = Group::new(row.ranks).seed(row.seed).time_limit(limit).find_races(true);
    match row.late {
        Some(rank) => group.delay(rank, Duration::from_millis(12)),
        None => group,
    }
}

fn launch(kernel: &Kernel, mutant: &Mutant, row: &Row, group: Group) -> Option<Problem> {
    mutant.halves.set(row.halves);
    match (kernel.launch)(&mutant.compiled, &group, &row.launches) {
        Ok(true) => None,
        Ok(false) => Some(Problem { kind: ProblemKind::Other, text: "other bits".to_owned() }),
        Err(error) => Some(told(&error)),
    }
}

/// The failure of a run.
struct Problem {
    kind: ProblemKind,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProblemKind {
    /// A core waited too long.
    Wait,
    /// A rule of the device or of the library was broken.
    Rule,
    Other,
}

fn told(error: &LaunchError) -> Problem {
    let (kind, text) = match error {
        LaunchError::Rule { message, .. } => (ProblemKind::Rule, format!("broken rule: {message}")),
        LaunchError::Stuck(report) => {
            let waiting = report.cores.iter().find(|core| core.text.contains("gave up"));
            let who =
                |core: &CoreReport| format!(": {} {} of rank {} {}", core.kind, core.number, core.rank, core.text);
            (ProblemKind::Wait, format!("no progress{}", waiting.map(who).unwrap_or_default()))
        }
        other => (ProblemKind::Other, format!("refused: {other}")),
    };
    Problem { kind, text }
}
