//! `hpmoe graph`: the task graph, as a text or a flowchart.

use crate::input::{Input, scheduled};
use crate::options::Graph;
use crate::output::say_line;
use hpmoe_codegen::report::{graph_text, mermaid};
use std::process::ExitCode;

pub(crate) fn graph(options: &Graph) -> Result<ExitCode, String> {
    let target = options.source.die.read()?;
    for checked in Input::read(&options.source)?.flows()? {
        let valid = scheduled(&checked, &target)?;
        let text = if options.mermaid { mermaid } else { graph_text };
        say_line!("{}", text(&checked, valid.schedule()));
    }
    Ok(ExitCode::SUCCESS)
}
