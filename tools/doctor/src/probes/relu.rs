//! Checks the results for negative sums and for NaN if Fixpipe sets negative sums to 0 during the store from L0C.

use super::probe::Probe;
use crate::answer::Failure;
use crate::examination::Examination;
use crate::request::{Request, SHORTEST, SIDE, Which};
use hpmoe_runtime::prelude::bf16;

pub(super) static PROBE: Probe = Probe {
    name: "relu",
    assumption: "on the way out of L0C, relu makes +0 of sums below 0 and of -infinity, and leaves NaN alone",
    needs: &["cores"],
    ranks: 1,
    run,
    means: "Fixpipe multiplies negative sums with 0, or replaces NaN",
    falls: "equal bits of tasks on matrix cores that end with `relu`",
    change: "these tasks: store the product, and take `relu` in the #[aiv_task] that reads it",
};

/// The first columns of the left and of the right operand. All other columns are zero, so each sum is one product of these numbers, and
/// sums of all kinds occur.
const LEFT: [f32; 8] = [1.0, -1.0, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -1e-30];
const RIGHT: [f32; 8] = [2.0, -3.0, 0.0, 1e-30, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30];

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let (left, right) = (first_column(&LEFT), first_column(&RIGHT));
    let seen = examination.each_die(|_, die| {
        let sums = SIDE * SIDE * 4 * 2;
        let operand = size_of_val(left.as_slice());
        let alone = die.run_alone(Request::new(Which::Relu, 2), sums + 2 * operand, |heap, plan, request| {
            let at = [plan.data + sums, plan.data + sums + operand];
            (request.left, request.right) = (at[0] as u64, at[1] as u64);
            heap.write(at[0], bytemuck::cast_slice(&left))?;
            heap.write(at[1], bytemuck::cast_slice(&right))
        })?;
        alone.seen.expect_done()?;
        let mut found = vec![0_f32; SIDE * SIDE * 2];
        alone.heap.read(alone.plan.data, bytemuck::cast_slice_mut(&mut found))?;
        compare(&found)
    })?;
    Ok(seen.into_iter().next().unwrap_or_default())
}

/// An operand that is zero except in its first column, which repeats the numbers.
fn first_column(numbers: &[f32]) -> Vec<u16> {
    let mut operand = vec![0; SIDE * SHORTEST];
    for (row, number) in operand.chunks_mut(SHORTEST).zip(numbers.iter().cycle()) {
        row[0] = bf16::from_f32(*number).to_bits();
    }
    operand
}

fn compare(found: &[f32]) -> Result<String, Failure> {
    let (plain, relu) = found.split_at(SIDE * SIDE);
    let wanted = |sum: f32| if sum > 0.0 || sum.is_nan() { sum } else { 0.0 };
    let wrong = plain.iter().zip(relu).find(|(plain, relu)| wanted(**plain).to_bits() != relu.to_bits());
    match wrong {
        None => {
            let below = plain.iter().filter(|sum| **sum < 0.0).count();
            let nan = plain.iter().filter(|sum| sum.is_nan()).count();
            Ok(format!("{below} sums below 0 became +0, and {nan} stayed NaN"))
        }
        Some((plain, relu)) => Err(Failure::new(format!(
            "a sum of {plain:?} (bits {:#010x}) became {relu:?} (bits {:#010x})",
            plain.to_bits(),
            relu.to_bits()
        ))),
    }
}
