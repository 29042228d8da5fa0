//! Results of earlier runs. A result is valid for the sources that it was found with; a survivor's result also depends
//! on the runs of the mutant.

use crate::process::Verdict;
use crate::sites::Site;
use crate::source::Source;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;

/// The code that decides how mutants run.
const RUNS: &[&str] = &[include_str!("kernels.rs"), include_str!("rows.rs"), include_str!("mutant.rs")];

/// The file of results.
pub struct Known {
    file: Mutex<File>,
    /// By sources, runs and mutation.
    verdicts: BTreeMap<(String, String), (String, Verdict)>,
    rows: usize,
    /// A hash of the tests that judge headers.
    tests: String,
}

impl Known {
    /// Reads known results; with `fresh`, forgets them. Survivors count only if they ran this many rows.
    pub fn open(name: &str, rows: usize, fresh: bool) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutations-{name}.txt"));
        let text = if fresh { String::new() } else { fs::read_to_string(&path).unwrap_or_default() };
        let verdicts = text.lines().filter_map(read).collect();
        let file = OpenOptions::new().create(true).append(!fresh).write(true).truncate(fresh).open(&path);
        Self { file: Mutex::new(file.expect("a file of results")), verdicts, rows, tests: hash(&texts_of_tests()) }
    }

    /// The verdict on a mutation, if it is still valid.
    pub fn verdict(&self, sources: &[Source], site: &Site) -> Option<Verdict> {
        let (runs, verdict) = self.verdicts.get(&(hash_of_sources(sources, site), site.key.clone()))?;
        let lives = matches!(verdict, Verdict::Survived | Verdict::Unreached);
        (!lives || *runs == self.hash_of_runs()).then(|| verdict.clone())
    }

    /// Keeps a verdict, unless it is a failure of this tool.
    pub fn keep(&self, sources: &[Source], site: &Site, verdict: &Verdict) {
        let (word, text) = match verdict {
            Verdict::Found(text) => ("found", text.as_str()),
            Verdict::Survived => ("survived", ""),
            Verdict::Unreached => ("unreached", ""),
            Verdict::Refused(_) => ("refused", ""),
            Verdict::Fault(_) => return,
        };
        let (sources, runs) = (hash_of_sources(sources, site), self.hash_of_runs());
        let line = format!("{sources}\t{runs}\t{word}\t{}\t{}\n", site.key, text.replace(['\n', '\t'], " "));
        self.file.lock().expect("no worker panics").write_all(line.as_bytes()).expect("results can be written");
    }

    fn hash_of_runs(&self) -> String {
        hash(&(RUNS, self.rows, &self.tests))
    }
}

/// The files of the tests that judge headers.
fn texts_of_tests() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = |folder: &str| {
        let entries = fs::read_dir(root.join(folder)).expect("a folder of tests");
        let mut paths: Vec<_> =
            entries.map(|entry| entry.expect("a test").path()).filter(|path| path.is_file()).collect();
        paths.sort();
        paths
    };
    let of_kernels =
        ["host", "operations", "all", "all/operations"].map(|folder| files(&format!("kernels/tests/{folder}")));
    let of_routes = ["src/layout/device", "tests/device"].map(|folder| files(&format!("hpmoe-runtime/{folder}")));
    let paths = [of_kernels.concat(), of_routes.concat()].concat();
    paths.iter().map(|path| fs::read_to_string(path).expect("a test can be read")).collect()
}

fn read(line: &str) -> Option<((String, String), (String, Verdict))> {
    let mut parts = line.splitn(5, '\t');
    let mut part = || parts.next().map(str::to_owned);
    let (sources, runs, word, key, text) = (part()?, part()?, part()?, part()?, part()?);
    let verdict = match word.as_str() {
        "found" => Verdict::Found(text),
        "survived" => Verdict::Survived,
        "unreached" => Verdict::Unreached,
        "refused" => Verdict::Refused(text),
        _ => return None,
    };
    Some(((sources, key), (runs, verdict)))
}

/// A hash of the code that contains a mutation: of its file and all headers, or of all files.
fn hash_of_sources(sources: &[Source], site: &Site) -> String {
    let own = &sources[site.source];
    let part = |source: &&Source| !own.generated() || !source.generated() || source.name == own.name;
    let parts: Vec<_> = sources.iter().filter(part).map(|source| (&source.name, &source.text)).collect();
    hash(&parts)
}

fn hash(value: &impl std::hash::Hash) -> String {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
