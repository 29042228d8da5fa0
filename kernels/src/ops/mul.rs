//! `a * b`: products, element by element.

use super::elementwise::{ONE_VALUE, one_size, operator};
use crate::op::{Device, Host, OperandKind, Operation, Scalar, Slot, Spelling, VectorCall};

/// The operation `*` for two values.
pub(super) static VALUES: Operation = Operation {
    spelling: Spelling::Operator('*'),
    operands: &[OperandKind::Value, OperandKind::Value],
    shape: |operands, _| one_size("`*` multiplies", operands),
    host: Host::values(|given| &given[0] * &given[1]),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Binary("Mul", Slot::Out, Slot::In(0), Slot::In(1))] },
    ..ONE_VALUE
};

/// The operation `*` for a value and a number.
pub(super) static NUMBER: Operation = Operation {
    operands: &[OperandKind::Value, OperandKind::Number],
    host: Host::values(|given| &given[0] * given.numbers[0]),
    ..SCALAR
};

/// The operation `*` for a number and a value.
pub(super) static NUMBER_FIRST: Operation = Operation {
    operands: &[OperandKind::Number, OperandKind::Value],
    host: Host::values(|given| given.numbers[0] * &given[0]),
    ..SCALAR
};

const SCALAR: Operation = Operation {
    spelling: Spelling::Operator('*'),
    device: Device::Vector {
        scratch: &[],
        calls: &[VectorCall::Scalar("Muls", Slot::Out, Slot::In(0), Scalar::Given(0))],
    },
    ..ONE_VALUE
};

operator! {
    /// Elementwise product, each result rounded once. The left operand is R×C, or a number. The right operand is R×C, one row
    /// (1×C), one column (R×1), or a number. The result is R×C.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let a = Value::<1, 2>::new(1, 2, vec![2.0, 3.0]);
    /// let square = &a * &a;
    /// assert_eq!((0.5 * square * a).as_slice(), [4.0, 13.5]);
    /// ```
    Mul, mul, MulAssign, mul_assign, "*", |a: f32, b: f32| a * b
}
