//! `--trace`: events for chrome://tracing and Perfetto.
//!
//! Readers require more than the format itself:
//! - Slices of a thread must not overlap. Perfetto truncates times to whole nanoseconds, after which adjacent slices could overlap.
//!   Therefore, times are whole nanoseconds, and a slice ends one nanosecond early.
//! - An arrow belongs to the slice that encloses its end, so its ends lie inside slices.
//! - Process 0 and thread 0 stand for idle time, and some readers identify a thread only by its number. Therefore, numbers start at 1 and
//!   are unique over all processes.

use hpmoe_simulator::simulate::{CoreKind, Simulated, TaskTimes, TracedTask, Workload, traced_tasks};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a process for each rank, a thread for each core, and an arrow from the last signal of each wait to the task that waited.
pub(super) fn trace(
    source: &str,
    title: &str,
    workload: &dyn Workload,
    run: &Simulated,
    path: &Path,
) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let about = json!({"about": title, "note": "simulated, not measured"});
    write!(file, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
    let mut comma = "\n";
    let mut event = |value: Value| {
        write!(file, "{comma}{value}")?;
        comma = ",\n";
        io::Result::Ok(())
    };
    names(workload).try_for_each(&mut event)?;
    let records = traced_tasks(workload, run);
    let mut arrow = 0u64;
    for record in &records {
        slices(source, workload, record).try_for_each(&mut event)?;
        for &by in record.signalled_by.iter().flatten() {
            let (from, to) = (&records[by].slice, &record.slice);
            // A slice without length can't hold an arrow.
            let (Some(tail), Some(head)) = (Shown::of(from).end(), Shown::of(to).begin()) else { continue };
            arrow += 1;
            event(end(workload, arrow, "s", from, tail))?;
            let mut head = end(workload, arrow, "f", to, head);
            head["bp"] = "e".into();
            event(head)?;
        }
    }
    writeln!(file, "\n]}}")?;
    file.flush()
}

/// One end of an arrow.
fn end(workload: &dyn Workload, arrow: u64, phase: &str, slice: &TaskTimes, at: u64) -> Value {
    let (pid, tid) = (process(slice.rank), thread(workload, slice.rank, slice.kind, slice.core));
    json!({"ph": phase, "id": arrow, "name": "signal", "cat": "signal", "pid": pid, "tid": tid, "ts": us(at)})
}

const fn process(rank: u32) -> u32 {
    rank + 1
}

/// The thread number of a core. Vector cores follow matrix cores.
fn thread(workload: &dyn Workload, rank: u32, kind: CoreKind, core: u32) -> u32 {
    let [aic, aiv] = [CoreKind::Aic, CoreKind::Aiv].map(|kind| workload.cores(kind));
    1 + rank * (aic + aiv) + core + if kind == CoreKind::Aic { 0 } else { aic }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn names(workload: &dyn Workload) -> impl Iterator<Item = Value> + '_ {
    let about = |what: &str, pid: u32, tid: u32, key: &str, value: Value| json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {key: value}});
    (0..workload.ranks()).flat_map(move |rank| {
        let pid = process(rank);
        let name = format!("rank {rank}, {}, simulated", workload.costs().policy.name());
        let cores = [(CoreKind::Aic, "AIC"), (CoreKind::Aiv, "AIV")].into_iter().flat_map(move |(kind, word)| {
            let named = move |core| (thread(workload, rank, kind, core), format!("{word} {core:02}"));
            (0..workload.cores(kind)).map(named)
        });
        let first = thread(workload, rank, CoreKind::Aic, 0);
        let threads = cores.flat_map(move |(tid, name)| {
            [
                about("thread_name", pid, tid, "name", name.into()),
                about("thread_sort_index", pid, tid, "sort_index", tid.into()),
            ]
        });
        [
            about("process_name", pid, first, "name", name.into()),
            about("process_sort_index", pid, first, "sort_index", pid.into()),
        ]
        .into_iter()
        .chain(threads)
    })
}

/// The times of a task's wait and work in the trace, in ns.
struct Shown {
    wait: (u64, u64),
    work: (u64, u64),
    empty: bool,
}

impl Shown {
    /// The times of a task. For a task without work, its overhead is shown as work that follows the wait.
    fn of(slice: &TaskTimes) -> Self {
        let [came, looked, begun, end] = [slice.came, slice.looked, slice.begun, slice.end].map(|time| time.0 / 1000);
        if slice.begun == slice.end {
            let worked = begun - (looked - came);
            Self { wait: (came, worked), work: (worked, end), empty: true }
        } else {
            Self { wait: (looked, begun), work: (begun, end), empty: false }
        }
    }

    /// The time at which an arrow to the task ends, which is the end of the task's wait.
    fn begin(&self) -> Option<u64> {
        self.end().map(|end| if self.empty { end } else { self.work.0 })
    }

    /// The time at which an arrow from the task starts: the last time that is inside its slice for all readers.
    fn end(&self) -> Option<u64> {
        (self.work.1 > self.work.0 + 1).then(|| self.work.1 - 2)
    }
}

/// The slice of the wait, if there was one, and the slice of the work. Overhead lies between them.
fn slices(
    source: &str,
    workload: &dyn Workload,
    TracedTask { slice, task, .. }: &TracedTask,
) -> impl Iterator<Item = Value> {
    let op = &workload.ops()[task.op as usize];
    let (pid, tid) = (process(slice.rank), thread(workload, slice.rank, slice.kind, slice.core));
    let shown = Shown::of(slice);
    let slice = |name: &str, category: &str, (from, to): (u64, u64), mut arguments: Value| {
        if op.line > 0 {
            arguments["source"] = format!("{source}:{}", op.line).into();
        }
        let lasts = (to - from).saturating_sub(1);
        json!({"ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid, "ts": us(from), "dur": us(lasts),
            "args": arguments})
    };
    let Shown { wait, work, empty } = shown;
    let waited = (wait.1 > wait.0 + 1).then(|| slice("wait", "wait", wait, json!({"for": op.name})));
    let arguments = json!({
        "group": task.group,
        "item": task.item,
        "column": task.column,
        "bytes": task.work.bytes() as u64,
        "flops": task.work.flops() as u64,
        "empty": empty,
    });
    waited.into_iter().chain([slice(&op.name, "task", work, arguments)])
}
