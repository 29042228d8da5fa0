//! Arguments of a call as views of tensors.

use super::context::Context;
use super::cpp::{Expr, int, name};
use crate::graph::{Access, Columns, Phase, RowKind, Rows, Storage};
use crate::ids::TensorId;

/// The part of a tensor that an argument names, in terms of `tile`.
pub(super) fn view(context: &Context<'_>, phase: &Phase, access: &Access) -> Expr {
    let whole = whole(context, access.tensor, access.remote);
    let (first, count) = (name("tile").dot("first"), name("tile").dot("rows"));
    let slots = context.graph.sizes.top_k as u64;
    let token = first_token(context, access.tensor);
    let after = |first: Expr| token.clone().map_or(first.clone(), |token| token + first);
    let rows = match access.region.rows {
        Rows::Tile | Rows::Group | Rows::Piece => whole.method("Rows", vec![first, count]),
        Rows::Block => whole.method("Rows", vec![after(first), count]),
        Rows::BlockSlots => whole.method("Rows", vec![after(first) * int(slots), count * int(slots)]),
        // The put looks up each row.
        Rows::Once => whole,
        Rows::Gather | Rows::Scatter => match (token, context.graph.tensors[access.tensor].rows) {
            (None, _) => whole,
            (Some(token), RowKind::Slot) => whole.method("From", vec![token * int(slots)]),
            (Some(token), _) => whole.method("From", vec![token]),
        },
        Rows::Expert { range, index, height, outer } => {
            let first = match context.graph.tensors[access.tensor].rows {
                RowKind::Expert(rows) if outer.first == 0 => own_expert(context) * int(rows),
                RowKind::Expert(rows) => own_expert(context) * int(rows) + int(outer.first),
                RowKind::Matrix(_) => int(outer.first),
                _ => unreachable!("the front end accepts rows of a matrix only from tensors of matrices"),
            };
            let tile = || iteration(phase, range, index) * int(height);
            if height >= outer.rows {
                whole.method("Rows", vec![first, int(outer.rows)])
            } else if outer.rows % height == 0 {
                whole.method("Rows", vec![first + tile(), int(height)])
            } else {
                let matrix = whole.method("Rows", vec![first, int(outer.rows)]);
                matrix.method("Rows", vec![tile(), int(height)])
            }
        }
    };
    match access.region.columns {
        Columns::All => rows,
        Columns::Tile { range, index, width } => {
            // A tile that is wider than its tensor is as wide as that.
            let most = width.min(context.graph.tensors[access.tensor].columns);
            rows.method("Cols", vec![iteration(phase, range, index) * int(width), int(most)])
        }
    }
}

/// The first token of the tile's chunk, as a row of a tensor, counted in tokens. The caller's tensors hold all tokens, other tensors those
/// of two chunks. `None` if that row is the tensor's first.
fn first_token(context: &Context<'_>, tensor: TensorId) -> Option<Expr> {
    let sizes = &context.graph.sizes;
    let chunk = || name("tile").dot("chunk");
    match context.graph.tensors[tensor].storage {
        _ if !sizes.cuts() => None,
        Storage::Argument | Storage::Shared => Some(name("core").method("FirstToken", vec![chunk()])),
        Storage::Workspace | Storage::Symmetric => {
            Some(chunk() % int(sizes.buffers() as u64) * int(sizes.chunk_stride() as u64))
        }
    }
}

/// The local expert of a tile.
fn own_expert(context: &Context<'_>) -> Expr {
    if context.graph.sizes.cuts() {
        name("core").method("OwnExpert", vec![name("tile")])
    } else {
        name("tile").dot("expert")
    }
}

/// A whole tensor: that of this rank, or of the tile's peer if `remote`.
pub(super) fn whole(context: &Context<'_>, tensor: TensorId, remote: bool) -> Expr {
    let named = name(format!("tensor::{}", context.tensor_names[tensor]));
    if remote {
        name("core").method("OfPeer", vec![named, name("tile").dot("peer")])
    } else {
        name("core").method("Of", vec![named])
    }
}

/// The spelling of a tensor's type in its declaration.
pub(super) fn declared(context: &Context<'_>, tensor: TensorId) -> String {
    let tensor = &context.graph.tensors[tensor];
    let kind = match tensor.storage {
        Storage::Symmetric => "Symmetric",
        Storage::Shared => "Shared",
        Storage::Argument | Storage::Workspace => "Private",
    };
    format!("{kind}<{}>", tensor.element.ascendc())
}

/// The number of the tile that a constant range selects: its loop variable plus `index`. `tile.column` counts the ranges around the call,
/// the innermost fastest.
fn iteration(phase: &Phase, range: Option<u32>, index: u32) -> Expr {
    let Some(range) = range else { return int(index) };
    let extent = phase.ranges[range as usize];
    if extent == 1 {
        return int(index);
    }
    let inner: u32 = phase.ranges[range as usize + 1..].iter().product();
    let outer: u32 = phase.ranges[..range as usize].iter().product();
    let value = name("tile").dot("column") / int(inner);
    let value = if outer == 1 { value } else { value % int(extent) };
    value + int(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};

    #[test]
    fn columns_count_the_innermost_range_fastest() {
        let checked = moe_ffn(&Layer::SMALL);
        let mut phase = checked.graph().phases.iter().next().unwrap().1.clone();
        phase.ranges = vec![3, 5, 1];
        let column = || name("tile").dot("column");
        assert_eq!(iteration(&phase, Some(0), 0), column() / int(5u64));
        assert_eq!(iteration(&phase, Some(1), 0), column() % int(5u64));
        assert_eq!(iteration(&phase, Some(2), 0), int(0u64));
        assert_eq!(iteration(&phase, None, 7), int(7u64));
        assert_eq!(iteration(&phase, Some(0), 7), column() / int(5u64) + int(7u64));
        assert_eq!(iteration(&phase, Some(2), 7), int(7u64));
    }
}
