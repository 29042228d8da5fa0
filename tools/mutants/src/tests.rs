//! The tests that judge mutants: the mutants that each reaches, and its duration.

use crate::build::Program;
use crate::part::Part;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A test of a program.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) program: Program,
    pub(crate) name: String,
    /// Its duration without a mutant.
    pub(crate) time: Duration,
}

/// The results of some tests of one program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    TooLong,
}

/// The signal that ends a process which has used up its processor time.
const SIGXCPU: i32 = 24;

/// Runs tests of one program, without or with a mutant. None of their golden texts can fail.
///
/// The limit is in processor time, so that other work on the machine does not count. A process that only waits is ended after ten times the
/// limit.
pub(crate) fn run(
    program: &Program,
    names: &[&str],
    limit: Duration,
    variable: (&str, &str),
) -> Result<Outcome, String> {
    let mut command = Command::new("prlimit");
    let cpu = format!("--cpu={}", limit.as_secs().max(1));
    command.args(["--as=8000000000", "--core=0", &cpu, "--"]).arg(&program.path).args(names);
    command.args(["--exact", "--test-threads=1"]).current_dir(&program.folder);
    command.env(variable.0, variable.1).env("INSTA_FORCE_PASS", "1").env("INSTA_UPDATE", "no");
    command.env("CARGO_MANIFEST_DIR", &program.folder).env("PROPTEST_CASES", "24");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let problem = |error: std::io::Error| format!("{} can't be run: {error}", program.path.display());
    let mut child = command.spawn().map_err(problem)?;
    let end = Instant::now() + limit * 10;
    loop {
        if let Some(status) = child.try_wait().map_err(problem)? {
            return Ok(match status.signal() {
                Some(SIGXCPU) => Outcome::TooLong,
                _ if status.success() => Outcome::Passed,
                _ => Outcome::Failed,
            });
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
    /// Runs each test once, without a mutant, unless `known` is what [`text`](Self::text) returned for the same sources.
    ///
    /// # Errors
    ///
    /// When a test fails.
    pub(crate) fn new(
        part: Part,
        programs: &[Program],
        folder: &Path,
        known: Option<&str>,
        tell: impl Fn(&str),
    ) -> Result<Self, String> {
        let mut judges = Self::default();
        if let Some(text) = known {
            for line in text.lines() {
                judges.read(programs, line).ok_or_else(|| format!("no test is like this: {line}"))?;
            }
            judges.sort();
            return Ok(judges);
        }
        let file = folder.join("reached");
        let variable = ("HPMOE_MUTANTS_REACHED", file.to_str().ok_or("the folder's name is not UTF-8")?);
        for program in programs {
            for name in names(program)? {
                if part.skips(&name) {
                    continue;
                }
                tell(&name);
                // The file exists only if the previous test reached a mutant.
                let _ = fs::remove_file(&file);
                let start = Instant::now();
                let outcome = run(program, &[&name], Duration::from_secs(600), variable)?;
                if outcome != Outcome::Passed {
                    return Err(format!("{} {name} fails without a mutant ({outcome:?})", program.name));
                }
                let time = start.elapsed();
                let numbers = fs::read_to_string(&file).unwrap_or_default();
                judges.add(Test { program: program.clone(), name, time }, numbers.lines().flat_map(str::parse));
            }
        }
        judges.sort();
        Ok(judges)
    }

    fn add(&mut self, test: Test, numbers: impl Iterator<Item = u32>) {
        for number in numbers {
            self.reached.entry(number).or_default().push(self.tests.len());
        }
        self.tests.push(test);
    }

    fn sort(&mut self) {
        for list in self.reached.values_mut() {
            list.sort_by_key(|&test| self.tests[test].time);
        }
    }

    /// A line for each test: its program, its name, its milliseconds, and the mutants that it reaches.
    pub(crate) fn text(&self) -> String {
        let mut numbers = vec![String::new(); self.tests.len()];
        for (number, tests) in &self.reached {
            tests.iter().for_each(|&test| numbers[test].push_str(&format!(" {number}")));
        }
        let line = |(test, numbers): (&Test, String)| {
            format!("{} {} {}{numbers}\n", test.program.name, test.name, test.time.as_millis())
        };
        self.tests.iter().zip(numbers).map(line).collect()
    }

    fn read(&mut self, programs: &[Program], line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let (program, name, millis) = (words.next()?, words.next()?.to_owned(), words.next()?.parse().ok()?);
        let program = programs.iter().find(|known| known.name == program)?.clone();
        self.add(Test { program, name, time: Duration::from_millis(millis) }, words.flat_map(str::parse));
        Some(())
    }

    /// Whether a test reaches a mutant.
    pub(crate) fn reach(&self, number: u32) -> bool {
        self.reached.contains_key(&number)
    }

    /// The tests that notice a mutant, if some do. Tests that noticed it with earlier sources run first.
    pub(crate) fn notice(&self, number: u32, before: Option<&str>) -> Result<Option<String>, String> {
        let mut left = self.reached.get(&number).map_or(&[][..], Vec::as_slice);
        let known = before.unwrap_or_default().split(' ').collect::<Vec<_>>();
        let is_known = |test: &usize| known.contains(&self.tests[*test].name.as_str());
        let first: Vec<usize> = left.iter().copied().filter(is_known).collect();
        for of_program in first.chunk_by(|&a, &b| self.tests[a].program.path == self.tests[b].program.path) {
            if let Some(noticed) = self.ask(number, of_program)? {
                return Ok(Some(noticed));
            }
        }
        while !left.is_empty() {
            let (together, rest) = left.split_at(self.together(left));
            if let Some(noticed) = self.ask(number, together)? {
                return Ok(Some(noticed));
            }
            left = rest;
        }
        Ok(None)
    }

    /// Some tests of one program, if they notice a mutant.
    fn ask(&self, number: u32, tests: &[usize]) -> Result<Option<String>, String> {
        let all = || tests.iter().map(|&test| &self.tests[test]);
        let names: Vec<&str> = all().map(|test| test.name.as_str()).collect();
        let limit = all().map(|test| test.time).sum::<Duration>() * 10 + Duration::from_secs(10);
        let program = &self.tests[tests[0]].program;
        Ok(match run(program, &names, limit, ("HPMOE_MUTANT", &number.to_string()))? {
            Outcome::Passed => None,
            Outcome::Failed => Some(format!("{}: {}", program.name, names.join(" "))),
            Outcome::TooLong => Some(format!("{}: too long: {}", program.name, names.join(" "))),
        })
    }

    /// How many of these tests, from the first on, share a process: quick tests of one program.
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
