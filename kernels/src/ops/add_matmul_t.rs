//! `value.add_matmul_t(x, w)`: adds a product in the cube's accumulator.

use super::product::{FLOATS, Factor, Side, added, fits};
use super::rules::any_numbers;
use crate::op::{Contracted, Device, ElementType, Host, Misfit, OperandKind, Operation, Shape, Spelling, TaskKind};
use crate::{CubeElement, Tile, Value};

/// The operation `add_matmul_t`, which adds the product of two tiles to a value.
pub(super) static OPERATION: Operation = Operation {
    spelling: Spelling::Method("add_matmul_t"),
    cores: &[TaskKind::Matrix],
    operands: &[OperandKind::Value, OperandKind::Tile, OperandKind::Tile],
    takes_element: false,
    numbers: any_numbers,
    shape,
    host: Host::product(|sum, x, w| sum.expect("the operation has a value to add to").add_matmul_t(&x, &w)),
    device: Device::Matmul { x: Contracted::Columns, w: Contracted::Columns, adds: true },
};

fn shape(operands: &[Shape], _: Option<ElementType>) -> Result<Shape, Misfit> {
    let value = &operands[0];
    let product = fits("add_matmul_t", FLOATS, Side::columns(&operands[1]), Side::columns(&operands[2]))?;
    added("add_matmul_t", value, product)
}

impl<const R: usize, const N: usize> Value<R, N> {
    /// This value plus the product x · wᵀ, R×N. Each sum continues from this value's number and adds the products of x
    /// and w in ascending k, with each product and each sum rounded once. (Adding two finished products would round
    /// differently.)
    ///
    /// ```
    /// use hpmoe_kernels::{TileBuf, bf16};
    ///
    /// let x = TileBuf::<bf16>::from_f32(1, 2, &[1.0, 2.0]);
    /// let w = TileBuf::<bf16>::from_f32(3, 2, &[1.0, 0.0, 0.0, 1.0, 3.0, 4.0]);
    /// let (x, w) = (x.tile::<16, 16>(), w.tile::<16, 16>());
    /// assert_eq!(x.matmul_t(&w).add_matmul_t(&x, &w).as_slice(), [2.0, 4.0, 22.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If, at run time, the tiles don't fit each other or the value.
    #[must_use]
    pub fn add_matmul_t<T: CubeElement<Sum = f32>, const K: usize>(
        self,
        x: &Tile<'_, T, R, K>,
        w: &Tile<'_, T, N, K>,
    ) -> Self {
        let (x, w) = (Factor::new(x, Contracted::Columns), Factor::new(w, Contracted::Columns));
        assert_eq!(
            (self.rows(), self.cols()),
            (x.free(), w.free()),
            "`add_matmul_t` adds to a value of the product's size"
        );
        let mut sums = self.as_slice().to_vec();
        x.add_to(&mut sums, &w, "add_matmul_t");
        Self::new(x.free(), w.free(), sums)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{tile, value};
    use super::*;

    #[test]
    fn adds_to_a_value_of_its_size() {
        let (x, w) = (tile(ElementType::bf16, 128, 64), tile(ElementType::bf16, 256, 64));
        assert_eq!(shape(&[value(128, 256), x, w], None), Ok(value(128, 256)));
        let misfit = shape(&[value(128, 128), x, w], None).unwrap_err();
        assert_eq!(misfit.problem, "`add_matmul_t` adds a product of 128x256 to a value of 128x128");
    }
}
