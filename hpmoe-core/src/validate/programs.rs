//! Random programs, which run through front end, scheduler and validator; their schedules are then run.
//!
//! `HPMOE_PROGRAMS` is the number of programs that are tried, and `HPMOE_PROGRAMS_FROM` the first one.

use super::execute::runs;
use super::fuzz::any;
use crate::analyze::CheckedGraph;
use crate::artifacts::Artifact;
use crate::compile::back;
use crate::finding::Diagnostic;
use crate::fingerprint::Fingerprint;
use crate::front::{front, modules};
use crate::random::Random;
use crate::schedule::{Choices, Cores, schedule_with};
use crate::syntax::Overrides;
use crate::target::Target;
use crate::validate::derive::derive;
use crate::validate::validate;
use hpmoe_programs::{Program, seeds};

/// Number of programs, unless the environment sets another.
const USUAL: u64 = 40;

/// The checked graph of a kernel's source, or its faults.
fn checked(source: &str) -> Result<CheckedGraph, Vec<Diagnostic>> {
    let module = modules(source).expect("the generated program is Rust").remove(0);
    Ok(front(&module, &Overrides::new())?.flows.into_iter().next_back().expect("the generated program has a taskflow"))
}

/// The checked graph of a random program.
pub(super) fn program(seed: u64) -> CheckedGraph {
    let program = Program::new(seed);
    let words = |faults: Vec<Diagnostic>| faults.iter().map(Diagnostic::text).collect::<Vec<_>>().join("\n");
    checked(&program.source).map_err(words).unwrap_or_else(|text| panic!("{text}\n{}", program.source))
}

/// Checks one program that the front end accepts. Its schedules, for any machine and any choices, must be valid and run right, and code
/// must be generated for it. An error about a limit that the user can avoid is not a fault.
fn fault(checked: &CheckedGraph, random: &mut Random) -> Result<(), String> {
    let mut violations = Vec::new();
    derive(checked, &mut violations);
    let words =
        |found: Vec<crate::validate::Violation>| found.iter().map(|it| it.text(checked)).collect::<Vec<_>>().join("\n");
    if !violations.is_empty() {
        return Err(words(violations));
    }
    let target = Target::ascend_a3();
    for choices in [Choices::default(), any(random)] {
        let cores = Cores { aic: 1 + random.below(4) as u32, aiv: 2 + random.below(7) as u32 };
        let schedule = schedule_with(checked, &cores.on(&target), &choices);
        let valid = validate(checked, schedule).map_err(|found| format!("{choices}: {}", words(found)))?;
        let seed = random.below(1 << 40);
        runs(checked, valid.schedule(), seed..seed + 3)
            .map_err(|failure| format!("{choices} on {cores:?}: {failure:?}"))?;
    }
    let graph = checked.graph();
    let artifact = Artifact::new("random", &graph.kernel, &graph.taskflow, Fingerprint::default());
    match back(checked, (&target, &Choices::default()), "random.rs", &artifact, "0", false) {
        Err(text) if text.contains("fault of hpmoe") => Err(text),
        _ => Ok(()),
    }
}

#[test]
fn random_programs_are_accepted_and_run() {
    for seed in seeds(USUAL) {
        let found = fault(&program(seed), &mut Random(seed));
        assert_eq!(found, Ok(()), "program {seed}:\n{}", Program::new(seed).source);
    }
}

/// A program whose text is changed is refused with an error at one of its lines, or is another valid program, which runs.
#[test]
fn faulty_programs_are_refused_at_a_line_or_run() {
    let mut refused = 0;
    let seeds = seeds(USUAL);
    let count = (seeds.end - seeds.start) as usize;
    for seed in seeds {
        let source = Program::new(seed).faulty(seed);
        let Ok(modules) = modules(&source) else { continue };
        let lines = source.lines().count();
        match front(&modules[0], &Overrides::new()) {
            Ok(front) => {
                for checked in &front.flows {
                    assert_eq!(fault(checked, &mut Random(seed)), Ok(()), "program {seed}:\n{source}");
                }
            }
            Err(faults) => {
                refused += 1;
                for fault in faults {
                    let (text, line) = (fault.text(), fault.at.start().line);
                    assert!((2..=lines).contains(&line), "program {seed} at line {line}: {text}\n{source}");
                    assert!(!text.contains("fault of hpmoe"), "program {seed}: {text}\n{source}");
                }
            }
        }
    }
    assert!(refused >= count / 4, "of {count} faulty programs {refused} are refused");
}
