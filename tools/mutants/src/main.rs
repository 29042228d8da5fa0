//! Changes a part of the project one expression at a time, and looks for a test that notices.
//!
//! All mutants are compiled into one copy of the repository, where a variable of the environment chooses one. Each runs the
//! tests that reach it, the quickest first, until one fails or takes too long. Golden texts don't count: they can't fail.

mod attributes;
mod build;
mod find;
mod known;
mod mutant;
mod part;
mod results;
mod rules;
mod tests;
mod tree;

use build::Program;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use part::Part;
use results::{Found, Results, lines, write};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tests::Judges;
use tree::Tree;

/// Mutates one expression of analysis, schedule and validation (or another part) at a time, and searches for a test that fails. Results are
/// kept in target/mutants, so an interrupted run can continue. If sources have changed, the tests that killed a mutant last time run first.
#[derive(Parser, Debug)]
struct Options {
    /// The part of the project to mutate.
    #[arg(long, value_enum, default_value = "compiler")]
    part: Part,
    /// Runs only mutants whose names contain this text, such as a file or a function.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Runs this number of mutants, spread evenly over all.
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Offset of the sample; each number gives another sample.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "sample")]
    from: usize,
    /// Discards the results of earlier runs.
    #[arg(long)]
    fresh: bool,
    /// Reruns the mutants that no test has killed.
    #[arg(long)]
    survivors: bool,
    /// Lists the mutants without running them.
    #[arg(long)]
    list: bool,
    /// Number of mutants to run in parallel.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
}

/// The share of mutants that a test must notice, in percent.
const LEAST: f64 = 97.0;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// The folders of copies and results.
struct Folders {
    copy: PathBuf,
    target: PathBuf,
    refused: PathBuf,
    /// The tests and the mutants that they reach, for the sources whose digest is in the first line.
    reached: PathBuf,
    all: PathBuf,
}

impl Folders {
    fn new(root: &Path, part: Part) -> Self {
        let all = root.join("target/mutants").join(part.name());
        Self {
            copy: all.join("tree"),
            target: root.join("target/mutants/build"),
            refused: all.join("refused.txt"),
            reached: all.join("reached.txt"),
            all,
        }
    }
}

fn run(options: &Options) -> Result<bool, String> {
    let root = std::env::current_dir().map_err(|error| error.to_string())?;
    let folders = Folders::new(&root, options.part);
    let tree = Tree::read(&root, folders.copy.clone(), options.part)?;
    if options.list {
        tree.mutants.values().flatten().for_each(|mutant| println!("{mutant}"));
        return Ok(true);
    }
    let reasons = known::reasons(include_str!("../survivors.txt"))?;
    let reasons = reasons.into_iter().filter(|(name, _)| options.part.changes(file_of(name))).collect();
    fs::create_dir_all(&folders.all).map_err(|error| format!("{}: {error}", folders.all.display()))?;
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(200));
    let tell = |text: String| if bar.is_hidden() { println!("{text}") } else { bar.set_message(text) };

    let (programs, refused) = build::build(&tree, &folders.copy, &folders.target, lines(&folders.refused), tell)?;
    write(&folders.refused, &refused)?;
    let numbers = tree.numbers();
    let names = numbers.keys().filter(|name| !refused.contains(*name)).collect::<Vec<_>>();
    println!("{} mutants, {} more that do not compile", names.len(), refused.len());

    let digest = tree.digest();
    let judges = judges(options.part, &programs, &folders, &digest, |name| bar.set_message(name.to_owned()))?;
    bar.finish_and_clear();
    let total: Duration = judges.tests.iter().map(|test| test.time).sum();
    println!("{} tests, {total:.0?} without a mutant", judges.tests.len());

    let chosen = choose(options, &names)?;
    let results = Results::read(&folders.all, &digest, options.fresh)?;
    if options.survivors {
        results.forget_survivors()?;
    }
    judge(&chosen, &numbers, &judges, options.jobs, &results)?;
    Ok(report(&chosen, &results.found(), &reasons, &numbers))
}

/// The file in the name of a mutant.
fn file_of(name: &str) -> &str {
    name.split_once(',').map_or(name, |(file, _)| file)
}

/// The tests and the mutants that they reach: from an earlier run with the same sources, or found by running each test.
fn judges(
    part: Part,
    programs: &[Program],
    folders: &Folders,
    digest: &str,
    tell: impl Fn(&str),
) -> Result<Judges, String> {
    let known = fs::read_to_string(&folders.reached).unwrap_or_default();
    let known = known.split_once('\n').filter(|(of, _)| *of == digest).map(|(_, text)| text);
    let judges = Judges::new(part, programs, &folders.all, known, tell)?;
    fs::write(&folders.reached, format!("{digest}\n{}", judges.text()))
        .map_err(|error| format!("{}: {error}", folders.reached.display()))?;
    Ok(judges)
}

/// The mutants to run or to report.
fn choose(options: &Options, names: &[&String]) -> Result<Vec<String>, String> {
    let only = |name: &&&String| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let all: Vec<String> = names.iter().filter(only).map(|name| (*name).clone()).collect();
    if all.is_empty() {
        return Err("no mutant has such a name: --list prints them".to_owned());
    }
    let count = options.sample.unwrap_or(all.len()).min(all.len()).max(1);
    Ok((0..count).map(|index| all[(index * all.len() / count + options.from) % all.len()].clone()).collect())
}

/// Runs each mutant until a test fails.
fn judge(
    chosen: &[String],
    numbers: &BTreeMap<String, u32>,
    judges: &Judges,
    jobs: usize,
    results: &Results,
) -> Result<(), String> {
    let known = results.found();
    let left: Vec<&String> = chosen.iter().filter(|name| !known.contains_key(*name)).collect();
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} mutants, {eta} left").expect("the template is valid");
    let bar = ProgressBar::new(left.len() as u64).with_style(style);
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), String> {
        while let Some(&name) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
            let number = numbers[name];
            let noticed = judges.notice(number, results.before(name))?;
            if noticed.is_none() {
                let reached = if judges.reach(number) { "" } else { " (no test reaches it)" };
                bar.suspend(|| println!("nothing notices: {name}{reached}"));
            }
            results.keep(name, noticed)?;
            bar.inc(1);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    bar.finish_and_clear();
    Ok(())
}

/// Prints the results. Returns whether all survivors are known ones.
fn report(
    chosen: &[String],
    found: &Found,
    reasons: &BTreeMap<String, String>,
    numbers: &BTreeMap<String, u32>,
) -> bool {
    let survived = |name: &&String| found.get(*name).is_some_and(Option::is_none);
    let survivors: Vec<&String> = chosen.iter().filter(survived).collect();
    let (listed, new): (Vec<&String>, Vec<&String>) = survivors.iter().partition(|name| reasons.contains_key(**name));
    let stale: Vec<&String> = reasons.keys().filter(|name| found.get(*name).is_some_and(Option::is_some)).collect();
    new.iter().for_each(|name| println!("survives: {name}"));
    stale.iter().for_each(|name| println!("listed as a survivor, but a test notices it: {name}"));
    let gone: Vec<&String> = reasons.keys().filter(|name| !numbers.contains_key(*name)).collect();
    gone.iter().for_each(|name| println!("listed as a survivor, but the sources have no such mutant: {name}"));
    let counted = chosen.len() - listed.len();
    let noticed = counted - new.len();
    let share = 100.0 * noticed as f64 / counted.max(1) as f64;
    println!(
        "{} mutants: {noticed} noticed, {} survive, {} more survive as listed; {share:.1} % noticed, {LEAST} % asked",
        chosen.len(),
        new.len(),
        listed.len()
    );
    stale.is_empty() && gone.is_empty() && share >= LEAST
}
