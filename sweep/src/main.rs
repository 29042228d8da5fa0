//! Simulates the layers of current models in many sizes: our default schedule, the original's, and one operator after another.
//! Writes a table, a picture and a page about them to docs/sweep.

mod cases;
mod figures;
mod measure;
mod page;
mod picture;
mod results;

use cases::{Build, Case};
use clap::Parser;
use figures::Figures;
use indicatif::{ProgressBar, ProgressStyle};
use measure::LayerPlan;
use results::Results;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

/// Simulates the layers of current models in many sizes. What has been simulated is kept in target/sweep: when it is stopped, the
/// next run goes on.
#[derive(Parser, Debug)]
struct Options {
    /// Cases whose names contain all of these words, such as `gpt-oss EP8 backward`, instead of all. Nothing is written to docs.
    #[arg(long, value_name = "WORDS")]
    only: Option<String>,
    /// Prints a line for each case.
    #[arg(long)]
    list: bool,
    /// Builds at a time.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Keeps what another build of this program has simulated.
    #[arg(long)]
    keep: bool,
    /// Writes what is known to docs/sweep, and simulates nothing.
    #[arg(long)]
    known: bool,
    /// Fails if what is in docs/sweep is not what this program simulates, and writes nothing there.
    #[arg(long)]
    check: bool,
}

/// The folder that table, picture and page go to.
const DOCS: &str = "docs/sweep";

fn main() -> ExitCode {
    match sweep(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Simulates what is not known yet, and tells of it; false if the files in docs are not current.
fn sweep(options: &Options) -> Result<bool, String> {
    let words: Vec<&str> = options.only.iter().flat_map(|words| words.split_whitespace()).collect();
    let chosen = |case: &Case| words.iter().all(|word| case.to_string().split(' ').any(|part| part == *word));
    let cases: Vec<Case> = cases::all().filter(chosen).collect();
    if cases.is_empty() {
        return Err(format!("no case has all of `{}` in its name, such as `{}`", words.join(" "), cases::example()));
    }
    let results = Results::open(Path::new("target/sweep/results.csv"), options.keep)?;
    let unknown = |case: &Case| !options.known && !results.known.contains_key(case);
    let left: Vec<Case> = cases.iter().copied().filter(unknown).collect();
    let begun = Instant::now();
    let known = simulate(&left, options.jobs, results)?;
    println!("{} cases, {} of them simulated now in {:.0?}", cases.len(), left.len(), begun.elapsed());
    let known: BTreeMap<Case, Figures> = cases.iter().filter_map(|&case| Some((case, *known.get(&case)?))).collect();
    if options.list {
        known.iter().for_each(|(case, figures)| println!("{case}: {figures}"));
    }
    print!("{}", page::summary(&known));
    if options.only.is_some() {
        return Ok(true);
    }
    write_or_check(
        options.check,
        &[
            ("table.csv", results::table(&known)),
            ("picture.svg", picture::picture(&known)),
            ("README.md", page::page(&known)),
        ],
    )
}

/// Simulates cases, several builds at a time, and returns these with those that were known.
fn simulate(left: &[Case], jobs: usize, results: Results) -> Result<BTreeMap<Case, Figures>, String> {
    let style = ProgressStyle::with_template("{elapsed} {wide_bar} {pos}/{len} {msg}").expect("the template is right");
    let bar = ProgressBar::new(left.len() as u64).with_style(style);
    // The largest first, so that no long one is left for the end.
    let mut builds: Vec<(Build, Vec<Case>)> = cases::by_build(left).into_iter().collect();
    builds.sort_by_key(|(build, _)| build.layer.tokens * build.ranks);
    let (builds, results) = (Mutex::new(builds), Mutex::new(results));
    let next = || builds.lock().expect("no thread panics with it").pop();
    let run = || -> Result<(), String> {
        while let Some((build, cases)) = next() {
            let plan = LayerPlan::new(build)?;
            for case in cases {
                bar.set_message(case.to_string());
                let figures = plan.figures(&case)?;
                results.lock().expect("no thread panics with it").add(case, figures)?;
                bar.inc(1);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(run)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("simulations don't panic"))
    })?;
    bar.finish_and_clear();
    Ok(results.into_inner().expect("no thread panics with it").known)
}

/// Writes the files, or says which of them are not current.
fn write_or_check(check: bool, files: &[(&str, String)]) -> Result<bool, String> {
    let mut current = true;
    for (name, content) in files {
        let path = Path::new(DOCS).join(name);
        if !check {
            std::fs::create_dir_all(DOCS).map_err(|error| format!("can't make {DOCS}: {error}"))?;
            std::fs::write(&path, content).map_err(|error| format!("can't write {}: {error}", path.display()))?;
        } else if std::fs::read_to_string(&path).ok().as_ref() != Some(content) {
            eprintln!("{} is not current: run `.ci/sweep models`", path.display());
            current = false;
        }
    }
    Ok(current)
}
