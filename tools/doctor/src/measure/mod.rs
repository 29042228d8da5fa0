//! `--measure`: measures constants of a target on these NPUs, and writes the target file of the machine.

mod file;
mod loops;
mod measured;

use crate::answer::{Answer, Failure};
use crate::examination::Examination;
use crate::options::Options;
use crate::probes::Probe;
use hpmoe_core::target::{ASCEND_A3, Target};
use hpmoe_runtime::printable::{printable_lines, printable_path};
use std::path::Path;

/// Measures all measurable constants. The process that prints results writes the file. All processes call this
/// function.
pub(crate) fn measure(
    examination: &mut Examination,
    options: &Options,
    answers: &[(&Probe, Answer)],
) -> Result<(), String> {
    let unknown = |(probe, answer): &&(&Probe, Answer)| answer.is_failure() || probe.is_of_one() && !answer.lets_on();
    if let Some((probe, _)) = answers.iter().find(unknown) {
        return Err(format!("nothing was timed: `{}` does not hold, and times of such NPUs would mislead", probe.name));
    }
    let base = examination.team.exchange(base(&options.target).map(String::into_bytes).map_err(Failure::new));
    let base = base.map_err(|failure| failure.seen)?.swap_remove(0);
    let base = String::from_utf8_lossy(&base).into_owned();
    let target = Target::read(&base)
        .map_err(|_| "this process can't read rank 0's target: start all processes from one build".to_owned())?;
    let measured = loops::all(examination, options, &target).map_err(|failure| failure.seen)?;
    if !examination.team.tells() {
        return Ok(());
    }
    let machine = file::Machine {
        chip: &examination.places[0].chip,
        ranks: examination.team.ranks,
        stand_in: examination.is_stand_in(),
    };
    let text = machine.text(&base, &measured);
    if let Err(faults) = Target::read(&text) {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        return Err(format!("the measured constants are not a valid target: {}", faults.join("; ")));
    }
    std::fs::write(&options.out, text)
        .map_err(|error| format!("can't write `{}`: {error}", printable_path(&options.out)))?;
    println!("{}", printable_lines(&machine.summary(&measured, &options.out)));
    Ok(())
}

/// The text of the target that provides all values that are not measured.
fn base(target: &str) -> Result<String, String> {
    if Target::built_in(target).is_some() {
        return Ok(ASCEND_A3.to_owned());
    }
    hpmoe_build::read_target(Path::new(target))?;
    std::fs::read_to_string(target).map_err(|error| format!("can't read `{target}`: {error}"))
}
