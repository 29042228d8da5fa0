//! Sizes at run time: if a tensor ends inside a tile, the tiles of an operation must end at the same place.
//!
//! Types give the maximum rows and columns. The sizes at run time follow from the loops: rows from the item; columns and
//! rows of experts' matrices from the index of the tile and the end of the tensor.

use super::arguments::LoweredArgument;
use super::indices::Index;
use super::loops::Nest;
use crate::finding::{RealOperand, RealSize};
use crate::graph::{Param, Rows, Task, TaskGraph};
use crate::ids::{Arena, ValueId};
use hpmoe_kernels::op::{Contracted, Device, ElementType, Sizes};
use proc_macro2::Span;

/// Rows and columns at run time.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Size {
    rows: RealSize,
    columns: RealSize,
}

/// An operation whose operands have different sizes at run time.
pub(super) struct Uneven {
    pub(super) operation: String,
    pub(super) span: Span,
    pub(super) left: RealOperand,
    pub(super) right: RealOperand,
}

/// Half of a number of columns that is always even.
fn half(columns: &RealSize) -> Option<RealSize> {
    let even = |size: &u64| size % 2 == 0;
    match columns {
        RealSize::Fixed(size) => even(size).then_some(RealSize::Fixed(size / 2)),
        RealSize::Tail { range, sizes } => sizes.iter().all(even).then(|| {
            let sizes = sizes.iter().map(|size| size / 2).collect();
            RealSize::Tail { range: range.clone(), sizes }
        }),
        RealSize::Item | RealSize::Slots | RealSize::Parts(_) => None,
    }
}

/// The rows at run time after a reshape of `before` rows to `after` rows. The error is the number of rows that would have to become one
/// row, if the rows at run time are not a multiple of it.
fn reshaped(rows: &RealSize, before: usize, after: usize, top_k: u64) -> Result<RealSize, u64> {
    let each = match rows {
        RealSize::Item => 1,
        RealSize::Slots => top_k,
        RealSize::Parts(parts) => *parts,
        RealSize::Fixed(rows) => {
            let (rows, before, after) = (*rows, before as u64, after as u64);
            let whole = (rows * after) % before == 0;
            return if whole { Ok(RealSize::Fixed(rows * after / before)) } else { Err(before / after) };
        }
        RealSize::Tail { .. } if before == after => return Ok(rows.clone()),
        RealSize::Tail { .. } => return Err((before / after).max(1) as u64),
    };
    let (times, together) = ((after / before).max(1) as u64, (before / after).max(1) as u64);
    if (each * times) % together != 0 {
        return Err(together);
    }
    Ok(match each * times / together {
        1 => RealSize::Item,
        parts if parts == top_k => RealSize::Slots,
        parts => RealSize::Parts(parts),
    })
}

/// The free size and the contracted size of an operand of a product.
fn split(size: &Size, way: Contracted) -> (&RealSize, &RealSize) {
    match way {
        Contracted::Columns => (&size.rows, &size.columns),
        Contracted::Rows => (&size.columns, &size.rows),
    }
}

/// The contracted rows or columns of an operand.
fn contracted(size: &RealSize, way: Contracted) -> RealOperand {
    match way {
        Contracted::Columns => RealOperand::Columns(size.clone()),
        Contracted::Rows => RealOperand::Rows(size.clone()),
    }
}

/// The first operation of a body, if any, that these arguments don't fit.
pub(super) fn uneven(graph: &TaskGraph, nest: &Nest, task: &Task, places: &[LoweredArgument]) -> Option<Uneven> {
    let shapes = task.shapes();
    let mut sizes: Arena<ValueId, Size> =
        task.params.iter().zip(places).map(|(param, place)| size(graph, nest, param, place)).collect();
    for step in &task.body.steps {
        let operands: Vec<&Size> = step.operands.iter().map(|&id| &sizes[id]).collect();
        let uneven = |left, right| Some(Uneven { operation: step.operation.name(), span: step.span, left, right });
        let first = operands[0];
        let rows_of_first = || RealOperand::Rows(first.rows.clone());
        let columns_of_first = || RealOperand::Columns(first.columns.clone());
        let result = match step.operation.device {
            Device::Matmul { x, w, adds } => {
                let tiles = &operands[usize::from(adds)..];
                let (left, right) = (split(tiles[0], x), split(tiles[1], w));
                if left.1 != right.1 {
                    return uneven(contracted(left.1, x), contracted(right.1, w));
                }
                let product = Size { rows: left.0.clone(), columns: right.0.clone() };
                if adds && *first != product {
                    let sum = RealOperand::Value { rows: first.rows.clone(), columns: first.columns.clone() };
                    return uneven(sum, contracted(right.0, w));
                }
                product
            }
            Device::Vector { .. } | Device::Store => {
                // One row is one row at run time, too, and likewise a column: for all of the others.
                let result = step.result;
                let shape = |at: usize| shapes[step.operands[at]];
                let by_rows: Vec<usize> = (0..operands.len()).filter(|&at| shape(at).rows == result.rows).collect();
                let by_columns: Vec<usize> = (0..operands.len()).filter(|&at| shape(at).cols == result.cols).collect();
                let (rows, columns) = (&operands[by_rows[0]].rows, &operands[by_columns[0]].columns);
                let mut other_rows = by_rows.iter().map(|&at| &operands[at].rows).filter(|_| result.rows != 1);
                if let Some(other) = other_rows.find(|other| *other != rows) {
                    return uneven(RealOperand::Rows(rows.clone()), RealOperand::Rows(other.clone()));
                }
                if let Some(other) = by_columns.iter().map(|&at| &operands[at].columns).find(|other| *other != columns)
                {
                    return uneven(RealOperand::Columns(columns.clone()), RealOperand::Columns(other.clone()));
                }
                Size { rows: rows.clone(), columns: columns.clone() }
            }
            Device::Unpack | Device::LookUp => {
                let packed = shapes[step.operands[0]].element == ElementType::i4x2;
                // Pairs are those of whole rows, and a table has a number for each code.
                for (&value, size) in step.operands.iter().zip(&operands).skip(usize::from(!packed)) {
                    let stated = shapes[value].cols as u64;
                    if size.columns != RealSize::Fixed(stated) {
                        let columns = RealOperand::Columns(size.columns.clone());
                        return uneven(columns, RealOperand::AllColumns(stated));
                    }
                }
                let columns = if packed { RealSize::Fixed(step.result.cols as u64) } else { first.columns.clone() };
                Size { rows: first.rows.clone(), columns }
            }
            Device::Load | Device::Cast | Device::Accumulate | Device::Put => {
                if let Some(other) = operands[1..].iter().find(|other| **other != first) {
                    return if first.columns == other.columns {
                        uneven(rows_of_first(), RealOperand::Rows(other.rows.clone()))
                    } else {
                        uneven(columns_of_first(), RealOperand::Columns(other.columns.clone()))
                    };
                }
                first.clone()
            }
            Device::Routine(routine) => match routine.sizes {
                Sizes::SumOverK => {
                    let weights = operands[1];
                    let by_token = Size { rows: RealSize::Item, columns: RealSize::Fixed(graph.sizes.top_k as u64) };
                    if first.rows != RealSize::Slots || *weights != by_token {
                        let Size { rows, columns } = weights.clone();
                        return uneven(rows_of_first(), RealOperand::Weights { rows, columns });
                    }
                    Size { rows: RealSize::Item, columns: first.columns.clone() }
                }
                Sizes::RowsForEachToken => {
                    let tokens = step.result.rows * graph.sizes.top_k;
                    if first.rows != RealSize::Slots || shapes[step.operands[0]].rows != tokens {
                        return uneven(rows_of_first(), RealOperand::Tokens(step.result.rows));
                    }
                    Size { rows: RealSize::Item, columns: first.columns.clone() }
                }
                Sizes::Columns | Sizes::Slice | Sizes::Reshaped => {
                    for (&value, size) in step.operands.iter().zip(&operands) {
                        let stated = shapes[value].cols as u64;
                        if size.columns != RealSize::Fixed(stated) {
                            let columns = RealOperand::Columns(size.columns.clone());
                            return uneven(columns, RealOperand::AllColumns(stated));
                        }
                        if size.rows != first.rows {
                            return uneven(rows_of_first(), RealOperand::Rows(size.rows.clone()));
                        }
                    }
                    let columns = RealSize::Fixed(step.result.cols as u64);
                    let before = shapes[step.operands[0]].rows;
                    match reshaped(&first.rows, before, step.result.rows, graph.sizes.top_k as u64) {
                        Ok(rows) => Size { rows, columns },
                        Err(together) => return uneven(rows_of_first(), RealOperand::Together(together)),
                    }
                }
                Sizes::Picked => {
                    let ids = operands[1];
                    if first.rows != ids.rows && shapes[step.operands[0]].rows == step.result.rows {
                        return uneven(rows_of_first(), RealOperand::Ids(ids.rows.clone()));
                    }
                    ids.clone()
                }
                Sizes::Same => first.clone(),
                Sizes::OneColumn => Size { rows: first.rows.clone(), columns: RealSize::Fixed(1) },
                Sizes::HalfOfColumns => match half(&first.columns) {
                    Some(columns) => Size { rows: first.rows.clone(), columns },
                    None => return uneven(columns_of_first(), RealOperand::ColumnPairs),
                },
            },
            Device::Steps(_) | Device::Broadcast => {
                unreachable!("a body has other operations in place of `{}`", step.operation.name())
            }
        };
        sizes.push(result);
    }
    None
}

/// The size at run time of the tile that an argument gives a parameter.
fn size(graph: &TaskGraph, nest: &Nest, param: &Param, place: &LoweredArgument) -> Size {
    let tensor = &graph.tensors[place.tensor];
    let cut = |index: Index, most: usize, extent: u32| {
        let (most, extent) = (most as u64, u64::from(extent));
        let at = |index: u32| extent.saturating_sub(u64::from(index) * most).min(most);
        match index {
            Index::Fixed(index) => RealSize::Fixed(at(index)),
            Index::Range(range, added) => {
                let (name, steps) = &nest.ranges[range as usize];
                let sizes: Vec<u64> = (0..*steps).map(|step| at(step.saturating_add(added))).collect();
                let even = sizes.iter().all(|size| *size == sizes[0]);
                if even { RealSize::Fixed(sizes[0]) } else { RealSize::Tail { range: name.clone(), sizes } }
            }
        }
    };
    let rows = match (place.rows, tensor.rows) {
        (Rows::BlockSlots, _) => RealSize::Slots,
        (Rows::Expert { outer, .. }, _) => cut(place.tile.unwrap_or(Index::Fixed(0)), param.shape.rows, outer.rows),
        _ => RealSize::Item,
    };
    let columns = match place.cols {
        Some(index) => cut(index, param.shape.cols, tensor.columns),
        None => RealSize::Fixed(u64::from(tensor.columns)),
    };
    Size { rows, columns }
}
