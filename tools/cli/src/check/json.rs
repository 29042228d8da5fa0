//! `hpmoe check --json`.

use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::finding::Diagnostic;
use hpmoe_core::unused::Unused;
use proc_macro2::Span;
use serde_json::{Value, json};

/// The JSON object for a file.
pub(super) fn object(file: &str, taskflows: Vec<Value>, faults: &[Diagnostic], warnings: &[Unused]) -> Value {
    json!({
        "file": file,
        "taskflows": taskflows,
        "faults": faults.iter().map(fault).collect::<Vec<_>>(),
        "warnings": warnings.iter().map(warning).collect::<Vec<_>>(),
    })
}

/// The JSON object for a taskflow without faults.
pub(super) fn taskflow(flow: &CheckedGraph) -> Value {
    let graph = flow.graph();
    json!({
        "kernel": graph.kernel,
        "taskflow": graph.taskflow,
        "tasks": graph.tasks.len(),
        "calls": graph.phases.len(),
        "tensors": graph.tensors.len(),
        "dependencies": flow.dependencies().len(),
    })
}

fn fault(fault: &Diagnostic) -> Value {
    let words = fault.words();
    let also = words.also.iter().map(|(span, note)| at(*span, json!({"note": note})));
    let also: Vec<Value> = also.collect();
    at(fault.at, json!({"code": words.code, "message": words.message, "help": words.help, "also": also}))
}

fn warning(unused: &Unused) -> Value {
    at(unused.at, json!({"message": unused.message, "help": unused.help}))
}

/// Adds the place in the file to an object. Lines and columns count from 1.
fn at(span: Span, mut object: Value) -> Value {
    let start = span.start();
    object["line"] = start.line.into();
    object["column"] = (start.column + 1).into();
    object
}
