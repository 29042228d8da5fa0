//! Puts: rows through two halves of UB.

use super::OnChipMemory;
use super::limits::{UB_HALF, UB_ORIGINS};
use crate::finding::{Content, Overflow, Piece};
use crate::graph::Task;
use crate::units::Bytes;
use hpmoe_kernels::op::Device;

/// A plan of how a put uses the two halves of UB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PutPlan {
    /// Number of the parameter that is written.
    pub to: usize,
    /// Number of the parameter that is read.
    pub from: usize,
    /// High-water mark of UB in bytes.
    pub used: Bytes,
}

pub(super) fn put(task: &Task) -> Result<PutPlan, Overflow> {
    let step = task.body.steps.iter().find(|step| matches!(step.operation.device, Device::Put));
    let step = step.expect("the front end accepts a put task only with a put");
    let (to, from) = (step.operands[0].0 as usize, step.operands[1].0 as usize);
    let shape = task.params[from].shape;
    let row = Bytes((shape.cols * shape.element.bytes()) as u64).align_up(32);
    let origins = Bytes(shape.rows as u64 * 4).align_up(32);
    let tile = task.params[from].name.clone();
    let (columns, element) = (shape.cols, shape.element);
    if row > UB_HALF {
        return Err(Overflow {
            memory: OnChipMemory::Ub,
            capacity: UB_HALF,
            needed: row,
            piece: Piece::PutRow { tile },
            contents: vec![(Content::Row { columns, element }, row)],
        });
    }
    if origins > UB_ORIGINS {
        return Err(Overflow {
            memory: OnChipMemory::Ub,
            capacity: UB_ORIGINS,
            needed: origins,
            piece: Piece::Origins { tile, rows: shape.rows, most: UB_ORIGINS.0 / 32 * 8 },
            contents: vec![(Content::Origins { rows: shape.rows }, origins)],
        });
    }
    let rows = (UB_HALF.0 / row.0).min(shape.rows as u64);
    Ok(PutPlan { to, from, used: row * rows * 2 + origins })
}
