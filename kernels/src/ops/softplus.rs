//! `value.softplus()`: ln(1 + e^x).

use super::elementwise::ONE_VALUE;
use crate::op::{Columns, Device, Host, Operation, Scalar, Slot, Spelling, VectorCall};
use crate::{Value, math};

/// The operation `softplus`: max(x, 0) + ln(1 + e^-|x|).
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("softplus"),
    host: Host::values(|given| given[0].softplus()),
    device: Device::Vector { scratch: &[Columns::OfResult, Columns::OfResult], calls: CALLS },
    ..ONE_VALUE
};

/// 2 artanh(s) / s as a polynomial in s² for s from 0 to 1/3, highest power first; its error is at most 4e-9.
const ARTANH: [f32; 5] = [0.281_782_78, 0.279_606_16, 0.400_249_1, 0.666_663_17, 2.0];

const T: Slot = Slot::Scratch(0);
const Z: Slot = Slot::Scratch(1);

const CALLS: &[VectorCall] = &[
    VectorCall::Unary("Abs", T, Slot::In(0)),
    VectorCall::Scalar("Muls", T, T, Scalar::Is(-1.0)),
    VectorCall::Unary("Exp", T, T),
    VectorCall::Scalar("Adds", Z, T, Scalar::Is(2.0)),
    VectorCall::Binary("Div", T, T, Z),
    VectorCall::Binary("Mul", Z, T, T),
    VectorCall::Scalar("Muls", Slot::Out, Z, Scalar::Is(ARTANH[0])),
    VectorCall::Scalar("Adds", Slot::Out, Slot::Out, Scalar::Is(ARTANH[1])),
    VectorCall::Binary("Mul", Slot::Out, Slot::Out, Z),
    VectorCall::Scalar("Adds", Slot::Out, Slot::Out, Scalar::Is(ARTANH[2])),
    VectorCall::Binary("Mul", Slot::Out, Slot::Out, Z),
    VectorCall::Scalar("Adds", Slot::Out, Slot::Out, Scalar::Is(ARTANH[3])),
    VectorCall::Binary("Mul", Slot::Out, Slot::Out, Z),
    VectorCall::Scalar("Adds", Slot::Out, Slot::Out, Scalar::Is(ARTANH[4])),
    VectorCall::Binary("Mul", Slot::Out, Slot::Out, T),
    VectorCall::Scalar("Maxs", T, Slot::In(0), Scalar::Is(0.0)),
    VectorCall::Binary("Add", Slot::Out, T, Slot::Out),
];

fn softplus(x: f32) -> f32 {
    let power = math::exp(-x.abs());
    // ln(1 + t) = 2 artanh(t / (t + 2)), which loses nothing for a small t.
    let s = power / (power + 2.0);
    let z = s * s;
    let ratio = ARTANH[1..].iter().fold(ARTANH[0], |sum, c| sum * z + c);
    (if x > 0.0 { x } else { 0.0 }) + ratio * s
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// ln(1 + e^x) as max(x, 0) + ln(1 + e^-|x|): R×C to R×C, within 4 units in the last place of normal results. -∞ becomes 0; +∞ and
    /// NaN stay as they are.
    ///
    /// ```text
    /// t = e^-|x|;  s = t / (t + 2);  z = s · s
    /// p = 0.28178278;  p = p · z + c  for c = 0.27960616, 0.4002491, 0.66666317, 2
    /// result = max(x, 0) + p · s
    /// ```
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![0.0, 100.0, f32::NEG_INFINITY]).softplus();
    /// assert!((value.as_slice()[0] - std::f32::consts::LN_2).abs() < 1e-7);
    /// assert_eq!(value.as_slice()[1..], [100.0, 0.0]);
    /// ```
    #[must_use]
    pub fn softplus(&self) -> Self {
        self.map(softplus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_close_everywhere() {
        for i in -8600..=4000 {
            let x = i as f32 / 100.0;
            let exact = f64::from(x).exp().ln_1p();
            let error = (f64::from(softplus(x)) - exact).abs() / exact;
            assert!(error <= 5e-7, "softplus({x}) is off by {error:e}");
        }
    }
}
