//! `hpmoe diff`: the differences between the schedules of two source files, or between the runs of two traces.

mod trace;
mod traces;

use crate::options::DiffArgs;
use crate::output;
use crate::plan::{Tuning, plans};
use hpmoe_core::report::schedule_text;
use hpmoe_core::sizes::Expected;
use hpmoe_kernels::printable::printable_path;
use similar::TextDiff;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn diff(options: &DiffArgs) -> Result<ExitCode, String> {
    let is_trace = |file: &Path| file.extension().is_some_and(|extension| extension == "json");
    match (is_trace(&options.old), is_trace(&options.new)) {
        (false, false) => schedules(options),
        (true, true) if options.settings.is_empty() => {
            output::text(&traces::compared(&options.old, &options.new)?)?;
            Ok(ExitCode::SUCCESS)
        }
        (true, true) => Err("--set changes kernels, but traces are of runs that have ended: leave it out".to_owned()),
        _ => {
            Err("one of the files is a trace (.json) and the other is not: name two source files or two traces"
                .to_owned())
        }
    }
}

/// Prints the differences between the schedules of two source files.
fn schedules(options: &DiffArgs) -> Result<ExitCode, String> {
    let target = options.die.read()?;
    let schedules = |file: &Path| -> Result<String, String> {
        let mut text = String::new();
        for plan in plans(file, &options.settings, (&target, Expected::default()), Tuning::Taken)? {
            text.push_str(&schedule_text(&plan.checked, plan.schedule(&target)?.schedule()));
        }
        Ok(text)
    };
    let (old, new) = (schedules(&options.old)?, schedules(&options.new)?);
    if old == new {
        output::line("the schedules are the same")?;
    } else {
        let [old_name, new_name] = [&options.old, &options.new].map(|file| printable_path(file));
        output::text(&TextDiff::from_lines(&old, &new).unified_diff().header(&old_name, &new_name).to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}
