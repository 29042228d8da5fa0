//! The contents of a library, as JSON.

use hpmoe_runtime::tables::{RowKind, Storage, TensorTable};
use serde_json::{Map, Value, json};

use crate::header::HPMOE_C_ABI;
use crate::kernel::{Constant, Kernel};

/// The description of these kernels. The header documents its fields.
pub(crate) fn describe(kernels: &[Kernel]) -> Value {
    let mut modules: Vec<(&Kernel, Vec<Value>)> = Vec::new();
    for kernel in kernels {
        let taskflow = taskflow(kernel);
        match modules.iter_mut().find(|(first, _)| first.module == kernel.module) {
            Some((_, taskflows)) => taskflows.push(taskflow),
            None => modules.push((kernel, vec![taskflow])),
        }
    }
    let module = |(kernel, taskflows): (&Kernel, Vec<Value>)| {
        let file = kernel.compiled.tables().file;
        json!({"name": kernel.module, "file": file, "constants": constants(kernel), "taskflows": taskflows})
    };
    let modules: Vec<Value> = modules.into_iter().map(module).collect();
    json!({"abi": HPMOE_C_ABI, "version": env!("CARGO_PKG_VERSION"), "kernels": modules})
}

fn constants(kernel: &Kernel) -> Value {
    let value = |constant| match constant {
        Constant::Size(size) => json!(size),
        Constant::Number(number) => json!(number),
    };
    let constants = kernel.constants.iter().map(|(name, constant)| ((*name).to_owned(), value(*constant)));
    Value::Object(constants.collect::<Map<_, _>>())
}

/// The properties that all launches of a fixed launch share; the route only if the host makes it.
const FIXED: [&str; 3] = ["addresses", "tokens", "route"];

fn taskflow(kernel: &Kernel) -> Value {
    let tables = kernel.compiled.tables();
    let arguments: Vec<Value> = kernel.arguments().into_iter().map(argument).collect();
    let ranks: Vec<u32> = tables.schedules.iter().map(|schedule| schedule.ranks).collect();
    json!({
        "name": tables.name,
        "fingerprint": tables.fingerprint,
        "ranks": ranks,
        "experts": tables.experts,
        "spare": tables.spare,
        "top_k": tables.top_k,
        "tokens": tables.tokens,
        "chunks": tables.chunks,
        "chunks_at_most": tables.chunks_at_most(),
        "npu": kernel.compiled.device().is_some(),
        "route": if tables.route.is_some() { "kernel" } else { "host" },
        "capturable": tables.route.is_some(),
        "fixed": if tables.route.is_some() { &FIXED[..2] } else { &FIXED },
        "arguments": arguments,
    })
}

fn argument(tensor: &TensorTable) -> Value {
    let (rows, height) = match tensor.row_kind {
        RowKind::Token => ("token", None),
        RowKind::Slot => ("slot", None),
        RowKind::Received => ("received", None),
        RowKind::Once => ("once", None),
        RowKind::Expert(height) => ("expert", Some(height)),
        RowKind::Matrix(height) => ("rank", Some(height)),
        RowKind::Routed => ("routed", None),
    };
    json!({
        "name": tensor.name,
        "element": tensor.element.name(),
        "columns": tensor.columns,
        "rows": rows,
        "height": height,
        "writable": tensor.writable,
        "peers_write": matches!(tensor.storage, Storage::Shared(_)),
    })
}
