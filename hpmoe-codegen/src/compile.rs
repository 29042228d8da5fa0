//! The code generator on one screen: from a checked graph to all files that a build writes.

use crate::emit::{Names, Paths, ascendc, tables};
use crate::program::{Program, program};
use crate::schedule::{Choices, schedule_with};
use crate::target::Target;
use crate::validate::{Violation, validate};
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::artifacts::Artifact;

/// The back end: schedules a checked graph for a target, with choices, and makes all files that a build writes.
///
/// # Errors
///
/// A text for the user, if the schedule fails its validation, which is a fault of this compiler.
pub fn back(
    checked: &CheckedGraph,
    (target, choices): (&Target, &Choices),
    file: &str,
    artifact: &Artifact,
    fingerprint: &str,
) -> Result<Program, String> {
    let proposed = schedule_with(checked, target, choices);
    let valid = validate(checked, proposed).map_err(|violations| refused(checked, &violations))?;
    let names = Names { file, symbol: &artifact.symbol };
    let kernel = ascendc(checked, &valid, &names);
    let descriptors = artifact.below_out_dir("descriptors");
    let tables = tables(checked, &valid, &names, &Paths { fingerprint, descriptors: &descriptors });
    Ok(program(checked, &valid, target, artifact, &kernel, tables, fingerprint))
}

fn refused(checked: &CheckedGraph, violations: &[Violation]) -> String {
    let lines: String = violations.iter().map(|violation| format!("\n  {}", violation.text(checked))).collect();
    format!("the schedule of this taskflow fails its validation, which is a fault of hpmoe [HP90]{lines}")
}
