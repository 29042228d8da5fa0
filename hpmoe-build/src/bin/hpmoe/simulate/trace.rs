//! `--trace`: events for chrome://tracing and Perfetto.

use hpmoe_core::simulate::{CoreKind, Program, Record, Simulated, Slice, Time, record};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Vector cores follow matrix cores.
const FIRST_VECTOR_CORE: u32 = 100;

/// A process for each rank, a thread for each core; an arrow from the last signal of what a task waited for to the task.
pub(super) fn trace(source: &str, title: &str, program: &dyn Program, run: &Simulated, path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let about = json!({"about": title, "note": "simulated, not measured"});
    write!(file, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
    let mut comma = "\n";
    let mut event = |value: Value| {
        write!(file, "{comma}{value}")?;
        comma = ",\n";
        io::Result::Ok(())
    };
    names(program).try_for_each(&mut event)?;
    let records = record(program, run);
    let mut arrow = 0u64;
    for record in &records {
        slices(source, program, record).try_for_each(&mut event)?;
        for &by in record.signalled_by.iter().flatten() {
            arrow += 1;
            let by = &records[by].slice;
            // Inside the slice that signals, so that the arrow belongs to it.
            let from = by.begun.us().max(by.end.us() - 1e-3);
            event(
                json!({"ph": "s", "id": arrow, "name": "signal", "cat": "signal", "pid": by.rank, "tid": thread(by),
                "ts": from}),
            )?;
            let to = &record.slice;
            event(json!({"ph": "f", "bp": "e", "id": arrow, "name": "signal", "cat": "signal", "pid": to.rank,
                "tid": thread(to), "ts": to.begun.us()}))?;
        }
    }
    writeln!(file, "\n]}}")?;
    file.flush()
}

fn thread(slice: &Slice) -> u32 {
    slice.core + if slice.kind == CoreKind::Aic { 0 } else { FIRST_VECTOR_CORE }
}

fn names(program: &dyn Program) -> impl Iterator<Item = Value> + '_ {
    let named = |what: &str, pid: u32, tid: u32, name: String| json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}});
    (0..program.ranks()).flat_map(move |rank| {
        let rank_name = format!("rank {rank}, {}, simulated", program.policy().name);
        let aic = (0..program.cores(CoreKind::Aic)).map(move |core| (core, format!("AIC {core:02}")));
        let aiv = (0..program.cores(CoreKind::Aiv)).map(|core| (FIRST_VECTOR_CORE + core, format!("AIV {core:02}")));
        let threads = aic.chain(aiv).map(move |(tid, name)| named("thread_name", rank, tid, name));
        std::iter::once(named("process_name", rank, 0, rank_name)).chain(threads)
    })
}

/// The wait, where there was one, and the work.
fn slices(source: &str, program: &dyn Program, Record { slice, task, .. }: &Record) -> impl Iterator<Item = Value> {
    let op = &program.ops()[task.op as usize];
    let of = |name: &str, category: &str, (from, to): (Time, Time), arguments: Value| {
        json!({"ph": "X", "name": name, "cat": category, "pid": slice.rank, "tid": thread(slice), "ts": from.us(),
            "dur": (to - from).us(), "args": arguments})
    };
    let place = if op.line > 0 { format!("{source}:{}", op.line) } else { String::new() };
    let waited = (slice.begun > slice.came)
        .then(|| of("wait", "wait", (slice.came, slice.begun), json!({"for": op.name, "source": place})));
    let arguments = json!({
        "source": place,
        "group": task.group,
        "item": task.item,
        "column": task.column,
        "bytes": task.work.bytes() as u64,
        "flops": task.work.flops() as u64,
    });
    waited.into_iter().chain([of(&op.name, "task", (slice.begun, slice.end), arguments)])
}
