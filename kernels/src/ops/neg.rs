//! `-value`: numbers negated.

use std::ops::Neg;

use super::elementwise::ONE_VALUE;
use crate::Value;
use crate::op::{Device, Host, Operation, Scalar, Slot, Spelling, VectorCall};

/// The operation `-` for one value, which multiplies each number by -1.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Operator('-'),
    host: Host::values(|given| -&given[0]),
    device: Device::Vector {
        scratch: &[],
        calls: &[VectorCall::Scalar("Muls", Slot::Out, Slot::In(0), Scalar::Is(-1.0))],
    },
    ..ONE_VALUE
};

/// Negates each number: R×C to R×C.
///
/// ```
/// use hpmoe_kernels::Value;
///
/// let a = Value::<1, 2>::new(1, 2, vec![2.0, -3.0]);
/// assert_eq!((-a).as_slice(), [-2.0, 3.0]);
/// ```
impl<const R: usize, const C: usize> Neg for Value<R, C> {
    type Output = Self;

    fn neg(self) -> Self {
        -&self
    }
}

impl<const R: usize, const C: usize> Neg for &Value<R, C> {
    type Output = Value<R, C>;

    fn neg(self) -> Value<R, C> {
        self.map(|x| -x)
    }
}
