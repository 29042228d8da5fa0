//! `a / b`: quotients, element by element.

use super::elementwise::{ONE_VALUE, one_size, operator};
use crate::op::{Columns, Device, Host, OperandKind, Operation, Scalar, Slot, Spelling, VectorCall};

/// The operation `/` for two values.
pub(super) static VALUES: Operation = Operation {
    spelling: Spelling::Operator('/'),
    operands: &[OperandKind::Value, OperandKind::Value],
    shape: |operands, _| one_size("`/` divides", operands),
    host: Host::values(|given| &given[0] / &given[1]),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Binary("Div", Slot::Out, Slot::In(0), Slot::In(1))] },
    ..ONE_VALUE
};

/// The operation `/` for a value and a number. AscendC can't divide by a scalar, and a product with the inverse rounds
/// differently.
pub(super) static NUMBER: Operation = Operation {
    spelling: Spelling::Operator('/'),
    operands: &[OperandKind::Value, OperandKind::Number],
    host: Host::values(|given| &given[0] / given.numbers[0]),
    device: Device::Vector {
        scratch: &[Columns::OfResult],
        calls: &[
            VectorCall::Fill(Slot::Scratch(0), Scalar::Given(0)),
            VectorCall::Binary("Div", Slot::Out, Slot::In(0), Slot::Scratch(0)),
        ],
    },
    ..ONE_VALUE
};

/// The operation `/` for a number and a value.
pub(super) static NUMBER_FIRST: Operation = Operation {
    spelling: Spelling::Operator('/'),
    operands: &[OperandKind::Number, OperandKind::Value],
    host: Host::values(|given| given.numbers[0] / &given[0]),
    device: Device::Vector {
        scratch: &[Columns::OfResult],
        calls: &[
            VectorCall::Fill(Slot::Scratch(0), Scalar::Given(0)),
            VectorCall::Binary("Div", Slot::Out, Slot::Scratch(0), Slot::In(0)),
        ],
    },
    ..ONE_VALUE
};

operator! {
    /// Elementwise quotient, each result rounded once. The left operand is R×C, or a number. The right operand is R×C, one row
    /// (1×C), one column (R×1), or a number. The result is R×C.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let a = Value::<1, 2>::new(1, 2, vec![2.0, 4.0]);
    /// let b = 1.0 / &a;
    /// assert_eq!((b / a / 2.0).as_slice(), [0.125, 0.03125]);
    /// ```
    Div, div, DivAssign, div_assign, "/", |a: f32, b: f32| a / b
}
