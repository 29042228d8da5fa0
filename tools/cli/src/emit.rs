//! `hpmoe emit`: the generated AscendC, or the contract of an external operator.

use crate::options::EmitArgs;
use crate::output;
use crate::plan::{FlowPlan, Tuning, chosen, plans};
use hpmoe_core::artifacts::plain;
use hpmoe_core::emit::{Machine, Names, ascendc, contract};
use hpmoe_core::graph::TaskGraph;
use hpmoe_core::ids::TaskId;
use hpmoe_core::names::nearest;
use hpmoe_core::sizes::Expected;
use hpmoe_kernels::printable::printable_path;
use std::process::ExitCode;

pub(crate) fn emit(options: &EmitArgs) -> Result<ExitCode, String> {
    let source = &options.source;
    let target = source.die.read()?;
    let mut flows = plans(&source.file, &source.settings, (&target, Expected::default()), Tuning::Taken)?;
    if options.taskflow.is_some() {
        flows = vec![chosen(flows, options.taskflow.as_deref())?];
    }
    let file = printable_path(&source.file);
    if let Some(task) = &options.task {
        output::text(&contract_of(&flows, task, &file)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let machine = if options.device { Machine::Device } else { Machine::Host };
    for flow in &flows {
        let symbol = format!("{}_{}", plain(&flow.graph().kernel), plain(&flow.graph().taskflow));
        let names = Names { file: &file, symbol: &symbol, time_stamps: false };
        output::text(&ascendc(&flow.checked, &flow.schedule(&target)?, &names, machine).text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The contract of a task's first instance, in the first taskflow that contains the task.
fn contract_of(flows: &[FlowPlan], name: &str, file: &str) -> Result<String, String> {
    let named = |graph: &TaskGraph| -> Option<TaskId> {
        graph.tasks.iter().find(|(_, task)| task.name == name || task.label == name).map(|(id, _)| id)
    };
    let Some((graph, id)) = flows.iter().find_map(|flow| Some((flow.graph(), named(flow.graph())?))) else {
        let tasks = flows.iter().flat_map(|flow| flow.graph().tasks.iter());
        let mut tasks: Vec<&str> = tasks.map(|(_, task)| task.name.as_str()).collect();
        tasks.sort_unstable();
        tasks.dedup();
        let help = match nearest(name, tasks.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("{file} calls {}", tasks.join(", ")),
        };
        return Err(format!("no taskflow calls a task `{name}`: {help}"));
    };
    let place = format!("{file}:{}", graph.tasks[id].line);
    contract(graph, id, &place)
        .ok_or_else(|| format!("`{name}` can't be an external operator: only #[aic_task] and #[aiv_task] can"))
}
