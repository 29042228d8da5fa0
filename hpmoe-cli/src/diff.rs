//! `hpmoe diff`: how the schedules of two files differ.

use crate::options::DiffArgs;
use crate::output;
use crate::plan::{Tuning, plans};
use hpmoe_codegen::report::schedule_text;
use hpmoe_codegen::sizes::Expected;
use similar::TextDiff;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn diff(options: &DiffArgs) -> Result<ExitCode, String> {
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
        let [old_name, new_name] = [&options.old, &options.new].map(|file| file.display().to_string());
        output::text(&TextDiff::from_lines(&old, &new).unified_diff().header(&old_name, &new_name).to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}
