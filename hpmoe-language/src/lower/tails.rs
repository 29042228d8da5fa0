//! Real sizes: where a tensor ends inside a tile, the tiles that an operation takes together must end alike.
//!
//! Types give the most rows and columns. What there really is follows from the loops: rows from the item, columns and
//! rows of experts from the index of the tile and where the tensor ends.

use super::arguments::{Index, Place};
use super::loops::Nest;
use crate::graph::{Param, RowKind, Rows, Task, TaskGraph};
use crate::ids::{Arena, ValueId};
use hpmoe_kernels::op::{Contracted, Device, Sizes};
use proc_macro2::Span;
use std::fmt;

/// A real number of rows or columns.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Real {
    /// As many as the row tile, the piece or the block has rows.
    Item,
    /// The slots of so many tokens.
    Slots,
    /// Always so many.
    Fixed(u64),
    /// As many as fit, in every iteration of a range.
    Tail { range: String, sizes: Vec<u64> },
}

impl Real {
    /// Half as many, where they are always an even number.
    fn half(&self) -> Option<Self> {
        let even = |size: &u64| size.is_multiple_of(2);
        match self {
            Self::Fixed(size) => even(size).then_some(Self::Fixed(size / 2)),
            Self::Tail { range, sizes } => sizes
                .iter()
                .all(even)
                .then(|| Self::Tail { range: range.clone(), sizes: sizes.iter().map(|size| size / 2).collect() }),
            Self::Item | Self::Slots => None,
        }
    }
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item => f.write_str("as many as there are"),
            Self::Slots => f.write_str("as many as there are slots"),
            Self::Fixed(size) => write!(f, "{size}"),
            Self::Tail { range, sizes } => {
                let (first, last) = (sizes.first().unwrap_or(&0), sizes.last().unwrap_or(&0));
                write!(f, "{first} (and {last} at the end of `{range}`)")
            }
        }
    }
}

/// Rows and columns.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Size {
    rows: Real,
    cols: Real,
}

/// An operation whose operands really have different sizes: its name and place, and what it meets.
pub(super) struct Uneven {
    pub(super) operation: String,
    pub(super) span: Span,
    pub(super) left: String,
    pub(super) right: String,
}

fn rows(real: &Real) -> String {
    match real {
        Real::Item => "the item's rows".to_owned(),
        Real::Slots => "the slots of the item's tokens".to_owned(),
        other => format!("{other} rows"),
    }
}

/// Free and contracted extent of an operand of a product.
fn split(size: &Size, way: Contracted) -> (&Real, &Real) {
    match way {
        Contracted::Columns => (&size.rows, &size.cols),
        Contracted::Rows => (&size.cols, &size.rows),
    }
}

fn along(real: &Real, way: Contracted) -> String {
    match way {
        Contracted::Columns => format!("{real} columns"),
        Contracted::Rows => rows(real),
    }
}

/// The first operation of a body, if any, that these arguments don't fit.
pub(super) fn uneven(graph: &TaskGraph, nest: &Nest, task: &Task, places: &[Place]) -> Option<Uneven> {
    let shapes = task.shapes();
    let mut sizes: Arena<ValueId, Size> =
        task.params.iter().zip(places).map(|(param, place)| size(graph, nest, param, place)).collect();
    for step in &task.body.steps {
        let operands: Vec<&Size> = step.operands.iter().map(|&id| &sizes[id]).collect();
        let fault = |left: &str, right: &str| {
            Some(Uneven {
                operation: step.operation.name(),
                span: step.span,
                left: left.to_owned(),
                right: right.to_owned(),
            })
        };
        let first = operands[0];
        let result = match step.operation.device {
            Device::Matmul { x, w, adds } => {
                let tiles = &operands[usize::from(adds)..];
                let (left, right) = (split(tiles[0], x), split(tiles[1], w));
                if left.1 != right.1 {
                    return fault(&along(left.1, x), &along(right.1, w));
                }
                let product = Size { rows: left.0.clone(), cols: right.0.clone() };
                if adds && *first != product {
                    return fault(&format!("{}, {} columns", rows(&first.rows), first.cols), &along(right.0, w));
                }
                product
            }
            Device::Load | Device::Cast | Device::Store | Device::Accumulate | Device::Put | Device::Vector { .. } => {
                if let Some(other) = operands[1..].iter().find(|other| **other != first) {
                    let what = |size: &Size| {
                        if first.cols == other.cols { rows(&size.rows) } else { format!("{} columns", size.cols) }
                    };
                    return fault(&what(first), &what(other));
                }
                first.clone()
            }
            Device::Routine(routine) => match routine.sizes {
                Sizes::SumOverK => {
                    let weights = operands[1];
                    let of_tokens = Size { rows: Real::Item, cols: Real::Fixed(graph.sizes.top_k as u64) };
                    if first.rows != Real::Slots || *weights != of_tokens {
                        let weights = format!("weights of {}, {} columns", rows(&weights.rows), weights.cols);
                        return fault(&rows(&first.rows), &weights);
                    }
                    Size { rows: Real::Item, cols: first.cols.clone() }
                }
                Sizes::RowsForEachToken => {
                    let tokens = step.result.rows * graph.sizes.top_k;
                    if first.rows != Real::Slots || shapes[step.operands[0]].rows != tokens {
                        return fault(&rows(&first.rows), &format!("{} tokens", step.result.rows));
                    }
                    Size { rows: Real::Item, cols: first.cols.clone() }
                }
                Sizes::NumberForEachRow => {
                    if operands[1].rows != first.rows {
                        return fault(&rows(&first.rows), &format!("numbers for {}", rows(&operands[1].rows)));
                    }
                    first.clone()
                }
                // Tiles of one row have one.
                Sizes::NumberForEachColumn => {
                    if operands[1].cols != first.cols {
                        return fault(
                            &format!("{} columns", first.cols),
                            &format!("numbers for {} columns", operands[1].cols),
                        );
                    }
                    first.clone()
                }
                Sizes::OneColumn => Size { rows: first.rows.clone(), cols: Real::Fixed(1) },
                Sizes::HalfOfColumns => match first.cols.half() {
                    Some(cols) => Size { rows: first.rows.clone(), cols },
                    None => return fault(&format!("{} columns", first.cols), "pairs of columns"),
                },
            },
        };
        sizes.push(result);
    }
    None
}

fn size(graph: &TaskGraph, nest: &Nest, param: &Param, place: &Place) -> Size {
    let tensor = &graph.tensors[place.tensor];
    let cut = |index: Index, most: usize, extent: u32| {
        let (most, extent) = (most as u64, u64::from(extent));
        let at = |index: u32| extent.saturating_sub(u64::from(index) * most).min(most);
        match index {
            Index::Fixed(index) => Real::Fixed(at(index)),
            Index::Range(range) => {
                let (name, steps) = &nest.ranges[range as usize];
                let sizes: Vec<u64> = (0..*steps).map(at).collect();
                let even = sizes.iter().all(|size| *size == sizes[0]);
                if even { Real::Fixed(sizes[0]) } else { Real::Tail { range: name.clone(), sizes } }
            }
        }
    };
    let rows = match (place.rows, tensor.rows) {
        (Rows::BlockSlots, _) => Real::Slots,
        (Rows::Expert { .. }, RowKind::Expert { rows } | RowKind::Matrix { rows }) => {
            cut(place.tile.unwrap_or(Index::Fixed(0)), param.shape.rows, rows)
        }
        _ => Real::Item,
    };
    let cols = match place.cols {
        Some(index) => cut(index, param.shape.cols, tensor.columns),
        None => Real::Fixed(u64::from(tensor.columns)),
    };
    Size { rows, cols }
}
