//! `value.clamp(low, high)`: limits every number to a range.

use super::elementwise::ONE_VALUE;
use super::rules::misshapen;
use crate::Value;
use crate::op::{Device, Host, Misfit, OperandKind, Operation, Scalar, Slot, Spelling, VectorCall};

/// The operation `clamp` for a value and two numbers.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("clamp"),
    operands: &[OperandKind::Value, OperandKind::Number, OperandKind::Number],
    numbers: ascending,
    host: Host::values(|given| given[0].clamp(given.numbers[0], given.numbers[1])),
    device: Device::Vector {
        scratch: &[],
        calls: &[
            VectorCall::Scalar("Maxs", Slot::Out, Slot::In(0), Scalar::Given(0)),
            VectorCall::Scalar("Mins", Slot::Out, Slot::Out, Scalar::Given(1)),
        ],
    },
    ..ONE_VALUE
};

fn ascending(limits: &[f32]) -> Result<(), Misfit> {
    let (low, high) = (limits[0], limits[1]);
    if low > high {
        return Err(misshapen(
            format!("no number lies between the limits of this `clamp`: {low:?} is more than {high:?}"),
            format!("give the lower limit first: `clamp({high:?}, {low:?})`"),
        ));
    }
    Ok(())
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// [`at_least`](Self::at_least) `low`, then [`at_most`](Self::at_most) `high`: R×C to R×C.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let a = Value::<1, 3>::new(1, 3, vec![-9.0, 3.0, 9.0]);
    /// assert_eq!(a.clamp(-7.0, 7.0).as_slice(), [-7.0, 3.0, 7.0]);
    /// ```
    #[must_use]
    pub fn clamp(&self, low: f32, high: f32) -> Self {
        self.at_least(low).at_most(high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_limit_comes_first() {
        assert_eq!(ascending(&[-7.0, 7.0]), Ok(()));
        let misfit = ascending(&[7.0, -7.0]).unwrap_err();
        assert_eq!(misfit.problem, "no number lies between the limits of this `clamp`: 7.0 is more than -7.0");
        assert_eq!(misfit.help, "give the lower limit first: `clamp(-7.0, 7.0)`");
    }
}
