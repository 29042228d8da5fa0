//! Units of current models' experts: the megakernel gives the bits of its reference, and both agree with a model in
//! f64.

use crate::random::{Case, cases, config, ids};
use crate::routers::{bits, close, each, ended, erf, logits, rows, sigmoid};
use crate::small_kernels::bodies;
use bodies::{ALPHA, BOTH, CAP, CAP_UP, EXPERTS, INTER, LIMIT, TOP_K, backward, forward};
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;

fn bias(case: &Case) -> (PerRank<Matrix<f32, 1, BOTH>>, Vec<f64>) {
    let row: Vec<f32> = (0..BOTH).map(|c| (c % 5) as f32 / 8.0 - 0.25).collect();
    let wide = row.iter().map(|x| f64::from(*x)).collect();
    (PerRank::from_fn(case.ep(), |_| Matrix::from_slice(&row)), wide)
}

/// Maximum number of values of a case, excluding those whose product overflows.
fn tokens<const C: usize>(case: &Case, which: u64) -> PerRank<Tensor<f32, C>> {
    logits::<C>(case, which)
        .map(|part| Tensor::from_vec(part.to_vec().into_iter().map(|x| x.clamp(-1e4, 1e4)).collect()))
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x / 2f64.sqrt()))
}

fn gelu_tanh(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)).tanh())
}

/// A unit's result for a gate and its up.
fn units(gate: f64, up: f64, with_bias: (f64, f64)) -> [f64; 12] {
    let (limit, alpha, cap, cap_up) = (f64::from(LIMIT), f64::from(ALPHA), f64::from(CAP), f64::from(CAP_UP));
    let silu = |x: f64| x * sigmoid(x);
    let capped = |x: f64, cap: f64| cap * (x / cap).tanh();
    let limited = |(gate, up): (f64, f64)| {
        let (gate, up) = (gate.min(limit), up.clamp(-limit, limit));
        (up + 1.0) * gate * sigmoid(alpha * gate)
    };
    [
        silu(gate) * up,
        silu(gate.min(limit)) * up.clamp(-limit, limit),
        silu(gate).min(limit) * up.clamp(-limit, limit),
        limited(with_bias),
        limited((gate, up)),
        capped(gate, cap) * sigmoid(gate) * capped(up, cap_up),
        capped(gate, cap) * sigmoid(gate) * capped(up, cap),
        gelu(gate) * up,
        gelu_tanh(gate) * up,
        gate.max(0.0).powi(2),
        gate.max(0.0),
        gelu(gate),
    ]
}

fn near(name: &str, got: &[f64], expected: &[f64]) -> Result<(), TestCaseError> {
    for (column, (got, expected)) in got.iter().zip(expected).enumerate() {
        prop_assert!(close(*got, *expected), "{name}, column {column}: {got} for {expected}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn units_and_results(case in cases(EXPERTS, bodies::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, EXPERTS, &ids::<TOP_K>(&case, EXPERTS)).unwrap();
        let (x, own, (bias, row)) = (tokens::<BOTH>(&case, 0), tokens::<1>(&case, 1), bias(&case));
        let (mut h, mut results) = (case.zeros(), case.zeros());
        forward(ep, &route, &x, &own, &bias, &mut h, &mut results);
        let (mut h2, mut results2) = (case.zeros(), case.zeros());
        ended(&case, forward::launch(&case.group(), &route, &x, &own, &bias, &mut h2, &mut results2))?;
        prop_assert!(bits(&h) == bits(&h2) && bits(&results) == bits(&results2));
        for rank in ep {
            let found = rows(&h[rank]).into_iter().zip(rows(&results[rank]));
            for ((x, own), (h, results)) in rows(&x[rank]).into_iter().zip(rows(&own[rank])).zip(found) {
                for column in 0..INTER {
                    let turn = (x[2 * column] + row[2 * column], x[2 * column + 1] + row[2 * column + 1]);
                    let expected = units(x[column], x[INTER + column], turn);
                    let got: Vec<f64> = (0..expected.len()).map(|way| h[way * INTER + column]).collect();
                    near(&format!("units of {} and {}", x[column], x[INTER + column]), &got, &expected)?;
                }
                // Sums that cancel keep only the precision that f32 leaves.
                if case.seed % 3 == 2 {
                    continue;
                }
                let (routed, shared) = x.split_at(INTER);
                let norm = |x: &[f64]| {
                    let mean = x.iter().map(|x| x * x).sum::<f64>() / INTER as f64;
                    each(x, |x| x / (mean + 1e-6).sqrt())
                };
                let mean = routed.iter().sum::<f64>() / INTER as f64;
                let opened = sigmoid(shared.iter().zip(&row).map(|(x, w)| x * w).sum());
                let with = |f: &dyn Fn(f64, f64) -> f64| -> Vec<f64> { routed.iter().zip(shared).map(|(a, b)| f(*a, *b)).collect() };
                let part = |part: usize| &results[part * INTER..][..INTER];
                near("norm", part(0), &norm(routed))?;
                near("centred", part(1), &norm(&each(routed, |x| x - mean)))?;
                near("gated", part(2), &with(&|a, b| a + b * opened))?;
                near("mean", part(3), &with(&|a, b| (a + b) / 2.0))?;
                near("scaled", part(4), &with(&|a, b| 2.0 * f64::from(bf16::from_f32(a as f32).to_f32()) + b))?;
                near("with_own", part(5), &with(&|a, b| a + b * own[0]))?;
            }
        }
    }

    /// Compared with finite differences of the model, for moderate numbers.
    #[test]
    fn gradients_of_units(case in cases(EXPERTS, bodies::TOKENS)) {
        let case = Case { seed: case.seed / 3 * 3, ..case };
        let ep = case.ep();
        let route = Route::new(ep, EXPERTS, &ids::<TOP_K>(&case, EXPERTS)).unwrap();
        let (x, dh, (bias, row)) = (tokens::<BOTH>(&case, 2), tokens::<INTER>(&case, 3), bias(&case));
        let mut dx = case.zeros();
        backward(ep, &route, &x, &dh, &bias, &mut dx);
        let mut dx2 = case.zeros();
        ended(&case, backward::launch(&case.group(), &route, &x, &dh, &bias, &mut dx2))?;
        prop_assert!(bits(&dx) == bits(&dx2));
        for rank in ep {
            let tokens = rows(&x[rank]).into_iter().zip(rows(&dh[rank]));
            for ((x, dh), dx) in tokens.zip(rows(&dx[rank])) {
                for column in 0..INTER {
                    let turn = (x[2 * column] + row[2 * column], x[2 * column + 1] + row[2 * column + 1]);
                    let apart = (x[column], x[INTER + column]);
                    let (left, right) = (column, INTER + column);
                    for (part, way, at, places) in
                        [(0, 1, apart, (left, right)), (1, 3, turn, (2 * column, 2 * column + 1)), (2, 5, apart, (left, right)), (3, 9, apart, (left, right))]
                    {
                        let limit = f64::from(LIMIT);
                        // There is no finite difference at a limit, or at the bend of a ReLU.
                        if [at.0, at.0 - limit, at.1 - limit, at.1 + limit].iter().any(|gap| gap.abs() < 1e-3) {
                            continue;
                        }
                        let unit = |gate: f64, up: f64| units(gate, up, (gate, up))[way];
                        let step = 1e-5;
                        let dg = (unit(at.0 + step, at.1) - unit(at.0 - step, at.1)) / (2.0 * step) * dh[column];
                        let du = (unit(at.0, at.1 + step) - unit(at.0, at.1 - step)) / (2.0 * step) * dh[column];
                        let found = (dx[part * BOTH + places.0], dx[part * BOTH + places.1]);
                        for (found, expected) in [(found.0, dg), (found.1, du)] {
                            let gap = (found - expected).abs();
                            prop_assert!(gap <= 1e-4 * expected.abs().max(1.0), "unit {way} at {at:?}: {found} for {expected}");
                        }
                    }
                }
            }
        }
    }
}
