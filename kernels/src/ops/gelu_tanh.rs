//! `value.gelu_tanh()`: GELU in its tanh form.

use super::elementwise::ONE_VALUE;
use crate::op::{Columns, Device, Host, Operation, Scalar, Slot, Spelling, VectorCall};
use crate::{Value, math};

/// The operation `gelu_tanh`: x / (e^(x · (a + b · x²)) + 1).
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("gelu_tanh"),
    host: Host::values(|given| given[0].gelu_tanh()),
    device: Device::Vector { scratch: &[Columns::OfResult], calls: CALLS },
    ..ONE_VALUE
};

/// The constant a = -2 √(2/π).
const A: f32 = -1.595_769;
/// The constant b = 0.044715 · a.
const B: f32 = -0.071_354_814;

const POWER: Slot = Slot::Scratch(0);

const CALLS: &[VectorCall] = &[
    VectorCall::Binary("Mul", POWER, Slot::In(0), Slot::In(0)),
    VectorCall::Scalar("Muls", POWER, POWER, Scalar::Is(B)),
    VectorCall::Scalar("Adds", POWER, POWER, Scalar::Is(A)),
    VectorCall::Binary("Mul", POWER, POWER, Slot::In(0)),
    VectorCall::Unary("Exp", POWER, POWER),
    VectorCall::Scalar("Adds", POWER, POWER, Scalar::Is(1.0)),
    VectorCall::Binary("Div", Slot::Out, Slot::In(0), POWER),
];

impl<const R: usize, const C: usize> Value<R, C> {
    /// x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))), computed in the equivalent form x / (e^(x · (a + b · x · x)) + 1) with a = -1.595769 and
    /// b = -0.071354814: R×C to R×C. [`gelu`](Self::gelu) is the exact form. +∞ and NaN stay as they are; -∞ becomes NaN.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![1.0, 20.0, -20.0]).gelu_tanh();
    /// assert!((value.as_slice()[0] - 0.841_192).abs() < 2e-7);
    /// assert_eq!(value.as_slice()[1..], [20.0, 0.0]);
    /// ```
    #[must_use]
    pub fn gelu_tanh(&self) -> Self {
        self.map(|x| x / (math::exp((x * x * B + A) * x) + 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_form_with_tanh() {
        for i in -800..=1600 {
            let x = i as f32 / 100.0;
            let wide = f64::from(x);
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (wide + 0.044_715 * wide.powi(3));
            // 1 + tanh without cancellation.
            let exact = wide / (1.0 + (-2.0 * inner).exp());
            let got = f64::from(Value::<1, 1>::new(1, 1, vec![x]).gelu_tanh().as_slice()[0]);
            // The rounding of an exponent grows with it.
            let most = 1e-6 + inner.min(0.0).abs() * 4e-7;
            assert!((got - exact).abs() <= most * exact.abs(), "gelu_tanh({x}) = {got}, not {exact}");
        }
    }
}
