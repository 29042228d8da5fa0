//! `hpmoe diff`: what is different in the schedules of two files.

use crate::input::{Input, scheduled};
use crate::options::{Diff, Source};
use crate::output::{say, say_line};
use hpmoe_codegen::report::schedule_text;
use similar::TextDiff;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn diff(options: &Diff) -> Result<ExitCode, String> {
    let target = options.die.read()?;
    let text = |file: &Path| -> Result<String, String> {
        let source = Source { file: file.to_owned(), settings: options.settings.clone(), die: options.die.clone() };
        let mut all = String::new();
        for checked in Input::read(&source)?.flows()? {
            all.push_str(&schedule_text(&checked, scheduled(&checked, &target)?.schedule()));
        }
        Ok(all)
    };
    let (old, new) = (text(&options.old)?, text(&options.new)?);
    if old == new {
        say_line!("the schedules are the same");
    } else {
        let names = (options.old.display().to_string(), options.new.display().to_string());
        say!("{}", TextDiff::from_lines(&old, &new).unified_diff().header(&names.0, &names.1));
    }
    Ok(ExitCode::SUCCESS)
}
