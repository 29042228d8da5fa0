//! What the kernel takes of on-chip memories, and of a rank's memory: workspace, symmetric heap, and what the caller keeps for
//! another launch.

use super::drawing::{picture, rectangle};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::graph::{RowKind, Storage, Tensor};
use hpmoe_core::report::drawing::text;
use hpmoe_kernels::route::KeptWords;
use hpmoe_simulator::simulate::Routing;

const LEFT: f64 = 210.0;
const BAR: f64 = 420.0;
const STEP: f64 = 22.0;

/// One line of a picture: its name, its bytes, what is free or the most of all lines, and a text.
struct Line {
    name: String,
    bytes: f64,
    whole: f64,
    words: String,
}

/// Both pictures (SVG), each with a heading.
pub(super) fn memory(checked: &CheckedGraph, routing: &Routing, rank: u32) -> String {
    format!(
        "<h3>On-chip memory of each task, at most</h3>{}<h3>Memory of rank {rank}: workspace, symmetric heap, and what the caller keeps for another launch</h3>\
         <p>Rows that this routing brings; a group keeps room for the most that can come unless \
         <code>Group::capacity_rows</code> says less.</p>{}",
        bars(&on_chip(checked), "#2f6db3"),
        bars(&tensors(checked, routing, rank), "#3f8f5f")
    )
}

fn on_chip(checked: &CheckedGraph) -> Vec<Line> {
    let plans = checked.graph().tasks.iter().map(|(id, task)| (task, &checked.plans()[id]));
    let lines = plans.flat_map(|(task, plan)| {
        plan.used().into_iter().map(|(memory, used, capacity)| Line {
            name: format!("{}, {memory}", task.name),
            bytes: used.0 as f64,
            whole: capacity.0 as f64,
            words: format!("{:.1} of {:.1} KiB", used.0 as f64 / 1024.0, capacity.0 as f64 / 1024.0),
        })
    });
    let mut lines: Vec<Line> = lines.collect();
    // A task that is called with several sizes is there for each of them.
    lines.dedup_by(|a, b| (&a.name, &a.words) == (&b.name, &b.words));
    lines
}

fn tensors(checked: &CheckedGraph, routing: &Routing, rank: u32) -> Vec<Line> {
    let own = checked.graph().tensors.iter().map(|(_, tensor)| tensor);
    let mut lines: Vec<Line> = own
        .filter_map(|tensor| {
            let place = place(tensor)?;
            let rows = rows(tensor, routing, rank);
            let bytes = rows as f64 * f64::from(tensor.pitch) * tensor.element.bytes() as f64;
            Some(Line {
                name: format!("{}, {place}", tensor.name),
                bytes,
                whole: 0.0,
                words: format!(
                    "{:.2} MiB: {rows} rows of {} × {}",
                    bytes / 1_048_576.0,
                    tensor.columns,
                    tensor.element
                ),
            })
        })
        .collect();
    let most = lines.iter().map(|line| line.bytes).fold(0.0, f64::max);
    lines.iter_mut().for_each(|line| line.whole = most);
    lines
}

/// Where a tensor lies; `None` for the caller's inputs, weights and results.
fn place(tensor: &Tensor) -> Option<&'static str> {
    match (tensor.storage, tensor.rows) {
        (Storage::Symmetric, _) => Some("symmetric heap"),
        (Storage::Workspace, _) => Some("workspace"),
        (_, RowKind::Received | RowKind::Once | RowKind::Routed) => Some("kept by the caller"),
        _ => None,
    }
}

/// Rows of a tensor on a rank.
fn rows(tensor: &Tensor, routing: &Routing, rank: u32) -> u64 {
    let tokens = u64::from(routing.tokens(rank));
    match tensor.rows {
        RowKind::Token => tokens,
        RowKind::Slot => tokens * u64::from(routing.top_k()),
        RowKind::Received => routing.received_rows(rank).into(),
        RowKind::Once => routing.received_once(rank).into(),
        RowKind::Routed => {
            let [ranks, experts, top_k] =
                [routing.ranks(), routing.experts(), routing.top_k()].map(|number| number as usize);
            KeptWords::new(ranks, experts, top_k, tokens as usize).end as u64
        }
        RowKind::Expert { rows } => u64::from(rows) * u64::from(routing.local_experts()),
        RowKind::Matrix { rows } => rows.into(),
    }
}

fn bars(lines: &[Line], colour: &str) -> String {
    if lines.is_empty() {
        return "<p>None.</p>".to_owned();
    }
    let mut document = picture(LEFT + BAR + 320.0, lines.len() as f64 * STEP + 6.0, "memory");
    for (row, line) in lines.iter().enumerate() {
        let top = row as f64 * STEP + 3.0;
        let width = if line.whole > 0.0 { BAR * line.bytes / line.whole } else { 0.0 };
        document = document
            .add(text(line.name.clone(), 0.0, top + 13.0, "name"))
            .add(rectangle((LEFT, top), (BAR, STEP - 5.0), "#eef1f4", line.words.clone()))
            .add(rectangle((LEFT, top), (width, STEP - 5.0), colour, line.words.clone()))
            .add(text(line.words.clone(), LEFT + BAR + 10.0, top + 13.0, "small"));
    }
    document.to_string()
}
