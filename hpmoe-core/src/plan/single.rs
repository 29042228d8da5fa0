//! The values of a body that have a single row, even if a piece has several.

use crate::graph::Task;
use crate::ids::{Id as _, ValueId};
use hpmoe_kernels::op::{Device, Routine, Sizes};

/// For each parameter, then for each step: whether its value is a single row for all rows of a piece. That is so for a value that an
/// operation takes as one row, and for all values with the same rows: those that it is computed from and those computed from it, unless the
/// operation changes the number of rows.
pub(super) fn single_rows(task: &Task) -> Vec<bool> {
    let first_step = task.params.len();
    // For each value, one value that stands for all values with the same rows.
    let mut rows: Vec<usize> = (0..first_step + task.body.steps.len()).collect();
    let mut taken_as_one = Vec::new();
    for (number, step) in task.body.steps.iter().enumerate() {
        let operands: Vec<usize> = step.operands.iter().map(|id: &ValueId| id.index()).collect();
        let shapes = task.shapes();
        let taken = |operand: &usize| {
            let spreads = shapes[ValueId::new(*operand)].rows != step.result.rows;
            let takes_one = match step.operation.device {
                Device::Vector { .. } | Device::Store => true,
                Device::Routine(Routine { sizes: Sizes::Picked, .. }) => *operand == operands[0],
                Device::LookUp => *operand == operands[1],
                _ => false,
            };
            takes_one && spreads
        };
        taken_as_one.extend(operands.iter().copied().filter(taken));
        let alike = match step.operation.device {
            Device::Routine(Routine { sizes: Sizes::SumOverK, .. }) => &operands[1..],
            Device::Routine(Routine { sizes: Sizes::RowsForEachToken | Sizes::Reshaped, .. }) => &[],
            _ => operands.as_slice(),
        };
        for &operand in alike.iter().filter(|operand| !taken(operand)) {
            let (from, to) = (rows[operand], rows[first_step + number]);
            rows.iter_mut().filter(|other| **other == from).for_each(|other| *other = to);
        }
    }
    let single: Vec<usize> = taken_as_one.iter().map(|&value| rows[value]).collect();
    rows.iter().map(|rows| single.contains(rows)).collect()
}
