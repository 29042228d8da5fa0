//! `value.sigmoid()`: 1 / (1 + e^-x).

use super::elementwise::ONE_VALUE;
use crate::op::{Columns, Device, Host, Operation, Scalar, Slot, Spelling, VectorCall};
use crate::{Value, math};

/// The operation `sigmoid`: 1 / (e^-x + 1).
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("sigmoid"),
    host: Host::values(|given| given[0].sigmoid()),
    device: Device::Vector { scratch: &[Columns::OfResult], calls: CALLS },
    ..ONE_VALUE
};

const CALLS: &[VectorCall] = &[
    VectorCall::Scalar("Muls", Slot::Scratch(0), Slot::In(0), Scalar::Is(-1.0)),
    VectorCall::Unary("Exp", Slot::Scratch(0), Slot::Scratch(0)),
    VectorCall::Scalar("Adds", Slot::Scratch(0), Slot::Scratch(0), Scalar::Is(1.0)),
    VectorCall::Fill(Slot::Out, Scalar::Is(1.0)),
    VectorCall::Binary("Div", Slot::Out, Slot::Out, Slot::Scratch(0)),
];

impl<const R: usize, const C: usize> Value<R, C> {
    /// 1 / (e^(-x) + 1), in this order, with [`exp`](crate::math::exp) for the power: R×C to R×C. `x * x.sigmoid()` is
    /// rounded once more than [`x.silu()`](Self::silu).
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![0.0, 200.0, -200.0]);
    /// assert_eq!(value.sigmoid().as_slice(), [0.5, 1.0, 0.0]);
    /// ```
    #[must_use]
    pub fn sigmoid(&self) -> Self {
        self.map(|x| 1.0 / (math::exp(-x) + 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_sigmoid() {
        for i in -400..=400 {
            let x = i as f32 / 20.0;
            let exact = 1.0 / (1.0 + f64::from(-x).exp());
            let got = Value::<1, 1>::new(1, 1, vec![x]).sigmoid().as_slice()[0];
            assert!((f64::from(got) - exact).abs() <= 4e-7 * exact, "sigmoid({x}) = {got}, not {exact}");
        }
    }
}
