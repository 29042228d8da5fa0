//! The report of this thread's last launch, as JSON.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::time::SystemTime;

use hpmoe_runtime::tables::ExternalTable;
use hpmoe_runtime::{Report, Trace};
use serde_json::{Value, json};

use crate::error::text;
use crate::memory::Copied;

thread_local! {
    static LAST_REPORT: RefCell<CString> = RefCell::default();
}

/// Clears the report of the previous launch.
pub(crate) fn forget() {
    LAST_REPORT.take();
}

/// Keeps the report of a launch as the thread's last report. `received` has the number of rows that each local rank
/// received by the host's route.
pub(crate) fn keep(report: &Report, received: &[usize], copied: &[Copied]) {
    let copies: Vec<Value> = copied.iter().map(copy).collect();
    let words: String = copied.iter().map(|copied| format!("\n  {copied}")).collect();
    let json = json!({
        "kernel": report.kernel,
        "ranks": report.ranks,
        "launches": report.launches,
        "tasks": report.tasks,
        "empty_tasks": report.empty_tasks,
        "waits": report.waits,
        "aic_cores_used": report.aic_cores_used,
        "aiv_cores_used": report.aiv_cores_used,
        "counters": report.counters,
        "workspace_bytes": report.workspace_bytes,
        "capacity_rows": report.capacity_rows,
        "chunks": report.chunks,
        "began_unix_ns": began(report),
        "wall_us": report.wall.as_secs_f64() * 1e6,
        "on_npus": report.on_npus,
        "checks": report.checks,
        "externals": externals(report),
        "received_rows": received,
        "copied": copies,
        "strangers": report.strangers.count(),
        "trace": report.trace.as_ref().map(events),
        "text": format!("{report}{words}"),
    });
    LAST_REPORT.set(text(&json.to_string()));
}

/// Start of the launch, in nanoseconds since 1970.
fn began(report: &Report) -> u64 {
    let since = report.begun.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The external operators, whether each ran, and the tolerance of each result.
fn externals(report: &Report) -> Value {
    let operator = |external: &ExternalTable| {
        let ExternalTable { task, file, .. } = external;
        json!({"task": task, "file": file, "ran": report.ran(external)})
    };
    let tolerances =
        report.tolerances.iter().map(|promised| (promised.tensor.to_owned(), json!(report.tolerance(promised.tensor))));
    json!({
        "operators": report.externals.iter().map(operator).collect::<Vec<_>>(),
        "tolerances": tolerances.collect::<serde_json::Map<_, _>>(),
    })
}

/// The events of a trace, as [`Trace::write`] writes them.
fn events(trace: &Trace) -> Value {
    let mut text = Vec::new();
    let written = trace.write(&mut text).map_err(serde_json::Error::io);
    written.and_then(|()| serde_json::from_slice(&text)).expect("a trace in memory is JSON")
}

fn copy(copied: &Copied) -> Value {
    let Copied { tensor, rank, bytes, reason } = copied;
    json!({"tensor": tensor, "rank": rank, "bytes": bytes, "reason": reason})
}

/// The report of the thread's last launch; empty if the launch failed.
pub(crate) fn last_report() -> *const c_char {
    LAST_REPORT.with_borrow(|report| CStr::as_ptr(report))
}
