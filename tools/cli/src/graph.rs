//! `hpmoe graph`: the task graph, as text or as a flowchart.

use crate::options::GraphArgs;
use crate::output;
use crate::plan::{Tuning, plans};
use hpmoe_core::report::{graph_text, mermaid};
use hpmoe_core::sizes::Expected;
use std::process::ExitCode;

pub(crate) fn graph(options: &GraphArgs) -> Result<ExitCode, String> {
    let source = &options.source;
    let target = source.die.read()?;
    let text = if options.mermaid { mermaid } else { graph_text };
    for plan in plans(&source.file, &source.settings, (&target, Expected::default()), Tuning::Taken)? {
        output::line(text(&plan.checked, plan.schedule(&target)?.schedule()))?;
    }
    Ok(ExitCode::SUCCESS)
}
