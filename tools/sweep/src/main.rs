//! Simulates the layers of current models in many sizes: our default schedule, the original's, and one operator after another. Writes a
//! table, a picture and a page about the results to docs/sweep.

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
use measure::{LayerPlan, SerialTimes};
use results::{Results, Rows, numbered};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

/// Simulates the layers of current models at many sizes. Results are kept in target/sweep, so an interrupted run can continue.
#[derive(Parser, Debug)]
struct Options {
    /// Simulates only cases whose names contain all of these words, such as `gpt-oss-120b EP8 backward`; can be repeated for more cases.
    /// Writes nothing to docs.
    #[arg(long, value_name = "WORDS")]
    only: Vec<String>,
    /// Prints a line for each case.
    #[arg(long)]
    list: bool,
    /// Number of builds to run in parallel.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Accepts figures that other states of the tree have simulated.
    #[arg(long)]
    keep: bool,
    /// Writes the known figures to docs/sweep, and simulates nothing. Unknown cases keep their figures there, marked as those of an older
    /// state.
    #[arg(long)]
    known: bool,
    /// Simulates for this number of minutes, and finishes builds that have begun. The next run continues.
    #[arg(long, value_name = "MINUTES")]
    minutes: Option<u64>,
    /// Fails if docs/sweep differs from the simulated figures, and writes nothing there.
    #[arg(long)]
    check: bool,
}

/// The folder for the table, the picture and the page.
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

/// Simulates and prints all cases that have no results. Returns false if the files in docs are not current.
fn sweep(options: &Options) -> Result<bool, String> {
    let has_all = |case: &Case, words: &String| {
        words.split_whitespace().all(|word| case.to_string().split(' ').any(|part| part == word))
    };
    let chosen = |case: &Case| options.only.is_empty() || options.only.iter().any(|words| has_all(case, words));
    let cases: Vec<Case> = cases::all().filter(chosen).collect();
    if cases.is_empty() {
        return Err(format!(
            "no case has all the words of `{}` in its name; a name is, for example, `{}`",
            options.only.join("`, `"),
            cases::example()
        ));
    }
    let results =
        Results::open(Path::new("target/sweep/results.csv"), &Path::new(DOCS).join("table.csv"), options.keep)?;
    let unknown = |case: &Case| !options.known && results.rows.get(case).is_none_or(|row| row.state > 1);
    let left: Vec<Case> = cases.iter().copied().filter(unknown).collect();
    let begun = Instant::now();
    let (rows, simulated) = simulate(&left, options, results)?;
    println!("{} cases, {simulated} of them simulated now in {:.0?}", cases.len(), begun.elapsed());
    let rows = numbered(&cases.iter().filter_map(|&case| Some((case, *rows.get(&case)?))).collect());
    let known: BTreeMap<Case, Figures> = rows.iter().map(|(&case, row)| (case, row.figures)).collect();
    if options.list {
        known.iter().for_each(|(case, figures)| println!("{case}: {figures}"));
    }
    print!("{}", page::summary(&known));
    if !options.only.is_empty() || simulated < left.len() {
        return Ok(!options.only.is_empty());
    }
    write_or_check(
        options.check,
        &[
            ("table.csv", results::table(&rows)),
            ("picture.svg", picture::picture(&known)),
            ("README.md", page::page(&rows)),
        ],
    )
}

/// Simulates cases, several builds in parallel. Returns all cases, including those known before, and the number of simulated ones.
fn simulate(left: &[Case], options: &Options, results: Results) -> Result<(Rows, usize), String> {
    let style = ProgressStyle::with_template("{elapsed} {wide_bar} {pos}/{len} {msg}").expect("the template is valid");
    let bar = ProgressBar::new(left.len() as u64).with_style(style);
    let begun = Instant::now();
    let goes_on = || options.minutes.is_none_or(|minutes| begun.elapsed().as_secs() < 60 * minutes);
    // The largest first, so that no long one is left for the end.
    let mut builds = cases::by_build(left);
    let size = |alike: &Vec<(Build, Vec<Case>)>| alike.first().map(|(build, _)| build.layer.tokens * build.ranks);
    builds.sort_by_key(size);
    let (builds, results) = (Mutex::new(builds), Mutex::new(results));
    let next = || builds.lock().expect("no thread panics while it holds the lock").pop().filter(|_| goes_on());
    let run = || -> Result<(), String> {
        while let Some(alike) = next() {
            let mut serial = SerialTimes::new();
            for (build, cases) in alike {
                let plan = LayerPlan::new(build)?;
                for case in cases {
                    bar.set_message(case.to_string());
                    let figures = plan.figures(&case, &mut serial)?;
                    results.lock().expect("no thread panics while it holds the lock").add(case, figures)?;
                    bar.inc(1);
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.jobs.max(1)).map(|_| scope.spawn(run)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("simulations don't panic"))
    })?;
    bar.finish_and_clear();
    Ok((results.into_inner().expect("no thread panics while it holds the lock").rows, bar.position() as usize))
}

/// Writes the files or, with `check`, reports which of them are not current.
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
