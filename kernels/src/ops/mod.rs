//! The tile operations, one per file, and their table.
//!
//! A new operation is a file here and a row in [`TABLE`].

mod abs;
mod accumulate;
mod add;
mod add_matmul;
mod add_matmul_t;
mod arg_max;
mod at_least;
mod at_most;
mod broadcast;
mod cast;
mod clamp;
mod column_ids;
mod columns;
mod comparison;
mod concat;
mod div;
mod elementwise;
mod equal;
mod even_columns;
mod exp;
mod floor;
mod fold_rows;
mod gelu;
mod gelu_tanh;
mod greater;
mod greater_equal;
mod interleave;
mod less;
mod less_equal;
mod ln;
mod load;
mod log_sigmoid;
mod look_up;
mod matmul;
mod matmul_t;
mod max;
mod min;
mod mul;
mod neg;
mod not_equal;
mod odd_columns;
mod pick;
mod place;
mod product;
mod put;
mod relu;
mod repeat_columns;
mod reshape;
mod rms_norm;
mod round;
mod row_max;
mod row_mean;
mod row_min;
mod row_sum;
mod rsqrt;
mod rules;
mod select;
mod sigmoid;
mod silu;
mod softmax;
mod softplus;
mod sqrt;
mod square;
mod store;
mod sub;
mod t_matmul;
mod tanh;
mod top_k;
mod unpack;
mod weighted_sum;

pub use store::Storable;

use crate::op::Operation;

/// The table of all operations. The compiler looks operations up by their spelling.
pub static TABLE: &[&Operation] = &[
    &load::OPERATION,
    &unpack::OPERATION,
    &look_up::OPERATION,
    &store::OPERATION,
    &cast::OPERATION,
    &accumulate::OPERATION,
    &matmul_t::OPERATION,
    &matmul::OPERATION,
    &t_matmul::OPERATION,
    &add_matmul::OPERATION,
    &add_matmul_t::OPERATION,
    &add::VALUES,
    &add::NUMBER,
    &add::NUMBER_FIRST,
    &sub::VALUES,
    &sub::NUMBER,
    &sub::NUMBER_FIRST,
    &neg::OPERATION,
    &mul::VALUES,
    &mul::NUMBER,
    &mul::NUMBER_FIRST,
    &div::VALUES,
    &div::NUMBER,
    &div::NUMBER_FIRST,
    &max::OPERATION,
    &min::OPERATION,
    &at_least::OPERATION,
    &at_most::OPERATION,
    &clamp::OPERATION,
    &abs::OPERATION,
    &square::OPERATION,
    &sqrt::OPERATION,
    &rsqrt::OPERATION,
    &floor::OPERATION,
    &round::OPERATION,
    &exp::OPERATION,
    &ln::OPERATION,
    &tanh::OPERATION,
    &sigmoid::OPERATION,
    &log_sigmoid::OPERATION,
    &softplus::OPERATION,
    &relu::OPERATION,
    &silu::OPERATION,
    &gelu::OPERATION,
    &gelu_tanh::OPERATION,
    &less::VALUES,
    &less::NUMBER,
    &less_equal::VALUES,
    &less_equal::NUMBER,
    &greater::VALUES,
    &greater::NUMBER,
    &greater_equal::VALUES,
    &greater_equal::NUMBER,
    &equal::VALUES,
    &equal::NUMBER,
    &not_equal::VALUES,
    &not_equal::NUMBER,
    &select::VALUES,
    &select::OR_NUMBER,
    &select::NUMBER_OR,
    &select::NUMBERS,
    &row_sum::OPERATION,
    &row_mean::OPERATION,
    &row_max::OPERATION,
    &row_min::OPERATION,
    &arg_max::OPERATION,
    &softmax::OPERATION,
    &rms_norm::OPERATION,
    &column_ids::OPERATION,
    &top_k::OPERATION,
    &pick::OPERATION,
    &place::OPERATION,
    &broadcast::OPERATION,
    &even_columns::OPERATION,
    &odd_columns::OPERATION,
    &interleave::OPERATION,
    &repeat_columns::OPERATION,
    &columns::OPERATION,
    &concat::OPERATION,
    &reshape::OPERATION,
    &weighted_sum::OPERATION,
    &fold_rows::OPERATION,
    &put::OPERATION,
];

/// All operations with the given method name or operator. Operations with the same name differ in their kinds of operands.
///
/// ```
/// use hpmoe_kernels::ops;
///
/// assert_eq!(ops::named("silu").count(), 1);
/// assert_eq!(ops::named("-").count(), 4, "two values; a value and a number; a number and a value; a value");
/// assert_eq!(ops::named("sine").count(), 0);
/// ```
pub fn named(name: &str) -> impl Iterator<Item = &'static Operation> {
    TABLE.iter().copied().filter(move |operation| operation.is_named(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{ElementType, OperandKind, Shape, Spelling, TaskKind};

    pub(super) fn tile(element: ElementType, rows: usize, cols: usize) -> Shape {
        Shape { kind: OperandKind::Tile, element, rows, cols }
    }

    pub(super) fn value(rows: usize, cols: usize) -> Shape {
        Shape { kind: OperandKind::Value, element: ElementType::f32, rows, cols }
    }

    #[test]
    fn operations_of_one_name_have_different_operands() {
        for (number, operation) in TABLE.iter().enumerate() {
            assert!(!operation.cores.is_empty() && !operation.operands.is_empty() && !operation.name().is_empty());
            let mut others = TABLE[number + 1..].iter().filter(|other| other.name() == operation.name());
            assert!(others.all(|other| other.operands != operation.operands), "{} is there twice", operation.name());
        }
    }

    #[test]
    fn users_find_every_operation_in_their_table() {
        let text = include_str!("../../../docs/operations.md");
        for operation in TABLE {
            let spelled = match operation.spelling {
                Spelling::Method(name) => format!(".{name}("),
                Spelling::Operator(sign) => format!("a {sign} b"),
            };
            let there = text.contains(&spelled) || text.contains(&spelled.replace('(', "::<"));
            assert!(there, "docs/operations.md has no `{spelled}`");
        }
    }

    #[test]
    fn the_cube_makes_values_only_by_products_and_what_their_store_computes() {
        let mut on_cube: Vec<String> =
            TABLE.iter().filter(|o| o.cores.contains(&TaskKind::Matrix)).map(|o| o.name()).collect();
        on_cube.sort();
        assert_eq!(
            on_cube,
            ["accumulate", "add_matmul", "add_matmul_t", "matmul", "matmul_t", "relu", "store", "t_matmul"]
        );
    }
}
