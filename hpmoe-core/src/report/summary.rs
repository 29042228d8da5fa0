//! A summary of a graph and its schedule for people, for one number of ranks.

use super::{high_water, totals};
use crate::analyze::CheckedGraph;
use crate::emit::Ascendc;
use crate::graph::{RowKind, Tensor};
use crate::schedule::Schedule;
use crate::units::Bytes;
use crate::validate::{default_rows, footprint, kernel_sizes};
use hpmoe_kernels::memory::capacity_rule;
use hpmoe_kernels::op::TaskKind;
use std::fmt::Write as _;

/// The totals of graph, schedule, memory and code, as text.
#[must_use]
pub fn summary(checked: &CheckedGraph, schedule: &Schedule, kernel: &Ascendc, ranks: u32) -> String {
    let graph = checked.graph();
    let totals = totals(checked, schedule, ranks);
    let mut text = format!("{}::{} for {ranks} ranks\n\ngraph\n", graph.kernel, graph.taskflow);
    for (core, name) in [(TaskKind::Matrix, "matrix"), (TaskKind::Vector, "vector"), (TaskKind::Put, "put")] {
        let tasks: Vec<&str> =
            graph.tasks.iter().filter(|(_, task)| task.kind == core).map(|(_, task)| task.label.as_str()).collect();
        let _ = writeln!(text, "  {name:<12}  {}", if tasks.is_empty() { "none".into() } else { tasks.join(", ") });
    }
    for (_, task) in graph.tasks.iter() {
        let Some(external) = &task.external else { continue };
        let only = if external.device_only { ", on devices only" } else { "" };
        let near = match external.tolerance {
            0.0 => String::new(),
            tolerance => format!(", within {tolerance} of its body"),
        };
        let _ = writeln!(text, "  operators     {} by {}{only}{near}", task.label, external.file);
    }
    let _ = writeln!(text, "  tiles         {} on each rank, with even routing", totals.tiles);
    let _ = writeln!(
        text,
        "  dependencies  {}: {} by counters, {} implied by other waits, {} by the order of queues",
        totals.dependencies, totals.kept, totals.by_path, totals.by_queue
    );
    let _ = writeln!(
        text,
        "  counters      {} arrays kept, {} elided",
        totals.counter_arrays_kept,
        totals.counter_arrays - totals.counter_arrays_kept
    );
    let sizes = &graph.sizes;
    let memory = footprint(checked, schedule, ranks, default_rows(graph, ranks));
    let _ = writeln!(text, "\nschedule");
    let _ = writeln!(text, "  cores         {} AIC and {} AIV", totals.aic, totals.aiv);
    let _ = writeln!(text, "  entries       {} in {} descriptors of 64 B", totals.entries, memory.descriptors);
    let _ = writeln!(
        text,
        "  workspace     {} + {} in the symmetric heap, for {} received rows{} ({})",
        memory.workspace,
        memory.symmetric,
        memory.rows,
        if sizes.cuts() { " of a chunk" } else { "" },
        capacity_rule(&kernel_sizes(graph), ranks as usize)
    );
    if sizes.chunks > 1 {
        let (tokens, chunks, buffers) = (sizes.chunk_tokens(), sizes.chunks, sizes.buffers());
        let _ = writeln!(text, "  chunks        {chunks} of at most {tokens} tokens, {buffers} in memory at a time");
    }
    if sizes.chunks_at_most.is_some() {
        let counts: Vec<String> = sizes.chunk_counts().map(|chunks| chunks.to_string()).collect();
        let (counts, buffers) = (counts.join(", "), sizes.buffers());
        let _ = writeln!(text, "  chunks        the smallest of {counts} that fits, {buffers} in memory at a time");
    }
    let _ = writeln!(text, "  counters      {} in two sets of {}", memory.counter_bytes, memory.counters);
    let kept = kept(checked);
    if !kept.is_empty() {
        let all: Bytes = kept.iter().map(|(_, bytes)| *bytes).sum();
        let each: Vec<String> = kept.iter().map(|(name, bytes)| format!("{name} {bytes}")).collect();
        let _ = writeln!(text, "  kept          {all} by the caller, with even routing: {}", each.join(", "));
    }
    for (memory, used, capacity, task) in high_water(checked) {
        let _ = writeln!(text, "  {:<12}  {used} of {capacity} at most (`{task}`)", memory.to_string());
    }
    let _ = write!(text, "  code          AIC {}; AIV {}; estimated", kernel.aic.words(), kernel.aiv.words());
    text
}

/// The caller's tensors of received rows, which one taskflow keeps for another, with their bytes.
fn kept(checked: &CheckedGraph) -> Vec<(String, Bytes)> {
    let graph = checked.graph();
    let is_kept =
        |tensor: &&Tensor| tensor.storage.is_argument() && matches!(tensor.rows, RowKind::Received | RowKind::Once);
    let tensors = graph.tensors.iter().map(|(_, tensor)| tensor).filter(is_kept);
    // With an even routing a rank receives as many rows as it has slots.
    let rows = (graph.sizes.tokens * graph.sizes.top_k) as u64;
    let bytes = |tensor: &Tensor| Bytes(u64::from(tensor.pitch) * tensor.element.bytes() as u64) * rows;
    tensors.map(|tensor| (tensor.name.clone(), bytes(tensor))).collect()
}
