//! Removes each flag pair, barrier, fence, dcci, wait, signal and atomic of the device library and of generated code,
//! one at a time, and requires that some run finds it: by other bits, a broken rule, or a report of waiting cores.
//!
//! ```text
//! cargo test --release -p hpmoe-ui-tests --test mutations -- --ignored [WORDS OF A MUTATION'S LINE]
//! ```
//!
//! Each kernel is compiled once, with all of its mutations: a mutant is a process that chooses one. Mutations of
//! constants are built separately. A kernel that never reaches a mutation is not run. Results for unchanged sources are
//! kept in the target folder, so that an interrupted sweep can continue.
//!
//! The device library's headers are also judged by tests of other packages: the C++ cases and operations of `hpmoe-kernels`, and the
//! random routes of `hpmoe-runtime`.
//!
//! `survivors.txt` lists mutations that no run can find, with reasons. An entry that is found, or that no mutation has,
//! is stale. Stale entries fail, and so does a mutant that computes for ever.
//!
//! With `--expressions`, the same sources get changed expressions instead: numbers, operators, conditions, names of
//! counters, and calls. Runs must find 97 % of those that compile; `expressions.txt` lists the ones that can't be
//! found, with reasons.
//!
//! With `--given FILE`, makes the changes in a file: see `given.rs`.

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

/// Changes the device library and generated code, one place at a time, and checks that a run finds the change.
#[derive(Parser, Debug)]
struct Options {
    /// Run only mutations whose lines contain all of these words.
    words: Vec<String>,
    /// And none of these words.
    #[arg(long, value_name = "WORD")]
    without: Vec<String>,
    /// Run the mutations; without this option, nothing happens.
    #[arg(long, visible_alias = "include-ignored")]
    ignored: bool,
    /// Change expressions instead of removing statements.
    #[arg(long)]
    expressions: bool,
    /// Run one of this many mutations.
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: usize,
    /// First of these mutations, counted from zero.
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: usize,
    /// Run about this many mutations that no list excuses, spread over all sources: the check of every change. Those that few
    /// runs of each kernel don't find run again.
    #[arg(long, value_name = "N", conflicts_with_all = ["every", "survivors"])]
    sample: Option<usize>,
    /// Run the mutations of a file instead, one per line: `FILE: TEXT => OTHER TEXT`. The text must occur once in a
    /// header or generated file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["expressions", "every", "sample", "survivors"])]
    given: Option<std::path::PathBuf>,
    /// Maximum number of runs of each kernel.
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Forget results of earlier runs.
    #[arg(long)]
    fresh: bool,
    /// Run only mutations that survived before.
    #[arg(long)]
    survivors: bool,
    /// Print the mutations without running them.
    #[arg(long)]
    list: bool,
    /// Also build each mutant separately, and compare the verdicts.
    #[arg(long)]
    both: bool,
    /// Accepted like by all tests: everything is printed.
    #[arg(long)]
    nocapture: bool,
}

impl Options {
    fn asks(&self, key: &str) -> bool {
        let has = |word: &String| key.contains(word.as_str());
        self.words.iter().all(has) && !self.without.iter().any(has)
    }

    /// Whether all mutations run.
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
    let kind = match &options.given {
        Some(_) => &sweep::GIVEN,
        None if options.expressions => &sweep::CHANGED,
        None => &sweep::REMOVED,
    };
    sweep::sweep(kind, &options)
}
