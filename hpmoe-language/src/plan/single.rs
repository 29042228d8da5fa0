//! The values of a body that have one row, however many a piece has.

use crate::graph::Task;
use crate::ids::{Id as _, ValueId};
use hpmoe_kernels::op::{Device, Sizes};

/// Whether the value of each parameter, then of each step, is one row for all rows of a piece. It is if an operation takes it as such;
/// so are the values that it is computed from, and those computed from it alone.
pub(super) fn single_rows(task: &Task) -> Vec<bool> {
    let first_step = task.params.len();
    // A value with as many rows; equal for all values that have rows in common.
    let mut rows: Vec<usize> = (0..first_step + task.body.steps.len()).collect();
    let mut taken_as_one = Vec::new();
    for (number, step) in task.body.steps.iter().enumerate() {
        let operands: Vec<usize> = step.operands.iter().map(|id: &ValueId| id.index()).collect();
        let alike: &[usize] = match step.operation.device {
            Device::Routine(routine) => match routine.sizes {
                Sizes::SumOverK => &operands[1..],
                Sizes::RowsForEachToken => &[],
                Sizes::NumberForEachColumn => {
                    taken_as_one.push(operands[1]);
                    &operands[..1]
                }
                Sizes::NumberForEachRow | Sizes::OneColumn | Sizes::HalfOfColumns => &operands,
            },
            _ => &operands,
        };
        for &operand in alike {
            let (from, to) = (rows[operand], rows[first_step + number]);
            rows.iter_mut().filter(|other| **other == from).for_each(|other| *other = to);
        }
    }
    let single: Vec<usize> = taken_as_one.iter().map(|&value| rows[value]).collect();
    rows.iter().map(|rows| single.contains(rows)).collect()
}
