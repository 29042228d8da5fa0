//! `--export`: the queue of every core, task by task, so that another program can replay it. `docs/export.md` describes
//! the schema.

mod rates;
mod work;

use super::launched::Launched;
use crate::options::ScheduleArgs;
use crate::plan::FlowPlan;
use crate::routing::sizes_of;
use hpmoe_core::target::Target;
use hpmoe_kernels::printable::printable_path;
use hpmoe_simulator::simulate::{CoreKind, EntriesRead, Ours, QueuedTask, Upcoming, Workload as _, ready_seen};
use rates::rates;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes the queues of all ranks, with the extents for a routing.
pub(super) fn export(
    options: &ScheduleArgs,
    target: &Target,
    plan: &FlowPlan,
    launched: &Launched,
    path: &Path,
) -> Result<(), String> {
    let (graph, routing) = (plan.graph(), &launched.routing);
    let sizes = sizes_of(&graph.sizes, options.group())?;
    let ours = launched.workload(target)?;
    let head = json!({
        "format": "hpmoe-schedule",
        "version": 3,
        "kernel": graph.kernel,
        "taskflow": graph.taskflow,
        "ranks": sizes.ranks,
        "experts": sizes.experts,
        "top_k": sizes.top_k,
        "chunks": launched.checked.graph().sizes.chunks,
        "tokens": (0..sizes.ranks).map(|rank| routing.tokens(rank)).collect::<Vec<_>>(),
        "routing": options.routing,
        "schedule": plan.origin.name(),
        "target": target.name,
        "rates": rates(target, ours.costs()),
        "counters": (0..sizes.ranks).map(|rank| ours.counters(rank)).collect::<Vec<_>>(),
    });
    write(target, &ours, &head, path).map_err(|error| format!("can't write {}: {error}", printable_path(path)))
}

/// Writes one queue after another, so that millions of tasks need no memory.
fn write(target: &Target, ours: &Ours<'_>, head: &Value, path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let head = head.to_string();
    write!(file, "{},\"queues\":[", head.trim_end_matches('}'))?;
    let mut between = "\n";
    for rank in 0..ours.ranks() {
        for (kind, name) in [(CoreKind::Aic, "aic"), (CoreKind::Aiv, "aiv")] {
            for core in 0..ours.cores(kind) {
                write!(file, "{between}{{\"rank\":{rank},\"core\":\"{name}\",\"number\":{core},\"tasks\":[")?;
                let mut next = Upcoming::first(ours, (rank, kind, core));
                let (mut task, mut comma) = (QueuedTask::default(), "");
                let left = loop {
                    let (found, entries) = next.take(ours, (rank, kind, core), &mut task);
                    if !found {
                        break entries.late;
                    }
                    write!(file, "{comma}\n{}", object(target, ours, (rank, kind), &task, entries))?;
                    comma = ",";
                };
                let after = (ours.costs().entry * u64::from(left)).us() * 1e3;
                write!(file, "],\"after_ns\":{after}}}")?;
                between = ",\n";
            }
        }
    }
    writeln!(file, "]}}")?;
    file.flush()
}

fn object(
    target: &Target,
    ours: &Ours<'_>,
    (rank, kind): (u32, CoreKind),
    task: &QueuedTask,
    entries: EntriesRead,
) -> Value {
    let tile = ours.tile(rank, task);
    let waits = task.waits.iter().filter(|wait| wait.need > 0);
    let signals = task.signals.iter();
    let late = ours.costs().entry * u64::from(entries.late);
    let before = ours.costs().before(kind, task) + late + ours.costs().entry * u64::from(entries.early);
    let mut object = json!({
        "op": ours.ops()[task.op as usize].name,
        "line": ours.ops()[task.op as usize].line,
        "group": task.group,
        "item": task.item,
        "column": task.column,
        "tile": {"rows": tile.rows, "columns": tile.columns, "depth": tile.depth},
        "bytes": task.work.bytes() as u64,
        "flops": task.work.flops() as u64,
        "work": work::work(rank, task),
        "before_ns": before.us() * 1e3,
        "waits": waits.map(|wait| json!({"counter": wait.counter, "threshold": wait.need})).collect::<Vec<_>>(),
        "signals": signals
            .map(|signal| json!({"counter": signal.counter, "rank": signal.rank, "amount": signal.amount}))
            .collect::<Vec<_>>(),
    });
    if task.ahead.l2 > 0.0 {
        object["ahead"] = json!({
            "hbm_read": task.ahead.hbm as u64,
            "l2_read": task.ahead.l2 as u64,
            "first": task.ahead.first,
            "after_ns": late.us() * 1e3 + target.sync.task_pickup_ns,
        });
    }
    if let Some(peer) = task.awaits_ready {
        object["not_before_ns"] = (ready_seen(target, ours.costs(), rank, peer).us() * 1e3).into();
    }
    object
}
