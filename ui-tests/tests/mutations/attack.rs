//! Changed expressions: how many are found.

use crate::compile::sources;
use crate::expressions::expressions;
use crate::sites::Site;
use crate::source::Source;
use crate::survivors::{EXPRESSIONS, survivors};
use crate::sweep::{Judge, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

/// The share of mutants that a run must find, in percent.
const LEAST: f64 = 97.0;

/// Runs one of `every` mutations whose lines have all `words`.
pub fn attack(words: &[&String], every: usize) -> ExitCode {
    let start = Instant::now();
    let sources = sources();
    let asked = |site: &Site| words.iter().all(|word| site.key.contains(*word));
    let sites: Vec<Site> = expressions(&sources).into_iter().filter(asked).step_by(every).collect();
    let keys: BTreeSet<String> = sites.iter().map(|site| site.key.clone()).collect();
    let path = results(&sources);
    let before = known(&path);
    let open: Vec<Site> = sites.into_iter().filter(|site| !before.contains_key(&site.key)).collect();
    println!("{} mutations, {} of them known", keys.len(), keys.len() - open.len());
    if !open.is_empty() {
        let workplace = tempfile::tempdir().expect("a temporary folder");
        let Some(judge) = Judge::new(&sources, workplace.path()) else { return ExitCode::FAILURE };
        let file = OpenOptions::new().create(true).append(true).open(&path).expect("a file of results");
        let file = Mutex::new(file);
        judge.all(&open, |site, verdict| {
            let line = format!("{}\t{}\n", word(verdict), site.key);
            file.lock().expect("no worker panics").write_all(line.as_bytes()).expect("results can be written");
        });
    }
    let mut words = known(&path);
    words.retain(|key, _| keys.contains(key));
    let code = conclude(&words);
    println!("{:.0} s", start.elapsed().as_secs_f32());
    code
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Found(_) => "found",
        Verdict::Survived => "survives",
        Verdict::Unreached => "unreached",
        Verdict::Refused(_) => "refused",
        Verdict::Fault(_) => "fault",
    }
}

/// The file of what is known of these sources.
fn results(sources: &[Source]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    for source in sources {
        (&source.name, &source.text).hash(&mut hasher);
    }
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("expressions-{:016x}.txt", hasher.finish()))
}

/// The word for each mutation.
fn known(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| line.split_once('\t')).map(|(word, key)| (key.to_owned(), word.to_owned())).collect()
}

/// Prints what is not found, and whether it is little enough.
fn conclude(words: &BTreeMap<String, String>) -> ExitCode {
    let listed = survivors(EXPRESSIONS);
    let count = |wanted: &str| words.values().filter(|word| *word == wanted).count();
    let alive = || words.iter().filter(|(_, word)| matches!(word.as_str(), "survives" | "unreached" | "fault"));
    let (excused, open): (Vec<_>, Vec<_>) = alive().partition(|(key, _)| listed.contains_key(key.as_str()));
    for (key, word) in &open {
        println!("{word}: {key}");
    }
    let found = count("found");
    let stale: Vec<_> =
        words.iter().filter(|(key, word)| *word == "found" && listed.contains_key(key.as_str())).collect();
    for (key, _) in &stale {
        println!("listed as one that nothing can notice, but found: {key}");
    }
    let share = 100.0 * found as f64 / (found + open.len()).max(1) as f64;
    println!(
        "{} mutations, {} more that do not compile: {found} found, {} survive, {} more survive as listed; \
         {share:.1} % found, {LEAST} % asked",
        words.len() - count("refused"),
        count("refused"),
        open.len(),
        excused.len()
    );
    if share >= LEAST && stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
