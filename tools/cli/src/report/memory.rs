//! The kernel's use of on-chip memories and of a rank's memory: workspace, symmetric heap, and the caller's tensors
//! that are kept for another launch.

use super::drawing::{picture, rectangle};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::graph::TaskGraph;
use hpmoe_core::ids::{Id as _, TensorId};
use hpmoe_core::report::drawing::text;
use hpmoe_core::report::memory_table;
use hpmoe_core::schedule::Schedule;
use hpmoe_core::validate::{default_rows, kernel_sizes};
use hpmoe_kernels::memory::{LaunchRows, MemoryLine, MemoryPlace, capacity_rule};
use hpmoe_simulator::simulate::Routing;

const LEFT: f64 = 210.0;
const BAR: f64 = 420.0;
const STEP: f64 = 22.0;

/// A bar of a picture: its label, its bytes, the bytes of a full bar (the capacity, or the largest size), and a text.
struct Line {
    name: String,
    bytes: f64,
    whole: f64,
    words: String,
}

/// The pictures (SVG) of on-chip memories and of the rank's memory, each with a heading.
pub(super) fn memory(checked: &CheckedGraph, schedule: &Schedule, routing: &Routing, rank: u32) -> String {
    let ranks = routing.ranks();
    let most = (0..ranks).map(|rank| routing.received_rows(rank)).max().unwrap_or_default();
    let rows = u64::from(most.div_ceil(checked.graph().sizes.chunks as u32));
    let launch = LaunchRows {
        tokens: routing.tokens(rank) as usize,
        received: routing.received_rows(rank) as usize,
        once: routing.received_once(rank) as usize,
    };
    let table = memory_table(checked, schedule, ranks, Some(rows), Some(launch), false);
    format!(
        "<h3>On-chip memory of each task, at most</h3>{}<h3>Memory of rank {rank}: symmetric heap, workspace, and what the caller keeps for another launch</h3>\
         <p>With room for {rows} received rows{}, as many as the fullest rank has with this routing. A group has room for {} ({}) \
         unless <code>Group::capacity_rows</code> says less.</p>{}",
        bars(&on_chip(checked), "#2f6db3"),
        if checked.graph().sizes.cuts() { " of each chunk" } else { "" },
        default_rows(checked.graph(), ranks),
        capacity_rule(&kernel_sizes(checked.graph()), ranks as usize),
        bars(&tensors(checked.graph(), &table.lines), "#3f8f5f")
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
    // A task that is called with several sizes is listed for each of them.
    lines.dedup_by(|a, b| (&a.name, &a.words) == (&b.name, &b.words));
    lines
}

/// The bars of heap and workspace, and of the caller's tensors that are kept.
fn tensors(graph: &TaskGraph, lines: &[MemoryLine]) -> Vec<Line> {
    let drawn = lines.iter().filter(|line| line.place != MemoryPlace::Caller || line.is_kept());
    let mut lines: Vec<Line> = drawn
        .map(|line| {
            let mib = format!("{:.2} MiB", line.bytes as f64 / 1_048_576.0);
            let tensor = line.tensor.map(|number| &graph.tensors[TensorId::new(number)]);
            let rows = tensor.map(|tensor| format!(": {} rows of {} × {}", line.rows, tensor.columns, tensor.element));
            let place = if line.place == MemoryPlace::Caller {
                "kept by the caller".to_owned()
            } else {
                line.place.to_string()
            };
            Line {
                name: format!("{}, {place}", line.name),
                bytes: line.bytes as f64,
                whole: 0.0,
                words: mib + &rows.unwrap_or_default(),
            }
        })
        .collect();
    let most = lines.iter().map(|line| line.bytes).fold(0.0, f64::max);
    lines.iter_mut().for_each(|line| line.whole = most);
    lines
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
