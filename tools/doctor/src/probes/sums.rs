//! Checks how much the cube's sums differ from the reference.

use super::probe::Probe;
use crate::answer::Failure;
use crate::examination::Examination;
use crate::request::{Request, SHORTEST, SIDE, Which};
use hpmoe_runtime::prelude::bf16;
use std::fmt::Write as _;

pub(super) static PROBE: Probe = Probe {
    name: "sums",
    assumption: "the cube sums products of bf16 as exactly as f32 sums in any order",
    needs: &["cores"],
    ranks: 1,
    run,
    means: "a matrix core computes a different product, or sums with fewer bits",
    falls: "the tolerance of results on NPUs, which is that of a bf16 number",
    change: "operands or layouts in kernels/include/hpmoe/matmul.h if the sums are wrong; else the tolerance",
};

/// Products of depth 16, 64, .. 4096.
const DEPTHS: usize = 5;
const PITCH: usize = SHORTEST << (2 * (DEPTHS - 1));

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let (left, right) = (numbers(1), numbers(2));
    let seen = examination.each_die(|_, die| {
        let sums = SIDE * SIDE * 4 * DEPTHS;
        let operand = size_of_val(left.as_slice());
        let alone =
            die.run_alone(Request::new(Which::Sums, DEPTHS as u32), sums + 2 * operand, |heap, plan, request| {
                let at = [plan.data + sums, plan.data + sums + operand];
                (request.left, request.right) = (at[0] as u64, at[1] as u64);
                heap.write(at[0], bytemuck::cast_slice(&left))?;
                heap.write(at[1], bytemuck::cast_slice(&right))
            })?;
        alone.seen.expect_done()?;
        let mut found = vec![0_f32; SIDE * SIDE * DEPTHS];
        alone.heap.read(alone.plan.data, bytemuck::cast_slice_mut(&mut found))?;
        compare(&found, &left, &right)
    })?;
    Ok(seen.into_iter().next().unwrap_or_default())
}

/// Numbers between -1 and 1, as bits of bf16.
fn numbers(seed: u32) -> Vec<u16> {
    let number = |at: u32| {
        let mixed = (at.wrapping_mul(2_654_435_761) ^ seed.wrapping_mul(0x9E37_79B9)).wrapping_mul(0x85EB_CA6B) >> 8;
        bf16::from_f32(mixed as f32 / (1 << 23) as f32 - 1.0).to_bits()
    };
    (0..(SIDE * PITCH) as u32).map(number).collect()
}

/// One element of a product of the given depth: the exact sum, the sum as the reference adds, and the sum of magnitudes.
fn element(left: &[u16], right: &[u16], depth: usize) -> (f64, f32, f64) {
    let products = left.iter().zip(right).take(depth);
    let products = products.map(|(a, b)| (bf16::from_bits(*a).to_f32(), bf16::from_bits(*b).to_f32()));
    products.fold((0.0, 0.0, 0.0), |(exact, sum, size), (a, b)| {
        let product = f64::from(a) * f64::from(b);
        (exact + product, sum + a * b, size + product.abs())
    })
}

/// Checks the errors of sums relative to the sum of magnitudes. The bounds are the errors of the same number of additions in f32 with
/// rounding and with truncation.
fn compare(found: &[f32], left: &[u16], right: &[u16]) -> Result<String, Failure> {
    let mut text =
        String::from("largest error, in 2^-24 of the sum of magnitudes (the reference's own in brackets), by depth:");
    let mut wrong = None;
    for (at, found) in found.chunks(SIDE * SIDE).enumerate() {
        let depth = SHORTEST << (2 * at);
        let (mut error, mut own, mut equal) = (0.0_f64, 0.0_f64, 0);
        for (number, have) in found.iter().enumerate() {
            let rows = [&left[number / SIDE * PITCH..], &right[number % SIDE * PITCH..]];
            let (exact, sum, size) = element(rows[0], rows[1], depth);
            let part = |value: f32| (f64::from(value) - exact).abs() / size * f64::from(1 << 24);
            // `max` would drop a NaN.
            error = if have.is_nan() { f64::INFINITY } else { error.max(part(*have)) };
            own = own.max(part(sum));
            equal += usize::from(have.to_bits() == sum.to_bits());
        }
        let bits = equal * 100 / found.len();
        write!(text, " {depth}: {error:.1} ({own:.1}), equal bits {bits} %;").expect("writing to a string never fails");
        if error > 4.0 * depth as f64 {
            wrong = wrong.or(Some(depth));
        }
    }
    let text = text.trim_end_matches(';').to_owned();
    match wrong {
        None => Ok(text),
        Some(depth) => Err(Failure::new(format!("at depth {depth}, more than {}: {text}", 4 * depth))),
    }
}
