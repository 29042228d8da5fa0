//! `hpmoe check`: reports every fault of every kernel at its place in the source.

mod json;

use crate::faults::ShownFile;
use crate::input::SourceFile;
use crate::options::CheckArgs;
use crate::output;
use crate::plan::scheduled;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::sizes::Expected;
use hpmoe_core::unused::unused;
use std::process::ExitCode;

pub(crate) fn check(options: &CheckArgs) -> Result<ExitCode, String> {
    let source = &options.source;
    let target = source.die.read()?;
    let input = SourceFile::read(&source.file, &source.settings, (&target, Expected::default()))?;
    let shown = ShownFile::new(&input.name, &input.text);
    let (mut flows, mut faults, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for kernel in &input.kernels {
        match kernel.front() {
            Ok(front) => {
                for flow in &front.flows {
                    scheduled(flow, &target)?;
                    match options.json {
                        true => flows.push(json::taskflow(flow)),
                        false => {
                            let (kernel, taskflow) = (&flow.graph().kernel, &flow.graph().taskflow);
                            output::line(format!("{kernel}::{taskflow} is right: {}", numbers(flow)))?;
                        }
                    }
                }
                warnings.extend(unused(&front));
            }
            Err(found) => faults.extend(found),
        }
    }
    if options.json {
        output::line(json::object(&input.name, flows, &faults, &warnings))?;
    } else {
        warnings.iter().try_for_each(|unused| shown.warn(unused))?;
        faults.iter().try_for_each(|fault| shown.show(fault))?;
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn numbers(flow: &CheckedGraph) -> String {
    let graph = flow.graph();
    [
        counted(graph.tasks.len(), "task", "tasks"),
        counted(graph.phases.len(), "call", "calls"),
        counted(graph.tensors.len(), "tensor", "tensors"),
        counted(flow.dependencies().len(), "dependency", "dependencies"),
    ]
    .join(", ")
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
