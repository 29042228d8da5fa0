//! Tests of other packages, as judges of the device library's headers. They call code that kernels of these tests use
//! in few ways with more sizes and numbers.

use crate::choices::{CHOSEN, Choices};
use crate::compile::{write, write_choices};
use crate::process::{Verdict, ended};
use crate::sites::Site;
use crate::source::Source;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Unchanged headers take less time, however busy the machine is.
const LIMIT: Duration = Duration::from_secs(1200);
/// A mutant that takes this many times as long, plus some time, computes for ever, or waits for a signal that never
/// comes.
const FACTOR: u32 = 4;
const MORE: Duration = Duration::from_secs(60);

/// Tests that compile headers when they run.
struct Suite {
    name: &'static str,
    package: &'static str,
    /// The test program of the package, as arguments of cargo, and the name of its target.
    asked: &'static [&'static str],
    target: &'static str,
    /// Tests of the program.
    tests: &'static [&'static str],
    /// Number of random cases.
    cases: (&'static str, &'static str),
    concerns: fn(&Source) -> bool,
}

static ALL: [Suite; 2] = [
    // They compare every table number by number, with more ranks, experts and slots than launches of the kernels have,
    // and check the state that a core leaves if there is no route.
    Suite {
        name: "random routes",
        package: "hpmoe-runtime",
        asked: &["--lib"],
        target: "hpmoe_runtime",
        tests: &["layout::device"],
        cases: ("HPMOE_ROUTES", "200"),
        concerns: |source| {
            source.name.starts_with("routing/")
                || ["abi.h", "core.h", "turns.h", "vector_core.h"].contains(&source.name.as_str())
        },
    },
    // The library by itself, and each operation with any operands.
    Suite {
        name: "cases of the library",
        package: "hpmoe-kernels",
        asked: &["--test", "all"],
        target: "all",
        tests: &["host_ascendc", "operations::every_row"],
        cases: ("PROPTEST_CASES", "1"),
        concerns: |source| !source.generated() && !source.name.starts_with("routing/"),
    },
];

/// The suites that some mutations concern, with all mutations that can be chosen.
pub struct Suites(Vec<Built>);

struct Built {
    suite: &'static Suite,
    program: PathBuf,
    folder: PathBuf,
    limit: Duration,
}

impl Suites {
    /// Builds the tests, and runs them with unchanged headers.
    pub fn new(
        sources: &[Source],
        sites: &[Site],
        choices: &Choices,
        apart: &BTreeSet<usize>,
        workplace: &Path,
    ) -> Result<Self, String> {
        let asked = ALL.iter().filter(|suite| sites.iter().any(|site| concerns(suite, site, sources)));
        let built = asked.map(|suite| {
            let folder = workplace.join(suite.name);
            std::fs::create_dir_all(&folder).map_err(|error| format!("can't make `{}`: {error}", folder.display()))?;
            write_choices(sources, choices, apart, |source| !source.generated(), &folder);
            let built = Built { suite, program: suite.program()?, folder, limit: LIMIT };
            let start = Instant::now();
            match built.run(&built.folder, None) {
                Run::Passed => Ok(Built { limit: FACTOR * start.elapsed() + MORE, ..built }),
                Run::Failed(text) => Err(format!("the {} fail with headers as they are: {text}", suite.name)),
                Run::Endless => Err(format!("the {} take more than {LIMIT:?} with headers as they are", suite.name)),
            }
        });
        built.collect::<Result<_, _>>().map(Self)
    }

    /// The result of the tests for a mutation that can be chosen; `None` if they don't concern it.
    pub fn chosen(&self, sources: &[Source], site: &Site, number: usize) -> Option<Verdict> {
        self.ask(sources, site, |built| built.run(&built.folder, Some(number)))
    }

    /// The result for a mutation that can't be chosen.
    pub fn apart(&self, sources: &[Source], site: &Site, folder: &Path) -> Option<Verdict> {
        self.ask(sources, site, |built| {
            let folder = folder.join(built.suite.name);
            write(sources, Some(site), &folder);
            std::fs::write(folder.join("choices.h"), "").expect("a header with no choices");
            built.run(&folder, None)
        })
    }

    fn ask(&self, sources: &[Source], site: &Site, run: impl Fn(&Built) -> Run) -> Option<Verdict> {
        let asked = self.0.iter().filter(|built| concerns(built.suite, site, sources));
        let verdict = |built: &Built| match run(built) {
            Run::Passed => Verdict::Survived,
            Run::Failed(text) => Verdict::Found(format!("{}: {text}", built.suite.name)),
            Run::Endless => Verdict::Found(format!("{}: no end after {:.0?}", built.suite.name, built.limit)),
        };
        asked.map(verdict).max_by_key(|verdict| matches!(verdict, Verdict::Found(_)))
    }
}

fn concerns(suite: &Suite, site: &Site, sources: &[Source]) -> bool {
    site.edits.iter().any(|(source, ..)| (suite.concerns)(&sources[*source]))
}

impl Built {
    fn run(&self, headers: &Path, number: Option<usize>) -> Run {
        let (variable, cases) = self.suite.cases;
        let mut command = Command::new(&self.program);
        command.args(self.suite.tests).arg("--test-threads=1").env("HPMOE_CHANGED_HEADERS", headers);
        command.env(variable, cases).env("RUST_BACKTRACE", "0").env_remove(CHOSEN);
        if let Some(number) = number {
            command.env(CHOSEN, number.to_string());
        }
        // Into a file, because nothing reads the output while it runs.
        let output = headers.join(format!("{}.txt", number.map_or("as it is".to_owned(), |at| at.to_string())));
        let file = std::fs::File::create(&output).expect("a file for what tests print");
        let other = file.try_clone().expect("a second name of the file");
        // Tests start programs. All of them are one process group, which ends together.
        let command = command.stdin(Stdio::null()).stdout(file).stderr(other).process_group(0);
        let mut child = command.spawn().expect("the tests start");
        let status = ended(&mut child, self.limit);
        end_group(&child);
        let text = std::fs::read_to_string(&output).unwrap_or_default();
        let _ = std::fs::remove_file(&output);
        match status {
            None => Run::Endless,
            Some(status) if status.success() => Run::Passed,
            Some(_) => Run::Failed(said(&text)),
        }
    }
}

/// Ends the remaining processes of a group that a process started.
#[expect(unsafe_code, reason = "a call of the system")]
fn end_group(leader: &Child) {
    let group = i32::try_from(leader.id()).expect("a process's number");
    // SAFETY: takes two numbers. Where no process is left in the group, none is ended.
    unsafe { libc::killpg(group, libc::SIGKILL) };
}

enum Run {
    Passed,
    Failed(String),
    Endless,
}

/// The first failed case, or the line with the reason of a failure, or the last line.
fn said(text: &str) -> String {
    let case = text.lines().find(|line| line.starts_with("FAIL "));
    let mut lines = text.lines().skip_while(|line| !line.contains("panicked at")).skip(1);
    case.or_else(|| lines.next()).or(text.lines().last()).unwrap_or("nothing is said").to_owned()
}

impl Suite {
    /// The test program, built in the profile of this one.
    fn program(&self) -> Result<PathBuf, String> {
        let mut command = Command::new(env!("CARGO"));
        command.args(["test", "--locked", "--no-run", "--message-format=json", "-p", self.package]).args(self.asked);
        if !cfg!(debug_assertions) {
            command.arg("--release");
        }
        let output = command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("can't start cargo: {error}"))?;
        let artifact = |line: &str| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            let is_asked = message["target"]["name"] == self.target && message["profile"]["test"] == true;
            message["executable"].as_str().filter(|_| is_asked).map(PathBuf::from)
        };
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .find_map(artifact)
            .ok_or_else(|| format!("cargo built no tests of {}: {}", self.package, output.status))
    }
}
