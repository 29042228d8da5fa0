//! The code generator on one screen: from a checked graph to all files that a build writes.

use crate::analyze::CheckedGraph;
use crate::artifacts::Artifact;
use crate::emit::{Machine, Names, Paths, ascendc, tables};
use crate::graph::Sizes;
use crate::program::{Kernels, Program, program};
use crate::schedule::{Choices, schedule_with};
use crate::target::Target;
use crate::validate::{ValidSchedule, Violation, validate};

/// The back end: schedules a checked graph for a target, with choices, and makes all files that a build writes, for a kernel with or
/// without time stamps.
///
/// # Errors
///
/// A text for the user, if the taskflow exceeds a limit of descriptors, counters or memory; if its route is in groups, but some rank has
/// more places than its even share of the experts; or if the schedule fails validation, which is a fault of this compiler.
pub fn back(
    checked: &CheckedGraph,
    (target, choices): (&Target, &Choices),
    file: &str,
    artifact: &Artifact,
    fingerprint: &str,
    time_stamps: bool,
) -> Result<Program, String> {
    let valid = scheduled(checked, target, choices)?;
    let names = Names { file, symbol: &artifact.symbol, time_stamps };
    let kernel = ascendc(checked, &valid, &names, Machine::Host);
    let for_devices = differs(checked).then(|| ascendc(checked, &valid, &names, Machine::Device));
    let descriptors = artifact.below_out_dir("descriptors");
    let tables = tables(checked, &valid, &names, &Paths { fingerprint, descriptors: &descriptors });
    let kernels = Kernels { host: &kernel, device: for_devices.as_ref() };
    Ok(program(checked, &valid, target, artifact, kernels, tables, fingerprint))
}

/// Schedules a checked graph for a target, with choices, and validates the schedule.
///
/// # Errors
///
/// All errors of [`back`].
pub fn scheduled(checked: &CheckedGraph, target: &Target, choices: &Choices) -> Result<ValidSchedule, String> {
    unplaced(checked)?;
    validate(checked, schedule_with(checked, target, choices)).map_err(|violations| refused(checked, &violations))
}

/// Refuses a kernel whose route is in groups if ranks have places that no expert needs: such a route promises each rank's number of rows.
fn unplaced(checked: &CheckedGraph) -> Result<(), String> {
    let graph = checked.graph();
    if graph.route.as_ref().is_none_or(|route| route.groups.is_none()) {
        return Ok(());
    }
    let Sizes { experts, spare, .. } = graph.sizes;
    let uneven = graph.named_ranks.iter().find(|ranks| experts % **ranks as usize != 0);
    let what = match (spare, uneven) {
        (0, None) => return Ok(()),
        (0, Some(ranks)) => format!("{experts} experts can't be divided evenly among {ranks} ranks"),
        _ => format!("each rank has {spare} more places than its even share of the experts (`SPARE`)"),
    };
    Err(format!(
        "{what}, but a route in groups needs exactly an even share of the experts on each rank [HP01]\nhelp: leave out `.in_groups::<..>()`, \
         or build without `SPARE`, for ranks that divide the experts"
    ))
}

/// Whether the kernel's file for devices differs from the one for the host, because an operator is device-only.
fn differs(checked: &CheckedGraph) -> bool {
    let mut externals = checked.graph().tasks.iter().filter_map(|(_, task)| task.external.as_ref());
    externals.any(|external| external.device_only)
}

/// The text for a user whose taskflow has no valid schedule: it is too large, or the compiler has a fault.
fn refused(checked: &CheckedGraph, violations: &[Violation]) -> String {
    let large = |violation: &&Violation| matches!(violation, Violation::TooLarge { .. });
    let lines = |violations: &mut dyn Iterator<Item = &Violation>| -> String {
        violations.map(|violation| format!("\n  {}", violation.text(checked))).collect()
    };
    // If numbers are too large, other promises can be broken only because of that.
    if violations.iter().any(|violation| large(&violation)) {
        return format!(
            "this taskflow is too large [HP19]{}\nhelp: choose smaller `TOKENS`, or smaller tensors; a loop over \
             `route.chunks::<N>()` reduces the rows that are in memory at a time, and larger tile sizes reduce the number of tiles",
            lines(&mut violations.iter().filter(large))
        );
    }
    let lines = lines(&mut violations.iter());
    format!("the schedule of this taskflow fails its validation, which is a fault of hpmoe [HP90]{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprint;
    use crate::fixture::{Layer, moe_ffn};
    use crate::schedule::Choices;

    #[test]
    fn too_many_tokens_are_the_users_fault() {
        let checked = moe_ffn(&Layer { tokens: 40_000_000, hidden: 16, inter: 16, ..Layer::DEEPSEEK });
        let artifact = Artifact::new("tests", "moe_ffn", "forward", Fingerprint::default());
        let said = back(&checked, (&Target::ascend_a3(), &Choices::default()), "moe_ffn.rs", &artifact, "0", false)
            .unwrap_err();
        assert!(said.starts_with("this taskflow is too large [HP19]\n") && said.contains("help: "), "{said}");
        assert!(said.contains("8 ranks: received rows: 2560000000, but at most 2147483647 fit"), "{said}");
        assert!(!said.contains("fault of hpmoe"), "{said}");
    }
}
