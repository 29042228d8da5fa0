//! Checks products of few rows, each followed immediately by another product.

use super::probe::Probe;
use crate::answer::Failure;
use crate::examination::Examination;
use crate::request::{Request, SHORTEST, SIDE, Which};
use hpmoe_runtime::prelude::bf16;

pub(super) static PROBE: Probe = Probe {
    name: "rows",
    assumption: "a product of 1, 7, 8 or 9 rows releases all of the L0C that it used, and does not change the next product",
    needs: &["sums"],
    ranks: 1,
    run,
    means: "Fixpipe of a few rows doesn't clear the unit flags of whole fractals, or writes more rows than it is given",
    falls: "results of experts with few tokens: a core waits for ever, or sums are wrong",
    change: "`StoreSums` in kernels/include/hpmoe/matmul.h: a flag between FIX and M for tiles of less than 16 rows",
};

/// Rows of the first product of each pair.
const FEW: [usize; 4] = [1, 7, 8, 9];

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let (left, right) = (numbers(7, 5), numbers(5, 3));
    examination.each_die(|_, die| {
        let sums = SIDE * SIDE * 4 * 2 * FEW.len();
        let operand = size_of_val(left.as_slice());
        let alone =
            die.run_alone(Request::new(Which::Rows, FEW.len() as u32), sums + 2 * operand, |heap, plan, request| {
                let at = [plan.data + sums, plan.data + sums + operand];
                (request.left, request.right) = (at[0] as u64, at[1] as u64);
                heap.write(at[0], bytemuck::cast_slice(&left))?;
                heap.write(at[1], bytemuck::cast_slice(&right))
            })?;
        alone.seen.expect_done()?;
        let mut found = vec![0_f32; SIDE * SIDE * 2 * FEW.len()];
        alone.heap.read(alone.plan.data, bytemuck::cast_slice_mut(&mut found))?;
        compare(&found, &left, &right)
    })?;
    Ok("products of 1, 7, 8 and 9 rows, and one of 32 rows after each, are exact; no other row was written".to_owned())
}

/// Small integers as bits of bf16. The sums of their products are exact in any order.
fn numbers(step: usize, values: usize) -> Vec<u16> {
    let number = |at: usize| (at * step % values) as f32 - (values / 2) as f32;
    (0..SIDE * SHORTEST).map(|at| bf16::from_f32(number(at)).to_bits()).collect()
}

fn compare(found: &[f32], left: &[u16], right: &[u16]) -> Result<(), Failure> {
    let value = |operand: &[u16], row: usize, at: usize| bf16::from_bits(operand[row * SHORTEST + at]).to_f32();
    let sum =
        |row: usize, col: usize| (0..SHORTEST).map(|at| value(left, row, at) * value(right, col, at)).sum::<f32>();
    for (pair, found) in found.chunks(2 * SIDE * SIDE).enumerate() {
        let few = FEW[pair];
        for (at, have) in found.iter().enumerate() {
            let (product, row, col) = (at / (SIDE * SIDE), at / SIDE % SIDE, at % SIDE);
            let rows = if product == 0 { few } else { SIDE };
            // Memory is zero before.
            let need = if row < rows { sum(row, col) } else { 0.0 };
            if have.to_bits() != need.to_bits() && (*have != 0.0 || need != 0.0) {
                let which = if product == 0 { "a product" } else { "the product after one" };
                return Err(Failure::new(format!(
                    "{which} of {few} rows has {have:?} instead of {need:?} in row {row}, column {col}"
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a core if the assumption holds.
    fn sound(left: &[u16], right: &[u16]) -> Vec<f32> {
        let value = |operand: &[u16], at: usize| bf16::from_bits(operand[at]).to_f32();
        let mut found = Vec::new();
        for few in FEW {
            for rows in [few, SIDE] {
                for (row, col) in (0..SIDE * SIDE).map(|at| (at / SIDE, at % SIDE)) {
                    let sum = (0..SHORTEST)
                        .map(|at| value(left, row * SHORTEST + at) * value(right, col * SHORTEST + at))
                        .sum::<f32>();
                    found.push(if row < rows { sum } else { 0.0 });
                }
            }
        }
        found
    }

    #[test]
    fn wrong_sums_and_rows_beyond_are_noticed() {
        let (left, right) = (numbers(7, 5), numbers(5, 3));
        let mut found = sound(&left, &right);
        assert!(compare(&found, &left, &right).is_ok());
        // A row after the seven rows of the second pair.
        let behind = 2 * SIDE * SIDE + 7 * SIDE + 3;
        found[behind] = 4.0;
        let said = compare(&found, &left, &right).unwrap_err().seen;
        assert_eq!(said, "a product of 7 rows has 4.0 instead of 0.0 in row 7, column 3");
        found[behind] = 0.0;
        found[7 * SIDE * SIDE + 9 * SIDE] += 1.0;
        let said = compare(&found, &left, &right).unwrap_err().seen;
        assert!(
            said.starts_with("the product after one of 9 rows has ") && said.ends_with("row 9, column 0"),
            "{said}"
        );
    }
}
