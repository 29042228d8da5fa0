//! Tensors of every float type, with numbers outside the range of f16.

use crate::random::{Case, cases, config, experts, ids, weights};
use crate::small_kernels::floats::{EXPERTS, HIDDEN, INTER, TOKENS, TOP_K, forward};
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;

/// All outputs of the taskflow.
struct Written {
    halves: PerRank<Tensor<f16, HIDDEN>>,
    same: PerRank<Tensor<f32, HIDDEN>>,
    wide: PerRank<Received<f32, HIDDEN>>,
    alone: PerRank<Received<f32, INTER>>,
    mixed: PerRank<Received<f16, INTER>>,
    dw: PerRank<Experts<f16, HIDDEN, INTER>>,
    onto: PerRank<Experts<f32, HIDDEN, INTER>>,
    y: PerRank<Tensor<f16, HIDDEN>>,
}

impl Written {
    fn new(case: &Case, route: &Route) -> Self {
        let ep = case.ep();
        Self {
            halves: case.zeros(),
            same: case.zeros(),
            wide: PerRank::ragged(ep, route),
            alone: PerRank::ragged(ep, route),
            mixed: PerRank::ragged(ep, route),
            dw: PerRank::experts(ep, route),
            onto: PerRank::experts(ep, route),
            y: case.zeros(),
        }
    }

    fn bits(&self) -> [Vec<u32>; 8] {
        [
            all(&self.halves, Tensor::<f16, HIDDEN>::to_vec),
            all(&self.same, Tensor::<f32, HIDDEN>::to_vec),
            all(&self.wide, Received::<f32, HIDDEN>::to_vec),
            all(&self.alone, Received::<f32, INTER>::to_vec),
            all(&self.mixed, Received::<f16, INTER>::to_vec),
            all(&self.dw, Experts::<f16, HIDDEN, INTER>::to_vec),
            all(&self.onto, Experts::<f32, HIDDEN, INTER>::to_vec),
            all(&self.y, Tensor::<f16, HIDDEN>::to_vec),
        ]
    }
}

/// The bits of all numbers as f32; all NaN are equal.
fn all<P, T: Float>(parts: &PerRank<P>, numbers: fn(&P) -> Vec<T>) -> Vec<u32> {
    let bits = |x: f32| if x.is_nan() { f32::NAN } else { x }.to_bits();
    parts.iter().flat_map(numbers).map(|x| bits(x.to_f32())).collect()
}

/// Numbers for the tokens of each rank, which depend on their position.
fn changed<T: Float>(case: &Case, change: impl Fn(usize, f32) -> f32) -> PerRank<Tensor<T, HIDDEN>> {
    let number = |(place, x): (usize, f32)| T::from_f32(change(place, x));
    weights::<HIDDEN>(case).map(|part| Tensor::from_vec(part.to_vec().into_iter().enumerate().map(number).collect()))
}

/// Matrices with numbers far above 1.
fn matrices<const N: usize, const K: usize>(case: &Case, which: u64) -> PerRank<Experts<f16, N, K>> {
    let larger = |x: f16| f16::from_f32(32.0 * x.to_f32());
    experts(case, EXPERTS, which)
        .map(|part: &Experts<f16, N, K>| Experts::from_vec(part.to_vec().into_iter().map(larger).collect()))
}

/// Numbers for every kind of rounding to f16: to infinity, to subnormal numbers and zeros, and ties.
const SPECIAL: [f32; 17] = [
    65_504.0,
    65_519.0,
    65_520.0,
    1e9,
    f32::INFINITY,
    f32::NAN,
    0.0,
    5.960_464_5e-8,
    2.980_232_2e-8,
    2.980_232_6e-8,
    1e-40,
    6.103_515_6e-5,
    6.097_9e-5,
    1.000_488_3,
    1.001_464_8,
    2049.0,
    2051.0,
];

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn tensors_of_f16_and_products_of_f32(case in cases(EXPERTS, TOKENS)) {
        let ep = case.ep();
        let ids = ids::<TOP_K>(&case, EXPERTS);
        let route = Route::new(ep, EXPERTS, &ids).unwrap();
        // Products exceed the range of f16 in both directions; in every second case, some are NaN.
        let x = changed(&case, |place, x| match (case.seed % 2, place % 89) {
            (_, 7) => 60_000.0_f32.copysign(x),
            (_, 11) => x * 1e-6,
            (1, 13) => f32::NAN,
            (1, 17) => f32::INFINITY,
            _ => x,
        });
        let numbers = changed(&case, |place, x| match place % 3 {
            0 => SPECIAL[place / 3 % SPECIAL.len()].copysign(x),
            1 => f32::from_bits((x.to_bits() << 3) ^ 0x4000_0000),
            _ => x,
        });
        let weights = weights(&case);
        let (w, bias) = (matrices(&case, 1), experts(&case, EXPERTS, 2));
        let (v, u) = (matrices(&case, 3), experts(&case, EXPERTS, 4));
        let p = experts::<f32, INTER, HIDDEN>(&case, EXPERTS, 5);
        let [mut expected, mut found] = [(), ()].map(|()| Written::new(&case, &route));
        let Written { halves, same, wide, alone, mixed, dw, onto, y } = &mut expected;
        forward(ep, &route, &x, &numbers, &weights, &w, &bias, &v, &u, &p, halves, same, wide, alone, mixed, dw, onto, y);
        let Written { halves, same, wide, alone, mixed, dw, onto, y } = &mut found;
        let report = forward::launch(
            &case.group(), &route, &x, &numbers, &weights, &w, &bias, &v, &u, &p, halves, same, wide, alone, mixed, dw, onto, y,
        );
        let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
        prop_assert_eq!(report.empty_tasks, 0);
        for (part, (expected, found)) in expected.bits().iter().zip(found.bits()).enumerate() {
            let differs = expected.iter().zip(&found).position(|(expected, found)| expected != found);
            prop_assert!(differs.is_none(), "part {} differs at {:?}: {:?}", part, differs, case);
        }
        let infinite = expected.bits()[7].contains(&f32::INFINITY.to_bits());
        let few = case.tokens.iter().all(|tokens| *tokens < 12) || ids.iter().any(|part| part.to_vec().contains(&-1));
        prop_assert!(infinite || few, "all results stay in range: {:?}", case);
    }
}
