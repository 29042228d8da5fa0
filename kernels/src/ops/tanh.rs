//! `value.tanh()`: the hyperbolic tangent.

use super::elementwise::ONE_VALUE;
use crate::op::{Columns, Device, Host, Operation, Scalar, Slot, Spelling, VectorCall};
use crate::{Value, math};

/// The operation `tanh`: x · P(x²) / Q(x²) between limits.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("tanh"),
    host: Host::values(|given| given[0].tanh()),
    device: Device::Vector { scratch: &[Columns::OfResult, Columns::OfResult, Columns::OfResult], calls: CALLS },
    ..ONE_VALUE
};

/// Limit of |x|: tanh is 1 in f32 from here on.
const LIMIT: f32 = 9.02;
/// Coefficients of P, highest power of x² first. P / Q has an error of at most 3e-8 up to [`LIMIT`].
const ABOVE: [f32; 5] = [1.332_190_6e-8, 2.058_663_2e-5, 3.494_277_2e-3, 1.337_994e-1, 1.0];
const BELOW: [f32; 5] = [7.763_501e-7, 3.283_453e-4, 2.587_205_2e-2, 4.671_325_7e-1, 1.0];

const X: Slot = Slot::Scratch(0);
const Z: Slot = Slot::Scratch(1);
const Q: Slot = Slot::Scratch(2);
const P: Slot = Slot::Out;

const CALLS: &[VectorCall] = &[
    VectorCall::Scalar("Mins", X, Slot::In(0), Scalar::Is(LIMIT)),
    VectorCall::Scalar("Maxs", X, X, Scalar::Is(-LIMIT)),
    VectorCall::Binary("Mul", Z, X, X),
    VectorCall::Scalar("Muls", P, Z, Scalar::Is(ABOVE[0])),
    VectorCall::Scalar("Adds", P, P, Scalar::Is(ABOVE[1])),
    VectorCall::Binary("Mul", P, P, Z),
    VectorCall::Scalar("Adds", P, P, Scalar::Is(ABOVE[2])),
    VectorCall::Binary("Mul", P, P, Z),
    VectorCall::Scalar("Adds", P, P, Scalar::Is(ABOVE[3])),
    VectorCall::Binary("Mul", P, P, Z),
    VectorCall::Scalar("Adds", P, P, Scalar::Is(ABOVE[4])),
    VectorCall::Binary("Mul", P, P, X),
    VectorCall::Scalar("Muls", Q, Z, Scalar::Is(BELOW[0])),
    VectorCall::Scalar("Adds", Q, Q, Scalar::Is(BELOW[1])),
    VectorCall::Binary("Mul", Q, Q, Z),
    VectorCall::Scalar("Adds", Q, Q, Scalar::Is(BELOW[2])),
    VectorCall::Binary("Mul", Q, Q, Z),
    VectorCall::Scalar("Adds", Q, Q, Scalar::Is(BELOW[3])),
    VectorCall::Binary("Mul", Q, Q, Z),
    VectorCall::Scalar("Adds", Q, Q, Scalar::Is(BELOW[4])),
    VectorCall::Binary("Div", P, P, Q),
    VectorCall::Scalar("Mins", P, P, Scalar::Is(1.0)),
    VectorCall::Scalar("Maxs", P, P, Scalar::Is(-1.0)),
    // Limits replace NaN; this is 0 for all numbers, and brings it back.
    VectorCall::Unary("Abs", X, Slot::In(0)),
    VectorCall::Scalar("Muls", X, X, Scalar::Is(-1.0)),
    VectorCall::Unary("Exp", X, X),
    VectorCall::Scalar("Muls", X, X, Scalar::Is(0.0)),
    VectorCall::Binary("Sub", P, P, X),
];

fn tanh(x: f32) -> f32 {
    let within = |x: f32, limit: f32| {
        let x = if x < limit { x } else { limit };
        if x > -limit { x } else { -limit }
    };
    let near = within(x, LIMIT);
    let z = near * near;
    let [above, below] = [ABOVE, BELOW].map(|powers| powers[1..].iter().fold(powers[0], |sum, c| sum * z + c));
    within(above * near / below, 1.0) - math::exp(-x.abs()) * 0.0
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// tanh x: R×C to R×C, within 4 units in the last place. Infinities become ±1, and ±0 and NaN stay as they are.
    ///
    /// ```text
    /// c = max(min(x, 9.02), -9.02);  z = c · c
    /// p = 1.3321906e-8;  p = p · z + a  for a = 2.0586632e-5, 3.4942772e-3, 0.1337994, 1
    /// q = 7.763501e-7;   q = q · z + b  for b = 3.283453e-4, 0.025872052, 0.46713257, 1
    /// result = max(min(p · c / q, 1), -1)
    /// ```
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 4>::new(1, 4, vec![0.0, 1e-20, 50.0, f32::NEG_INFINITY]);
    /// assert_eq!(value.tanh().as_slice(), [0.0, 1e-20, 1.0, -1.0]);
    /// ```
    #[must_use]
    pub fn tanh(&self) -> Self {
        self.map(tanh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_close_everywhere_and_never_above_1() {
        for i in -12_000..=12_000 {
            let x = i as f32 / 1000.0;
            let exact = f64::from(x).tanh();
            let got = tanh(x);
            assert!((f64::from(got) - exact).abs() <= 4.8e-7 * exact.abs(), "tanh({x}) = {got}, not {exact}");
        }
        for bits in (4.0_f32.to_bits()..=LIMIT.to_bits()).step_by(7) {
            let x = f32::from_bits(bits);
            assert!(tanh(x) <= 1.0, "tanh({x}) = {}", tanh(x));
        }
        assert!(tanh(f32::NAN).is_nan() && tanh(-0.0).is_sign_negative());
    }
}
