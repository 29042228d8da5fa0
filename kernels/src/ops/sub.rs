//! `a - b`: differences, element by element.

use super::elementwise::{ONE_VALUE, one_size, operator};
use crate::op::{Device, Host, OperandKind, Operation, Scalar, Slot, Spelling, VectorCall};

/// The operation `-` for two values.
pub(super) static VALUES: Operation = Operation {
    spelling: Spelling::Operator('-'),
    operands: &[OperandKind::Value, OperandKind::Value],
    shape: |operands, _| one_size("`-` subtracts", operands),
    host: Host::values(|given| &given[0] - &given[1]),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Binary("Sub", Slot::Out, Slot::In(0), Slot::In(1))] },
    ..ONE_VALUE
};

/// The operation `-` for a value and a number, which adds the negated number.
pub(super) static NUMBER: Operation = Operation {
    spelling: Spelling::Operator('-'),
    operands: &[OperandKind::Value, OperandKind::Number],
    host: Host::values(|given| &given[0] - given.numbers[0]),
    device: Device::Vector {
        scratch: &[],
        calls: &[VectorCall::Scalar("Adds", Slot::Out, Slot::In(0), Scalar::Negated(0))],
    },
    ..ONE_VALUE
};

/// The operation `-` for a number and a value, which adds the negated value to the number.
pub(super) static NUMBER_FIRST: Operation = Operation {
    spelling: Spelling::Operator('-'),
    operands: &[OperandKind::Number, OperandKind::Value],
    host: Host::values(|given| given.numbers[0] - &given[0]),
    device: Device::Vector {
        scratch: &[],
        calls: &[
            VectorCall::Scalar("Muls", Slot::Out, Slot::In(0), Scalar::Is(-1.0)),
            VectorCall::Scalar("Adds", Slot::Out, Slot::Out, Scalar::Given(0)),
        ],
    },
    ..ONE_VALUE
};

operator! {
    /// Elementwise difference, each result rounded once. The left operand is R×C, or a number. The right operand is R×C, one row
    /// (1×C), one column (R×1), or a number. The result is R×C.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let a = Value::<1, 2>::new(1, 2, vec![2.0, 3.0]);
    /// let b = &a - 0.5;
    /// assert_eq!((1.0 - (a - b)).as_slice(), [0.5, 0.5]);
    /// ```
    Sub, sub, SubAssign, sub_assign, "-", |a: f32, b: f32| a - b
}
