//! The work of a task, in the form that the formulae in `docs/export.md` use.

use hpmoe_simulator::simulate::{Efficiency, QueuedTask, Work};
use serde_json::{Value, json};

/// The number of operations of a task, and its bytes by memory.
pub(super) fn work(rank: u32, task: &QueuedTask) -> Value {
    let work = &task.work;
    match *work {
        Work::Empty => json!({"kind": "none"}),
        Work::Fixed { time } => json!({"kind": "fixed", "ns": time.us() * 1e3}),
        Work::Gemm { .. } | Work::Share(_) => {
            let products = work.products().expect("this work consists of products");
            json!({
                "kind": "product",
                "int8": products.efficiency == Efficiency::Int8,
                "padded_flops": products.padded,
                "l2_read": products.l2,
                "hbm_read": products.hbm_read,
                "written": products.written,
            })
        }
        Work::Vector { read, written } => json!({"kind": "vector", "hbm_read": read, "written": written}),
        Work::Put { to, bytes } if to == rank => json!({"kind": "copy", "hbm_read": bytes, "written": bytes}),
        Work::Put { to, bytes } => json!({"kind": "put", "to": to, "bytes": bytes, "fenced": !task.shares_next_fence}),
    }
}
