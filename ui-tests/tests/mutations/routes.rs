//! The random routes of `hpmoe-runtime`'s tests, as judges of the headers that make routes: they know every table number by number, with
//! more ranks, experts and slots than a launch of these kernels has.

use crate::choices::{CHOSEN, Choices};
use crate::compile::write_choices;
use crate::process::{Verdict, ended};
use crate::sites::Site;
use crate::source::Source;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The folder of the headers that make routes.
const FOLDER: &str = "routing/";

/// Random cases for each mutation.
const CASES: &str = "200";

/// A mutant that takes longer computes for ever, or waits for what nobody says.
const LIMIT: Duration = Duration::from_secs(90);

/// The tests, and a library of their kernel with all mutations that can be chosen.
pub struct Routes {
    tests: PathBuf,
    folder: PathBuf,
}

/// Whether a mutation changes what makes routes.
pub fn concerns(site: &Site, sources: &[Source]) -> bool {
    site.edits.iter().any(|(source, ..)| sources[*source].name.starts_with(FOLDER))
}

impl Routes {
    /// Builds the tests, and runs them with their kernel as it is.
    pub fn new(
        sources: &[Source],
        choices: &Choices,
        apart: &BTreeSet<usize>,
        workplace: &Path,
    ) -> Result<Self, String> {
        let folder = workplace.join("routes");
        std::fs::create_dir_all(&folder).map_err(|error| format!("can't make `{}`: {error}", folder.display()))?;
        write_choices(sources, choices, apart, |source| !source.generated(), &folder);
        let routes = Self { tests: tests()?, folder };
        match routes.run(None) {
            Run::Passed => Ok(routes),
            Run::Failed(text) => Err(format!("the random routes fail with headers as they are: {text}")),
            Run::Endless => Err(format!("the random routes take more than {LIMIT:?} with headers as they are")),
        }
    }

    /// What the routes say of a mutation.
    pub fn verdict(&self, number: usize) -> Verdict {
        match self.run(Some(number)) {
            Run::Passed => Verdict::Survived,
            Run::Failed(text) => Verdict::Found(format!("random routes: {text}")),
            Run::Endless => Verdict::Found(format!("random routes: no end after {LIMIT:?}")),
        }
    }

    fn run(&self, number: Option<usize>) -> Run {
        let mut command = Command::new(&self.tests);
        command.args(["layout::device", "--test-threads=1"]).env("HPMOE_CHANGED_HEADERS", &self.folder);
        command.env("HPMOE_ROUTES", CASES).env("RUST_BACKTRACE", "0").env_remove(CHOSEN);
        if let Some(number) = number {
            command.env(CHOSEN, number.to_string());
        }
        // Into a file: nobody reads while it runs.
        let output = self.folder.join(format!("{}.txt", number.map_or("as it is".to_owned(), |at| at.to_string())));
        let file = std::fs::File::create(&output).expect("a file for what tests print");
        let other = file.try_clone().expect("a second name of the file");
        let mut child = command.stdin(Stdio::null()).stdout(file).stderr(other).spawn().expect("the tests start");
        let status = ended(&mut child, LIMIT);
        let text = std::fs::read_to_string(&output).unwrap_or_default();
        let _ = std::fs::remove_file(&output);
        match status {
            None => Run::Endless,
            Some(status) if status.success() => Run::Passed,
            Some(_) => Run::Failed(said(&text)),
        }
    }
}

enum Run {
    Passed,
    Failed(String),
    Endless,
}

/// The line that tells why a test failed, or the last one.
fn said(text: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.contains("panicked at")).skip(1);
    lines.next().or(text.lines().last()).unwrap_or("nothing is said").to_owned()
}

/// The tests of `hpmoe-runtime`, built in the profile of this program.
fn tests() -> Result<PathBuf, String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "--locked", "-p", "hpmoe-runtime", "--lib", "--no-run", "--message-format=json"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("can't start cargo: {error}"))?;
    let artifact = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_runtime = message["target"]["name"] == "hpmoe_runtime" && message["profile"]["test"] == true;
        message["executable"].as_str().filter(|_| is_runtime).map(PathBuf::from)
    };
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(artifact)
        .ok_or_else(|| format!("cargo built no tests of hpmoe-runtime: {}", output.status))
}
