//! Changes the compiler one expression at a time, and looks for a test that notices.
//!
//! All mutants are compiled into one copy of the repository, where a variable of the environment chooses one. Each runs the
//! tests that reach it, the quickest first, until one fails or takes too long. Golden texts don't count: they can't fail.

mod build;
mod find;
mod known;
mod mutant;
mod rules;
mod tests;
mod tree;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tests::Judges;
use tree::Tree;

/// Changes analysis, schedule and validation one expression at a time, and looks for a test that notices. What it has found
/// is kept in target/mutants: when it is stopped, the next run goes on.
#[derive(Parser, Debug)]
struct Options {
    /// Mutants whose names contain this, such as a file or a function.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// As many mutants, spread over all of them, instead of all.
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Forgets what earlier runs have found.
    #[arg(long)]
    fresh: bool,
    /// Runs those again that nothing noticed before.
    #[arg(long)]
    survivors: bool,
    /// Prints the mutants and runs none.
    #[arg(long)]
    list: bool,
    /// Mutants at a time.
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

/// Where everything goes.
struct Folders {
    copy: PathBuf,
    target: PathBuf,
    results: PathBuf,
    refused: PathBuf,
    all: PathBuf,
}

impl Folders {
    fn new(root: &Path) -> Self {
        let all = root.join("target/mutants");
        Self {
            copy: all.join("tree"),
            target: all.join("build"),
            results: all.join("results.txt"),
            refused: all.join("refused.txt"),
            all,
        }
    }
}

fn run(options: &Options) -> Result<bool, String> {
    let root = std::env::current_dir().map_err(|error| error.to_string())?;
    let folders = Folders::new(&root);
    let tree = Tree::read(&root, folders.copy.clone())?;
    if options.list {
        tree.mutants.values().flatten().for_each(|mutant| println!("{mutant}"));
        return Ok(true);
    }
    let reasons = known::reasons(include_str!("../survivors.txt"))?;
    fs::create_dir_all(&folders.all).map_err(|error| format!("{}: {error}", folders.all.display()))?;
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(200));
    let tell = |text: String| if bar.is_hidden() { println!("{text}") } else { bar.set_message(text) };

    let (programs, refused) = build::build(&tree, &folders.copy, &folders.target, lines(&folders.refused), tell)?;
    write(&folders.refused, &refused)?;
    let numbers = tree.numbers();
    let names = numbers.keys().filter(|name| !refused.contains(*name)).collect::<Vec<_>>();
    println!("{} mutants, {} more that do not compile", names.len(), refused.len());

    let judges = Judges::new(&programs, &folders.all, |name| bar.set_message(name.to_owned()))?;
    bar.finish_and_clear();
    let total: Duration = judges.tests.iter().map(|test| test.time).sum();
    println!("{} tests, {total:.0?} without a mutant", judges.tests.len());

    let chosen = choose(options, &names, &folders)?;
    let found = judge(&chosen, &numbers, &judges, options.jobs, &folders)?;
    Ok(report(&chosen, &found, &reasons))
}

/// What came of each mutant: a test that noticed, or none.
type Found = BTreeMap<String, Option<String>>;

/// The mutants to run or to report.
fn choose(options: &Options, names: &[&String], folders: &Folders) -> Result<Vec<String>, String> {
    if options.fresh || options.sample.is_some() {
        write(&folders.results, &BTreeSet::new())?;
    }
    if options.survivors {
        let kept = results(&folders.results).into_iter().filter(|(_, noticed)| noticed.is_some());
        write(&folders.results, &kept.map(|(name, noticed)| line(&name, noticed.as_deref())).collect())?;
    }
    let only = |name: &&&String| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let all: Vec<String> = names.iter().filter(only).map(|name| (*name).clone()).collect();
    if all.is_empty() {
        return Err("no mutant has such a name: --list prints them".to_owned());
    }
    let count = options.sample.unwrap_or(all.len()).min(all.len()).max(1);
    Ok((0..count).map(|index| all[index * all.len() / count].clone()).collect())
}

/// Runs mutants until a test notices.
fn judge(
    chosen: &[String],
    numbers: &BTreeMap<String, u32>,
    judges: &Judges,
    jobs: usize,
    folders: &Folders,
) -> Result<Found, String> {
    let known = results(&folders.results);
    let left: Vec<&String> = chosen.iter().filter(|name| !known.contains_key(*name)).collect();
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} mutants, {eta} left").expect("a fixed template");
    let bar = ProgressBar::new(left.len() as u64).with_style(style);
    let file = OpenOptions::new().create(true).append(true).open(&folders.results);
    let file = Mutex::new(file.map_err(|error| format!("{}: {error}", folders.results.display()))?);
    let found = Mutex::new(known);
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), String> {
        while let Some(&name) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
            let number = numbers[name];
            let noticed = judges.notice(number)?;
            keep(&file, &line(name, noticed.as_deref()))?;
            if noticed.is_none() {
                let reached = if judges.reach(number) { "" } else { " (no test reaches it)" };
                bar.suspend(|| println!("nothing notices: {name}{reached}"));
            }
            found.lock().expect("nobody panics with it").insert(name.clone(), noticed);
            bar.inc(1);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    bar.finish_and_clear();
    Ok(found.into_inner().expect("nobody panics with it"))
}

/// Prints what came of the mutants; whether nothing was found that is not known.
fn report(chosen: &[String], found: &Found, reasons: &BTreeMap<String, String>) -> bool {
    let survived = |name: &&String| found.get(*name).is_some_and(Option::is_none);
    let survivors: Vec<&String> = chosen.iter().filter(survived).collect();
    let (listed, new): (Vec<&String>, Vec<&String>) = survivors.iter().partition(|name| reasons.contains_key(**name));
    let stale: Vec<&String> = reasons.keys().filter(|name| found.get(*name).is_some_and(Option::is_some)).collect();
    new.iter().for_each(|name| println!("survives: {name}"));
    stale.iter().for_each(|name| println!("listed as a survivor, but a test notices it: {name}"));
    let counted = chosen.len() - listed.len();
    let noticed = counted - new.len();
    let share = 100.0 * noticed as f64 / counted.max(1) as f64;
    println!(
        "{} mutants: {noticed} noticed, {} survive, {} more survive as listed; {share:.1} % noticed, {LEAST} % asked",
        chosen.len(),
        new.len(),
        listed.len()
    );
    stale.is_empty() && share >= LEAST
}

fn line(name: &str, noticed: Option<&str>) -> String {
    format!("{}\t{}", name.replace(['\n', '\t'], " "), noticed.unwrap_or_default())
}

fn results(path: &Path) -> Found {
    let split = |line: &str| {
        let (name, noticed) = line.split_once('\t')?;
        Some((name.to_owned(), (!noticed.is_empty()).then(|| noticed.to_owned())))
    };
    lines(path).iter().filter_map(|line| split(line)).collect()
}

/// The lines of a file; none if it is not there yet.
fn lines(path: &Path) -> BTreeSet<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn write(path: &Path, lines: &BTreeSet<String>) -> Result<(), String> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn keep(file: &Mutex<File>, line: &str) -> Result<(), String> {
    writeln!(file.lock().expect("nobody panics with it"), "{line}")
        .map_err(|error| format!("results can't be kept: {error}"))
}
