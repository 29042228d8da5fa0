//! Tiles of tiles of a matrix: the first accessor names one of several stacked matrices, the second cuts a tile from it.

use super::indices::{Index, index};
use super::loops::Nest;
use crate::finding::{CallFault, Dimension, Errors, Finding};
use crate::graph::{Outer, RowKind, Rows};
use crate::names::ByName;
use crate::syntax::{Accessor, Argument, Kernel};
use syn::Expr;

/// Whether a later accessor cuts a tile from the tile that accessor `number` names.
pub(super) fn is_outer(argument: &Argument, number: usize) -> bool {
    argument.accessors[number + 1..].iter().any(|(accessor, _)| matches!(accessor, Accessor::Tile { .. }))
}

/// Whether these rows are cut from an outer tile, rather than from a whole matrix.
pub(super) fn is_inside(kind: RowKind, rows: Rows) -> bool {
    match (kind, rows) {
        (RowKind::Expert(rows) | RowKind::Matrix(rows), Rows::Expert { outer, .. }) => outer != Outer::whole(rows),
        _ => false,
    }
}

/// The outer tile that `.tile::<HEIGHT>(at)` names in these rows.
pub(super) fn cut(
    kernel: &Kernel,
    nest: &Nest,
    argument: &Argument,
    (kind, rows): (RowKind, Option<Rows>),
    (height, at): (Option<&Expr>, &Expr),
    errors: &mut Errors,
) -> Option<Rows> {
    let Some(rows @ Rows::Expert { range, index: fixed, outer, .. }) = rows else {
        unreachable!("only matrices have tiles")
    };
    let tensor = argument.tensor.clone();
    let Some(height) = height else {
        errors.push(argument.span, Finding::Call(CallFault::OuterWithoutRows { tensor }));
        return None;
    };
    let height = kernel.constants.evaluate(height, &ByName::new(), errors)?;
    let Some(size) = u32::try_from(height).ok().filter(|size| (1..=outer.rows).contains(size)) else {
        let fault = CallFault::OuterRows { tensor, value: height, most: outer.rows };
        errors.push(argument.span, Finding::Call(fault));
        return None;
    };
    let Index::Fixed(number) = index(kernel, nest, at, errors)? else {
        errors.push(argument.span, Finding::Call(CallFault::OuterMoves { tensor, size }));
        return None;
    };
    let Some(first) = number.checked_mul(size).filter(|first| *first < outer.rows) else {
        let (extent, inside, along) = (outer.rows, is_inside(kind, rows), Dimension::Rows);
        errors.push(
            argument.span,
            Finding::EmptyTile { tensor, index: number, size, extent, inside, along, fixed: true },
        );
        return None;
    };
    let outer = Outer { first: outer.first + first, rows: size.min(outer.rows - first) };
    Some(Rows::Expert { range, index: fixed, height: outer.rows, outer })
}
