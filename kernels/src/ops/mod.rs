//! The tile operations, one per file, and the table of them.
//!
//! A new operation is a file here and a row in [`TABLE`].

mod accumulate;
mod add_matmul;
mod add_matmul_t;
mod cast;
mod load;
mod matmul;
mod matmul_t;
mod mul;
mod product;
mod put;
mod silu;
mod store;
mod t_matmul;
mod weighted_sum;

use crate::op::{ElementType, Misfit, Operation, Shape, Spelling};

/// All operations.
pub static TABLE: &[&Operation] = &[
    &load::OPERATION,
    &store::OPERATION,
    &cast::OPERATION,
    &accumulate::OPERATION,
    &matmul_t::OPERATION,
    &matmul::OPERATION,
    &t_matmul::OPERATION,
    &add_matmul::OPERATION,
    &add_matmul_t::OPERATION,
    &silu::OPERATION,
    &mul::OPERATION,
    &weighted_sum::OPERATION,
    &put::OPERATION,
];

/// The operation spelled `receiver.name(..)`.
///
/// ```
/// use hpmoe_kernels::ops;
///
/// assert_eq!(ops::method("silu").unwrap().name(), "silu");
/// assert!(ops::method("sine").is_none());
/// ```
#[must_use]
pub fn method(name: &str) -> Option<&'static Operation> {
    find(|spelling| matches!(spelling, Spelling::Method(method) if method == name))
}

/// The operation spelled `left sign right`.
#[must_use]
pub fn operator(sign: char) -> Option<&'static Operation> {
    find(|spelling| spelling == Spelling::Operator(sign))
}

fn find(wanted: impl Fn(Spelling) -> bool) -> Option<&'static Operation> {
    TABLE.iter().copied().find(|operation| wanted(operation.spelling))
}

/// Rows and columns disagree.
fn misshapen(problem: String, help: impl Into<String>) -> Misfit {
    Misfit { types: false, problem, help: help.into() }
}

/// Element types disagree.
fn mistyped(problem: String, help: impl Into<String>) -> Misfit {
    Misfit { types: true, problem, help: help.into() }
}

/// Operation `name` needs a float operand.
fn float(name: &str, shape: &Shape) -> Result<(), Misfit> {
    match shape.element {
        ElementType::bf16 | ElementType::f32 => Ok(()),
        ElementType::i32 => Err(mistyped(
            format!("`{name}` works on bf16 and f32, but this is a {shape}"),
            "declare the tile as bf16 or f32",
        )),
    }
}

/// Elements of a shape.
const fn elements(shape: &Shape) -> u64 {
    shape.rows as u64 * shape.cols as u64
}

/// Bytes of a shape in global memory.
const fn bytes(shape: &Shape) -> u64 {
    elements(shape) * shape.element.bytes() as u64
}

/// Bytes of a shape as f32 on chip.
const fn on_chip(shape: &Shape) -> u64 {
    elements(shape) * 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Core, Place};

    pub(super) fn tile(element: ElementType, rows: usize, cols: usize) -> Shape {
        Shape { place: Place::Tile, element, rows, cols }
    }

    pub(super) fn value(rows: usize, cols: usize) -> Shape {
        Shape { place: Place::Value, element: ElementType::f32, rows, cols }
    }

    #[test]
    fn every_operation_is_found_by_its_spelling() {
        for operation in TABLE {
            let found = match operation.spelling {
                Spelling::Method(name) => method(name),
                Spelling::Operator(sign) => operator(sign),
            };
            assert_eq!(found.expect("it is in the table").name(), operation.name());
            assert!(!operation.cores.is_empty() && !operation.operands.is_empty());
        }
        assert!(operator('%').is_none());
    }

    #[test]
    fn the_cube_makes_values_only_by_a_product() {
        let on_cube: Vec<String> = TABLE.iter().filter(|o| o.cores.contains(&Core::Cube)).map(|o| o.name()).collect();
        assert_eq!(on_cube, ["store", "accumulate", "matmul_t", "matmul", "t_matmul", "add_matmul", "add_matmul_t"]);
    }
}
