//! `a + b`: sums, element by element.

use super::elementwise::{ONE_VALUE, one_size, operator};
use crate::op::{Device, Host, OperandKind, Operation, Scalar, Slot, Spelling, VectorCall};

/// The operation `+` for two values.
pub(super) static VALUES: Operation = Operation {
    spelling: Spelling::Operator('+'),
    operands: &[OperandKind::Value, OperandKind::Value],
    shape: |operands, _| one_size("`+` adds", operands),
    host: Host::values(|given| &given[0] + &given[1]),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Binary("Add", Slot::Out, Slot::In(0), Slot::In(1))] },
    ..ONE_VALUE
};

/// The operation `+` for a value and a number.
pub(super) static NUMBER: Operation = Operation {
    operands: &[OperandKind::Value, OperandKind::Number],
    host: Host::values(|given| &given[0] + given.numbers[0]),
    ..SCALAR
};

/// The operation `+` for a number and a value.
pub(super) static NUMBER_FIRST: Operation = Operation {
    operands: &[OperandKind::Number, OperandKind::Value],
    host: Host::values(|given| given.numbers[0] + &given[0]),
    ..SCALAR
};

const SCALAR: Operation = Operation {
    spelling: Spelling::Operator('+'),
    device: Device::Vector {
        scratch: &[],
        calls: &[VectorCall::Scalar("Adds", Slot::Out, Slot::In(0), Scalar::Given(0))],
    },
    ..ONE_VALUE
};

operator! {
    /// Elementwise sum, each result rounded once. The left operand is R×C, or a number. The right operand is R×C, one row
    /// (1×C), one column (R×1), or a number. The result is R×C.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let a = Value::<1, 2>::new(1, 2, vec![2.0, 3.0]);
    /// let sum = 1.0 + &a + &a;
    /// assert_eq!((sum + 0.5).as_slice(), [5.5, 7.5]);
    ///
    /// let mut total = a.clone();
    /// for _ in 0..2 {
    ///     total += &a;
    /// }
    /// assert_eq!(total.as_slice(), [6.0, 9.0]);
    /// ```
    Add, add, AddAssign, add_assign, "+", |a: f32, b: f32| a + b
}
