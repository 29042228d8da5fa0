//! The memory of a launch, as JSON.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use hpmoe_runtime::{MemoryLine, MemoryTable};
use serde_json::{Value, json};

use crate::error::{Failure, text};
use crate::kernel::Kernel;

thread_local! {
    static LAST_TABLE: RefCell<CString> = RefCell::default();
}

/// Makes the table of a kernel's memory. The thread keeps its text until it makes another table.
pub(crate) fn make(kernel: &Kernel, ranks: u64, capacity_rows: u64, tokens: u64) -> Result<*const c_char, Failure> {
    let [ranks, tokens] = [ranks, tokens].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let capacity = (capacity_rows > 0).then_some(capacity_rows as usize);
    let table = kernel.compiled.memory_table(ranks, capacity, tokens);
    let table = table.map_err(|error| Failure::invalid(error.to_string()))?;
    LAST_TABLE.set(text(&json(&table).to_string()));
    Ok(LAST_TABLE.with_borrow(|table| CStr::as_ptr(table)))
}

fn json(table: &MemoryTable) -> Value {
    json!({
        "capacity_rows": table.capacity,
        "heap_bytes": table.heap,
        "workspace_bytes": table.workspace,
        "kept_bytes": table.kept(),
        "lines": table.lines.iter().map(line).collect::<Vec<_>>(),
    })
}

fn line(line: &MemoryLine) -> Value {
    let MemoryLine { name, place, purpose, formula, rows, row_bytes, bytes, .. } = line;
    json!({
        "name": name, "place": place.to_string(), "purpose": purpose, "formula": formula, "rows": rows, "row_bytes": row_bytes,
        "bytes": bytes,
    })
}
