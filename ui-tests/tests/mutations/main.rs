//! Removes each flag pair, barrier, fence, dcci, wait, signal and atomic of the device library and of generated code,
//! one at a time, and asks that some run finds it: by other bits, by a broken rule, or by a report that says who waits.
//!
//! ```text
//! cargo test --release -p hpmoe-ui-tests --test mutations -- --ignored [WORDS OF A MUTATION'S LINE]
//! ```
//!
//! Each kernel is compiled once, with all mutations in it: a mutant is a process that chooses one. What changes a constant is built
//! apart. A kernel that never comes to a mutation is not run. What is known of unchanged sources is kept in the target folder, so that
//! a sweep that was stopped goes on.
//!
//! The device library's headers are also judged by tests of other packages: the C++ cases and operations of `hpmoe-kernels`, and the
//! random routes of `hpmoe-runtime`.
//!
//! What no run can find stands in `survivors.txt`, each with the reason. An entry that is found, or that no mutation
//! has, is stale; both fail, and so does a mutant that computes for ever.
//!
//! With `--expressions`, changes expressions of the same sources instead: numbers, operators, conditions, names of counters and
//! calls. 97 % of those that compile must be found; `expressions.txt` lists what can't be, each with the reason.
//!
//! With `--given FILE`, makes the changes that a file says: see `given.rs`.

mod choices;
mod compile;
mod conclusion;
mod expressions;
mod extent;
mod given;
mod job;
mod judge;
mod kept;
mod kernels;
mod known;
mod mutant;
mod pieces;
mod process;
#[path = "../random/mod.rs"]
#[allow(dead_code, reason = "shared with tests that use other parts")]
mod random;
mod rows;
mod same;
mod sites;
#[path = "../../kernels/mod.rs"]
mod small_kernels;
mod source;
mod stamped;
mod suites;
mod survivors;
mod sweep;
mod watch;

use clap::Parser;
use std::process::ExitCode;

/// Changes device library and generated code, one place at a time, and looks for a run that notices.
#[derive(Parser, Debug)]
struct Options {
    /// Mutations whose lines have all of these words.
    words: Vec<String>,
    /// And none of these.
    #[arg(long, value_name = "WORD")]
    without: Vec<String>,
    /// Runs them: without this, nothing happens.
    #[arg(long, visible_alias = "include-ignored")]
    ignored: bool,
    /// Changes expressions instead of removing statements.
    #[arg(long)]
    expressions: bool,
    /// One mutation of so many.
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: usize,
    /// The first of these, counted from zero.
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: usize,
    /// About as many mutations of both kinds, spread over all sources, with few runs of each kernel: what every change is checked with.
    #[arg(long, value_name = "N", conflicts_with_all = ["expressions", "every", "fresh", "survivors"])]
    sample: Option<usize>,
    /// Mutations of a file instead, one a line: `FILE: TEXT => OTHER TEXT`, where the text stands once in a header or generated file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["expressions", "every", "sample", "survivors"])]
    given: Option<std::path::PathBuf>,
    /// Runs of each kernel, at most.
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Forgets what earlier runs have found.
    #[arg(long)]
    fresh: bool,
    /// Runs those again that survived before, and no others.
    #[arg(long)]
    survivors: bool,
    /// Prints the mutations that would be run.
    #[arg(long)]
    list: bool,
    /// Also builds each mutant apart, and compares the verdicts.
    #[arg(long)]
    both: bool,
    /// Accepted, as by all tests: everything is printed.
    #[arg(long)]
    nocapture: bool,
}

impl Options {
    fn asks(&self, key: &str) -> bool {
        let has = |word: &String| key.contains(word.as_str());
        self.words.iter().all(has) && !self.without.iter().any(has)
    }

    /// Whether all mutations are asked for.
    fn whole(&self) -> bool {
        self.words.is_empty()
            && self.without.is_empty()
            && self.every == 1
            && self.from == 0
            && self.sample.is_none()
            && self.given.is_none()
            && !self.survivors
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [first, jobs @ ..] if first == mutant::ARGUMENT || first == mutant::HASTY => {
            mutant::run(jobs, first == mutant::HASTY);
            return ExitCode::SUCCESS;
        }
        [first, kernel, library, points, rows] if first == mutant::NOTE => {
            let number = |text: &String| text.parse().expect("the sweep passes numbers");
            mutant::note(kernel, library, number(points), number(rows));
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let options = Options::parse();
    if !options.ignored {
        println!("mutations: ignored, takes minutes: pass --ignored");
        return ExitCode::SUCCESS;
    }
    let kind = match options.sample {
        Some(_) => &sweep::SAMPLE,
        None if options.given.is_some() => &sweep::GIVEN,
        None if options.expressions => &sweep::CHANGED,
        None => &sweep::REMOVED,
    };
    sweep::sweep(kind, &options)
}
