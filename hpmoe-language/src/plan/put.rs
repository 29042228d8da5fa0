//! Puts: rows through two halves of UB.

use super::limits::{COPY_BLOCKS, UB_HALF, UB_ORIGINS};
use super::{OnChipMemory, Overflow};
use crate::graph::Task;
use crate::units::Bytes;
use hpmoe_kernels::op::Device;

/// How a put uses UB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PutPlan {
    /// Parameter that is written.
    pub to: usize,
    /// Parameter that is read.
    pub from: usize,
    /// Rows in one half.
    pub rows: u32,
    /// High-water mark of UB.
    pub used: Bytes,
}

pub(super) fn put(task: &Task) -> Result<PutPlan, Overflow> {
    let step = task.body.steps.iter().find(|step| matches!(step.operation.device, Device::Put));
    let step = step.expect("the front end asks a put task to put");
    let (to, from) = (step.operands[0].0 as usize, step.operands[1].0 as usize);
    let shape = task.params[from].shape;
    let row = Bytes((shape.cols * shape.element.bytes()) as u64).align_up(32);
    let origins = Bytes(shape.rows as u64 * 4).align_up(32);
    let name = &task.params[from].name;
    if row > UB_HALF {
        return Err(Overflow {
            memory: OnChipMemory::Ub,
            capacity: UB_HALF,
            needed: row,
            piece: format!("one row of `{name}`, in one of two halves of UB"),
            contributors: vec![(format!("a row of {} {}", shape.cols, shape.element), row)],
            help: "put fewer columns at a time: declare narrower tiles and put `.cols(n)` of both".to_owned(),
        });
    }
    if origins > UB_ORIGINS {
        return Err(Overflow {
            memory: OnChipMemory::Ub,
            capacity: UB_ORIGINS,
            needed: origins,
            piece: format!("the (token, k) of the {} rows of `{name}`", shape.rows),
            contributors: vec![(format!("{} places of 4 B", shape.rows), origins)],
            help: format!("declare tiles of at most {} rows", UB_ORIGINS.0 / 32 * 8),
        });
    }
    let rows = (UB_HALF.0 / row.0).min(shape.rows as u64).min(COPY_BLOCKS);
    Ok(PutPlan { to, from, rows: rows as u32, used: row * rows * 2 + origins })
}
