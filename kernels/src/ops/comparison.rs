//! Common code of comparisons. Their results are 1 where the comparison holds and 0 elsewhere.

use super::elementwise::{ONE_VALUE, one_size};
use crate::op::{Columns, Device, Host, OperandKind, Operation, Scalar, Slot, Spelling, VectorCall};

/// Scratch of the routines in `include/hpmoe/compare.h`: 256 columns in one row, for any number of rows.
pub(super) const SCRATCH: Columns = Columns::Once(256);
/// The first scratch value of an operation, in which comparisons with a number do their work.
pub(super) const WORK: &[Slot] = &[Slot::Scratch(0)];

/// A comparison of two values by a routine of the device library.
pub(super) const fn values(name: &'static str, host: Host, calls: &'static [VectorCall]) -> Operation {
    Operation {
        spelling: Spelling::Method(name),
        operands: &[OperandKind::Value, OperandKind::Value],
        shape: |operands, _| one_size("a comparison takes", operands),
        host,
        device: Device::Vector { scratch: &[SCRATCH], calls },
        ..ONE_VALUE
    }
}

/// A comparison of a value and a number. The number is first written to a second scratch value.
pub(super) const fn number(name: &'static str, host: Host, calls: &'static [VectorCall]) -> Operation {
    Operation {
        spelling: Spelling::Method(name),
        operands: &[OperandKind::Value, OperandKind::Number],
        host,
        device: Device::Vector { scratch: &[SCRATCH, Columns::OfResult], calls },
        ..ONE_VALUE
    }
}

/// The calls of a comparison of two values.
pub(super) const fn compare(routine: &'static str) -> [VectorCall; 1] {
    [VectorCall::Library(routine, Slot::Out, &[Slot::In(0), Slot::In(1)], WORK)]
}

/// The calls of a comparison with a number.
pub(super) const fn compare_with_number(routine: &'static str) -> [VectorCall; 2] {
    [
        VectorCall::Fill(Slot::Scratch(1), Scalar::Given(0)),
        VectorCall::Library(routine, Slot::Out, &[Slot::In(0), Slot::Scratch(1)], WORK),
    ]
}

/// 1 if the comparison holds, and 0 otherwise.
pub(super) fn truth(holds: bool) -> f32 {
    f32::from(u8::from(holds))
}
