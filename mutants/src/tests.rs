//! The tests that judge mutants: what each reaches, and how long it takes.

use crate::build::Program;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A test of a program.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) program: Program,
    pub(crate) name: String,
    /// How long it takes by itself.
    pub(crate) time: Duration,
}

/// Tests that read the sources, which are others here, or that judge the judge and cost much.
const SKIPPED: [&str; 2] = ["layers::", "validate::fuzz::"];

/// What came of some tests of one program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    TooLong,
}

/// Runs tests of one program, without or with a mutant. None of their golden texts can fail.
pub(crate) fn run(
    program: &Program,
    names: &[&str],
    limit: Duration,
    variable: (&str, &str),
) -> Result<Outcome, String> {
    let mut command = Command::new("prlimit");
    command.args(["--as=8000000000", "--core=0", "--"]).arg(&program.path).args(names);
    command.args(["--exact", "--test-threads=1"]).current_dir(&program.folder);
    command.env(variable.0, variable.1).env("INSTA_FORCE_PASS", "1").env("INSTA_UPDATE", "no");
    command.env("CARGO_MANIFEST_DIR", &program.folder).env("PROPTEST_CASES", "24");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let problem = |error: std::io::Error| format!("{} can't be run: {error}", program.path.display());
    let mut child = command.spawn().map_err(problem)?;
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().map_err(problem)? {
            return Ok(if status.success() { Outcome::Passed } else { Outcome::Failed });
        }
        if Instant::now() > end {
            child.kill().and_then(|()| child.wait()).map_err(problem)?;
            return Ok(Outcome::TooLong);
        }
        sleep(Duration::from_millis(2));
    }
}

/// All tests, and for each mutant those that reach it, the quickest first.
#[derive(Default, Debug)]
pub(crate) struct Judges {
    pub(crate) tests: Vec<Test>,
    reached: BTreeMap<u32, Vec<usize>>,
}

impl Judges {
    /// Runs each test once, without a mutant.
    ///
    /// # Errors
    ///
    /// When a test fails.
    pub(crate) fn new(programs: &[Program], folder: &Path, tell: impl Fn(&str)) -> Result<Self, String> {
        let mut judges = Self::default();
        let file = folder.join("reached");
        let variable = ("HPMOE_MUTANTS_REACHED", file.to_str().ok_or("the folder's name is not UTF-8")?);
        for program in programs {
            for name in names(program)? {
                if SKIPPED.iter().any(|part| name.contains(part)) {
                    continue;
                }
                tell(&name);
                // It is there only if the test before this one reached something.
                let _ = fs::remove_file(&file);
                let start = Instant::now();
                let outcome = run(program, &[&name], Duration::from_secs(600), variable)?;
                if outcome != Outcome::Passed {
                    return Err(format!("{} {name} fails without a mutant ({outcome:?})", program.name));
                }
                let numbers = fs::read_to_string(&file).unwrap_or_default();
                for number in numbers.lines().flat_map(str::parse) {
                    judges.reached.entry(number).or_default().push(judges.tests.len());
                }
                judges.tests.push(Test { program: program.clone(), name, time: start.elapsed() });
            }
        }
        for list in judges.reached.values_mut() {
            list.sort_by_key(|&test| judges.tests[test].time);
        }
        Ok(judges)
    }

    /// Whether a test reaches a mutant.
    pub(crate) fn reach(&self, number: u32) -> bool {
        self.reached.contains_key(&number)
    }

    /// The test that notices a mutant, if one does.
    pub(crate) fn notice(&self, number: u32) -> Result<Option<String>, String> {
        let mut left = self.reached.get(&number).map_or(&[][..], Vec::as_slice);
        let number = number.to_string();
        while !left.is_empty() {
            let (together, rest) = left.split_at(self.together(left));
            let tests = || together.iter().map(|&test| &self.tests[test]);
            let names: Vec<&str> = tests().map(|test| test.name.as_str()).collect();
            let limit = tests().map(|test| test.time).sum::<Duration>() * 10 + Duration::from_secs(10);
            let program = &self.tests[together[0]].program;
            match run(program, &names, limit, ("HPMOE_MUTANT", &number))? {
                Outcome::Passed => left = rest,
                Outcome::Failed => return Ok(Some(format!("{}: {}", program.name, names.join(" ")))),
                Outcome::TooLong => return Ok(Some(format!("{}: too long: {}", program.name, names.join(" ")))),
            }
        }
        Ok(None)
    }

    /// How many of some tests share a process: quick ones of one program do.
    fn together(&self, tests: &[usize]) -> usize {
        let first = &self.tests[tests[0]];
        let mut time = Duration::ZERO;
        let joins = |test: &&usize| {
            let test = &self.tests[**test];
            time += test.time;
            test.program.path == first.program.path && time < Duration::from_secs(1)
        };
        tests.iter().take_while(joins).count().max(1)
    }
}

fn names(program: &Program) -> Result<Vec<String>, String> {
    let output = Command::new(&program.path).args(["--list", "--format=terse"]).current_dir(&program.folder).output();
    let output = output.map_err(|error| format!("{} can't be run: {error}", program.path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}
