//! `mask.select(a, b)`: picks each number from one of two values.

use super::comparison::{SCRATCH, WORK};
use super::elementwise::{ONE_VALUE, one_size};
use crate::op::{Columns, Device, Host, OperandKind, Operation, Scalar, Slot, Spelling, VectorCall};
use crate::{Operand, Value};

/// The operation `select` with two values.
pub(super) static VALUES: Operation = Operation {
    operands: &[OperandKind::Value, OperandKind::Value, OperandKind::Value],
    shape: |operands, _| {
        one_size("`select` takes", operands)?;
        one_size("`select` takes", &[operands[0], operands[2]])
    },
    host: Host::values(|given| given[0].select(&given[1], &given[2])),
    device: Device::Vector { scratch: &[SCRATCH], calls: &[choose(&[Slot::In(0), Slot::In(1), Slot::In(2)])] },
    ..SELECT
};

/// The operation `select` with a value and a number.
pub(super) static OR_NUMBER: Operation = Operation {
    operands: &[OperandKind::Value, OperandKind::Value, OperandKind::Number],
    shape: |operands, _| one_size("`select` takes", operands),
    host: Host::values(|given| given[0].select(&given[1], given.numbers[0])),
    device: Device::Vector {
        scratch: &[SCRATCH, Columns::OfResult],
        calls: &[
            VectorCall::Fill(Slot::Scratch(1), Scalar::Given(0)),
            choose(&[Slot::In(0), Slot::In(1), Slot::Scratch(1)]),
        ],
    },
    ..SELECT
};

/// The operation `select` with a number and a value.
pub(super) static NUMBER_OR: Operation = Operation {
    operands: &[OperandKind::Value, OperandKind::Number, OperandKind::Value],
    shape: |operands, _| one_size("`select` takes", operands),
    host: Host::values(|given| given[0].select(given.numbers[0], &given[1])),
    device: Device::Vector {
        scratch: &[SCRATCH, Columns::OfResult],
        calls: &[
            VectorCall::Fill(Slot::Scratch(1), Scalar::Given(0)),
            choose(&[Slot::In(0), Slot::Scratch(1), Slot::In(1)]),
        ],
    },
    ..SELECT
};

/// The operation `select` with two numbers.
pub(super) static NUMBERS: Operation = Operation {
    operands: &[OperandKind::Value, OperandKind::Number, OperandKind::Number],
    host: Host::values(|given| given[0].select(given.numbers[0], given.numbers[1])),
    device: Device::Vector {
        scratch: &[SCRATCH, Columns::OfResult, Columns::OfResult],
        calls: &[
            VectorCall::Fill(Slot::Scratch(1), Scalar::Given(0)),
            VectorCall::Fill(Slot::Scratch(2), Scalar::Given(1)),
            choose(&[Slot::In(0), Slot::Scratch(1), Slot::Scratch(2)]),
        ],
    },
    ..SELECT
};

const SELECT: Operation = Operation { spelling: Spelling::Method("select"), ..ONE_VALUE };

const fn choose(operands: &'static [Slot]) -> VectorCall {
    VectorCall::Library("Choose", Slot::Out, operands, WORK)
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// The number of `yes` where this mask is not 0, and of `no` where the mask is 0: R×C and values or numbers to R×C.
    /// The other number has no effect, even if it is infinite or NaN. A mask is usually the result of a comparison; NaN
    /// in it counts as not 0.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let a = Value::<1, 3>::new(1, 3, vec![1.0, f32::INFINITY, -3.0]);
    /// assert_eq!(a.less(2.0).select(&a, 0.0).as_slice(), [1.0, 0.0, -3.0]);
    /// ```
    #[must_use]
    pub fn select(&self, yes: impl Operand<R, C>, no: impl Operand<R, C>) -> Self {
        // A mask may be one row or one column for all that it meets.
        let mask = no.after(&yes.after(self, "select", |mask, _| mask), "select", |mask, _| mask);
        let (yes, no) = (yes.after(&mask, "select", |_, x| x), no.after(&mask, "select", |_, x| x));
        let mut pairs = yes.as_slice().iter().zip(no.as_slice());
        mask.map(|mask| {
            let (yes, no) = pairs.next().expect("the mask and both values have the same size");
            if mask == 0.0 { *no } else { *yes }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Value;

    #[test]
    fn a_mask_of_one_column_is_one_for_all() {
        let mask = Value::<2, 1>::new(2, 1, vec![1.0, 0.0]).broadcast::<2, 2>();
        let (a, b) = (Value::<2, 2>::new(2, 2, vec![1.0, 2.0, 3.0, 4.0]), Value::<1, 2>::new(1, 2, vec![7.0, 8.0]));
        assert_eq!(mask.select(&a, &b).as_slice(), [1.0, 2.0, 7.0, 8.0]);
        assert_eq!(mask.select(0.0, &a).as_slice(), [0.0, 0.0, 3.0, 4.0]);
        assert_eq!((mask.select(5.0, 6.0) + &a).as_slice(), [6.0, 7.0, 9.0, 10.0]);
    }
}
