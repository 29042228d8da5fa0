//! `hpmoe tune`: searches for faster schedules within a given time.
//!
//! The search runs on a separate thread (`worker.rs`), and the main thread waits no longer than the given time for it (`watch.rs`).

mod found;
mod keep;
mod report;
mod watch;
mod worker;

use crate::input::SourceFile;
use crate::options::TuneArgs;
use crate::output;
use hpmoe_core::target::{Provenance, Target, TargetConstant};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status after Ctrl-C.
const INTERRUPTED: u8 = 130;

pub(crate) fn tune(options: &TuneArgs) -> Result<ExitCode, String> {
    if !(options.seconds.is_finite() && options.seconds > 0.0) {
        return Err(format!("--seconds is {}, but must be a finite number above 0, such as 60", options.seconds));
    }
    let target = options.target.read()?;
    let input = SourceFile::as_written(&options.file, &options.settings)?;
    if !options.dry_run {
        kept_for_itself(&target)?;
    }
    let interrupted = interrupts()?;
    for place in 0..input.kernels.len() {
        let found = watch::found(options, &target, &input, place, &interrupted)?;
        if let Some(warning) = &found.warning {
            output::note(format!("warning: {warning}"));
        }
        report::report(options, &found, &target)?;
        if !options.dry_run {
            keep::keep(options, &found, &target)?;
        }
        if interrupted.load(Ordering::Relaxed) {
            output::note("interrupted: the search ended early");
            return Ok(ExitCode::from(INTERRUPTED));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a flag that Ctrl-C sets. A second Ctrl-C ends the program immediately.
fn interrupts() -> Result<Arc<AtomicBool>, String> {
    let flag = Arc::new(AtomicBool::new(false));
    let signal = signal_hook::consts::SIGINT;
    // The first action sees whether the second one has set the flag before.
    signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&flag))
        .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
        .map_err(|error| format!("can't listen for Ctrl-C: {error}"))?;
    Ok(flag)
}

/// Refuses changed constants, except numbers of cores. Schedules are stored by the target's name and cores, so builds for the unchanged
/// target would use a schedule that was found for a changed one.
fn kept_for_itself(target: &Target) -> Result<(), String> {
    let is_core_count =
        |constant: &TargetConstant| matches!((constant.section, constant.key), ("cores", "aic" | "aiv"));
    let changed =
        target.constants().iter().find(|constant| constant.provenance == Provenance::Given && !is_core_count(constant));
    changed.map_or(Ok(()), |constant| {
        Err(format!(
            "--constant {}.{}: later builds would use this schedule for the unchanged {}: describe the other machine in a \
             file with its own name (--target), or add --dry-run",
            constant.section, constant.key, target.name
        ))
    })
}
