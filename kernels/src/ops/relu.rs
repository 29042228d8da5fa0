//! `value.relu()`: numbers below 0 become 0.

use super::elementwise::ONE_VALUE;
use super::rules::mistyped;
use crate::Value;
use crate::op::{Device, ElementType, Host, Misfit, Operation, Shape, Slot, Spelling, TaskKind, VectorCall};

/// The operation `relu`: the larger of 0 and each number. On a matrix core, the store of a product computes it while it
/// copies from L0C.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("relu"),
    host: Host::values(|given| given[0].relu()),
    device: Device::Vector { scratch: &[], calls: &[VectorCall::Unary("Relu", Slot::Out, Slot::In(0))] },
    cores: &[TaskKind::Matrix, TaskKind::Vector],
    shape,
    ..ONE_VALUE
};

fn shape(operands: &[Shape], element: Option<ElementType>) -> Result<Shape, Misfit> {
    if operands[0].element == ElementType::i32 {
        let problem = "`relu` works on f32, but this is a product of integers, which can only be stored".to_owned();
        return Err(mistyped(problem, "store it in a tile of i32, and take `relu` in the #[aiv_task] that scales it"));
    }
    (ONE_VALUE.shape)(operands, element)
}

impl<const R: usize, const C: usize> Value<R, C> {
    /// x where x > 0, +0 elsewhere: R×C to R×C. NaN stays NaN, whereas [`at_least(0.0)`](Self::at_least) would replace
    /// it.
    ///
    /// `relu` is the only elementwise operation that matrix cores have, too. There it must be the last operation before a
    /// store: `y.store(x.matmul_t(w).relu())`.
    ///
    /// ```
    /// use hpmoe_kernels::Value;
    ///
    /// let value = Value::<1, 3>::new(1, 3, vec![-2.0, 0.5, f32::INFINITY]);
    /// assert_eq!(value.relu().as_slice(), [0.0, 0.5, f32::INFINITY]);
    /// ```
    #[must_use]
    pub fn relu(&self) -> Self {
        self.map(|x| if x > 0.0 || x.is_nan() { x } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn integers_of_a_product_are_only_stored() {
        assert_eq!(shape(&[value(16, 32)], None), Ok(value(16, 32)));
        let misfit = shape(&[Shape { element: ElementType::i32, ..value(16, 32) }], None).unwrap_err();
        assert!(misfit.types && misfit.problem.contains("product of integers"), "{misfit:?}");
    }
}
