//! A task graph as text.

use super::names;
use crate::analyze::{CheckedGraph, Hazard};
use crate::graph::{Access, Columns, Outer, Phase, RowKind, Rows, Storage, TaskGraph};
use crate::schedule::Schedule;
use std::fmt::Write as _;

/// The text of a graph: tensors, tasks, phases with their reads and writes, dependencies with their counter or the reason why
/// none is needed, and counters.
#[must_use]
pub fn graph_text(checked: &CheckedGraph, schedule: &Schedule) -> String {
    let graph = checked.graph();
    let sizes = &graph.sizes;
    let mut text = format!("graph of {}::{}\n", graph.kernel, graph.taskflow);
    let _ = writeln!(text, "  {} experts, top {}, at most {} tokens", sizes.experts, sizes.top_k, sizes.tokens);
    if let Some(route) = &graph.route {
        let after = match route.before {
            0 => String::new(),
            before => format!(" after phase {}", before - 1),
        };
        let by = match graph.tensors[route.ids].rows {
            RowKind::Routed => "kept by another launch",
            _ => "made by the kernel",
        };
        let kept = route.keeps.map_or_else(String::new, |kept| format!(", kept in {}", graph.tensors[kept].name));
        let _ = writeln!(text, "  route: {}, {by}{after}{kept}", route.source);
    }
    section(&mut text, "tensors", &[12, 4, 22], &tensors(graph));
    section(&mut text, "tasks", &[18, 6], &tasks(graph));
    section(&mut text, "phases", &[2, 18, 26], &phases(graph));
    section(&mut text, "dependencies", &[18, 11, 18, 12], &dependencies(checked, schedule));
    section(&mut text, "counters", &[3, 44], &counters(checked, schedule));
    text
}

/// Lines of cells, each padded to the width of its column. The widths are fixed, and longer cells move only their own line: in
/// snapshots of the text, a change shows up in the lines that it is about, and in no others.
fn section(text: &mut String, title: &str, widths: &[usize], rows: &[Vec<String>]) {
    let _ = writeln!(text, "\n{title}");
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths.iter().chain(std::iter::repeat(&0))) {
            let _ = write!(line, "  {cell:width$}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn tensors(graph: &TaskGraph) -> Vec<Vec<String>> {
    let row = |(_, tensor): (_, &crate::graph::Tensor)| {
        let rows = match tensor.rows {
            RowKind::Token => "tokens".to_owned(),
            RowKind::Slot => format!("tokens * {}", graph.sizes.top_k),
            RowKind::Received => "received".to_owned(),
            RowKind::Once => "received once".to_owned(),
            RowKind::Expert(rows) => format!("experts * {rows}"),
            RowKind::Matrix(rows) => rows.to_string(),
            RowKind::Routed => "words of a route".to_owned(),
        };
        let memory = match tensor.storage {
            Storage::Argument if tensor.writable => "output",
            Storage::Argument => "input",
            Storage::Shared => "output in reach of peers",
            Storage::Workspace => "workspace",
            Storage::Symmetric => "symmetric",
        };
        vec![tensor.name.clone(), tensor.element.to_string(), format!("{rows} x {}", tensor.columns), memory.to_owned()]
    };
    graph.tensors.iter().map(row).collect()
}

fn tasks(graph: &TaskGraph) -> Vec<Vec<String>> {
    let row = |(_, task): (_, &crate::graph::Task)| {
        let param = |param: &crate::graph::Param| {
            let by = if param.write { "&mut " } else { "&" };
            let shape = &param.shape;
            format!("{}: {by}{} {}x{}", param.name, shape.element, shape.rows, shape.cols)
        };
        let params: Vec<String> = task.params.iter().map(param).collect();
        vec![task.label.clone(), names::core(task.kind).to_owned(), params.join(", ")]
    };
    graph.tasks.iter().map(row).collect()
}

fn phases(graph: &TaskGraph) -> Vec<Vec<String>> {
    let row = |(id, phase): (crate::ids::PhaseId, &Phase)| {
        let space = names::space(graph, phase.space);
        let ranges: String = phase.ranges.iter().map(|range| format!(" x {range}")).collect();
        let mut touched: Vec<String> = phase.accesses.iter().map(|access| touched(graph, phase, access)).collect();
        if let Some(origins) = phase.origins {
            let name = &graph.tensors[origins.tensor].name;
            touched.push(if origins.write { format!("writes peer's {name}") } else { format!("reads {name}") });
        }
        let number = id.0.to_string();
        vec![number, graph.phase_name(id), format!("{space}{ranges}"), touched.join(", ")]
    };
    graph.phases.iter().map(row).collect()
}

/// An access of a phase, as in `writes peer's recv[piece]`.
fn touched(graph: &TaskGraph, phase: &Phase, access: &Access) -> String {
    let of_range = |range: Option<u32>, index: u32| match (range, index) {
        (None, index) => index.to_string(),
        // One range needs no number.
        (Some(range), index) => {
            let variable = if phase.ranges.len() == 1 { "n".to_owned() } else { format!("n{range}") };
            if index == 0 { variable } else { format!("{variable} + {index}") }
        }
    };
    let rows = match access.region.rows {
        Rows::Tile => "tile".to_owned(),
        Rows::Group => "all rows".to_owned(),
        Rows::Piece => "piece".to_owned(),
        Rows::Gather => "gathered".to_owned(),
        Rows::Once => "tokens of the tile".to_owned(),
        Rows::Scatter => "scattered".to_owned(),
        Rows::Block => "block".to_owned(),
        Rows::BlockSlots => "slots of the block".to_owned(),
        Rows::Expert { range, index, outer, .. } => {
            let (RowKind::Expert(rows) | RowKind::Matrix(rows)) = graph.tensors[access.tensor].rows else {
                unreachable!("only matrices have a fixed number of rows")
            };
            let matrix = matches!(graph.tensors[access.tensor].rows, RowKind::Matrix(_));
            let (expert, end) = (if matrix { "" } else { "expert, " }, outer.first + outer.rows);
            let of = if outer == Outer::whole(rows) { String::new() } else { format!(" of {}..{end}", outer.first) };
            format!("{expert}{}{of}", of_range(range, index))
        }
    };
    let columns = match access.region.columns {
        Columns::All => String::new(),
        Columns::Tile { range, index, .. } => format!(", {}", of_range(range, index)),
    };
    let verb = if access.write { "writes" } else { "reads" };
    let place = if access.remote { " peer's" } else { "" };
    format!("{verb}{place} {}[{rows}{columns}]", graph.tensors[access.tensor].name)
}

fn dependencies(checked: &CheckedGraph, schedule: &Schedule) -> Vec<Vec<String>> {
    let graph = checked.graph();
    let row = |(number, dependency): (usize, &crate::analyze::Dependency)| {
        let hazard = match dependency.hazard {
            Hazard::ReadAfterWrite => "reads after",
            Hazard::WriteAfterRead => "overwrites what is read by",
            Hazard::WriteAfterWrite => "overwrites after",
        };
        let cover = match names::elided(schedule, number) {
            Some(elision) => format!("elided: {}", names::reason(graph, &elision.implied)),
            None => format!("kept: c{}", dependency.wait.counter.0),
        };
        vec![
            graph.phase_name(dependency.after),
            hazard.to_owned(),
            graph.phase_name(dependency.before),
            graph.tensors[dependency.tensor].name.clone(),
            cover,
        ]
    };
    checked.dependencies().iter().enumerate().map(row).collect()
}

fn counters(checked: &CheckedGraph, schedule: &Schedule) -> Vec<Vec<String>> {
    let row = |id: crate::ids::CounterId| {
        let waits = schedule.waits().find(|wait| wait.counter == id);
        let full = waits.map_or("not used".to_owned(), |wait| format!("full at {}", wait.need));
        vec![format!("c{}", id.0), names::counter(checked, id), full]
    };
    checked.counters().ids().map(row).collect()
}
