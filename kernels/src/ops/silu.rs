//! `value.silu()`: x · sigmoid(x).

use super::rules::any_numbers;
use crate::op::{
    Columns, Device, ElementType, Host, Misfit, OperandKind, Operation, Scalar, Shape, Slot, Spelling, TaskKind,
    VectorCall,
};
use crate::{Value, math};

/// The operation `silu`: x / (e^-x + 1).
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("silu"),
    cores: &[TaskKind::Vector],
    operands: &[OperandKind::Value],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::values(|given| given[0].silu()),
    device: Device::Vector { scratch: &[Columns::OfResult], calls: CALLS },
};

const CALLS: &[VectorCall] = &[
    VectorCall::Scalar("Muls", Slot::Scratch(0), Slot::In(0), Scalar::Is(-1.0)),
    VectorCall::Unary("Exp", Slot::Scratch(0), Slot::Scratch(0)),
    VectorCall::Scalar("Adds", Slot::Scratch(0), Slot::Scratch(0), Scalar::Is(1.0)),
    VectorCall::Binary("Div", Slot::Out, Slot::In(0), Slot::Scratch(0)),
];

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    Ok(Shape { element: ElementType::f32, ..operands[0] })
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// x / (e^(-x) + 1), in this order, with [`exp`](crate::math::exp) for the power: R×C to R×C.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![0.0, 20.0, -200.0]);
    /// assert_eq!(value.silu().as_slice(), [0.0, 20.0, -0.0]);
    /// ```
    #[must_use]
    pub fn silu(&self) -> Self {
        self.map(|x| x / (math::exp(-x) + 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_sigmoid_times_x() {
        for i in -400..=400 {
            let x = i as f32 / 20.0;
            let exact = f64::from(x) / (1.0 + f64::from(-x).exp());
            let got = Value::<1, 1>::new(1, 1, vec![x]).silu().as_slice()[0];
            assert!((f64::from(got) - exact).abs() <= 4e-7 * exact.abs(), "silu({x}) = {got}, not {exact}");
        }
    }
}
