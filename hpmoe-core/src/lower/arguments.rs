//! Arguments of a call: from accessors to the region of a tensor.

use super::indices::{Index, index, size};
use super::loops::{Nest, Side};
use super::outer;
use crate::finding::{CallFault, Errors, Finding, LoopFault, NameKind, RemoteFault, RowsFault, SendOfRows};
use crate::graph::{Columns, Outer, Region, RowKind, Rows, SpaceKind, TaskGraph};
use crate::ids::TensorId;
use crate::names::nearest;
use crate::syntax::{Accessor, Argument, Kernel, Rank};
use proc_macro2::Span;

/// An argument whose accessors are resolved; the sizes of its tile still come from the parameter.
#[derive(Clone, Debug)]
pub(super) struct LoweredArgument {
    pub(super) tensor: TensorId,
    pub(super) side: Side,
    /// The rows that the accessors name. For a matrix, these are the rows of the outer tile, which `tile` and the parameter cut.
    pub(super) rows: Rows,
    /// The index of `.tile(..)`, for matrices.
    pub(super) tile: Option<Index>,
    /// The index of `.cols(..)`.
    pub(super) cols: Option<Index>,
    /// The rows and columns of the tile, if accessors state them: `.tile::<ROWS>(n)`, `.cols::<COLUMNS>(n)`.
    written: (Option<usize>, Option<usize>),
}

/// Resolves the tensor and the accessors of one argument.
pub(super) fn place(
    kernel: &Kernel,
    graph: &TaskGraph,
    nest: &Nest,
    argument: &Argument,
    errors: &mut Errors,
) -> Option<LoweredArgument> {
    let Some(tensor) = graph.tensors.position(|tensor| tensor.name == argument.tensor) else {
        let names = graph.tensors.iter().map(|(_, tensor)| tensor.name.as_str());
        let nearest = nearest(&argument.tensor, names);
        let finding = Finding::Unknown { kind: NameKind::Tensor, name: argument.tensor.clone(), nearest };
        errors.push(argument.span, finding);
        return None;
    };
    let Some(side) = nest.side(&argument.rank) else {
        errors.push(argument.span, Finding::Loops(LoopFault::UnknownRank { tensor: argument.tensor.clone() }));
        return None;
    };
    let row_kind = graph.tensors[tensor].rows;
    let (mut rows, mut tile, mut cols): (Option<Rows>, _, _) = (None, None, None);
    let mut written = (None, None);
    for (number, (accessor, span)) in argument.accessors.iter().enumerate() {
        let cuts = matches!(accessor, Accessor::Tile { .. } | Accessor::Cols { .. });
        if rows.is_none() && cuts && matches!(row_kind, RowKind::Matrix(_)) {
            rows = Some(matrix(row_kind));
        }
        if let Accessor::Slots { rows, .. } = accessor {
            written.0 = size(kernel, rows.as_ref(), errors)?;
        }
        match accessor {
            Accessor::Tile { rows: height, index } if outer::is_outer(argument, number) && of_matrix(rows) => {
                rows = Some(outer::cut(kernel, nest, argument, (row_kind, rows), (height.as_ref(), index), errors)?);
            }
            Accessor::Tile { rows: height, index: expr } if of_matrix(rows) => {
                tile = Some(index(kernel, nest, expr, errors)?);
                written.0 = size(kernel, height.as_ref(), errors)?;
            }
            Accessor::Cols { columns, index: expr } if rows.is_some() && cols.is_none() => {
                cols = Some(index(kernel, nest, expr, errors)?);
                written.1 = size(kernel, columns.as_ref(), errors)?;
            }
            other if rows.is_none() => match named_rows(nest, other, row_kind) {
                Some(named) => rows = Some(named),
                // These name rows of one kind of tensor only, or none.
                None if !matches!((other, row_kind), (Accessor::Expert(_), RowKind::Expert(_)))
                    && (cuts || matches!(other, Accessor::Expert(_))) =>
                {
                    return refuse_rows(argument, rows_fault(row_kind), errors);
                }
                None => {
                    let (tensor, accessor) = (argument.tensor.clone(), other.name().to_owned());
                    errors.push(*span, Finding::Loops(LoopFault::UnknownTile { tensor, accessor }));
                    return None;
                }
            },
            _ => {
                errors.push(*span, Finding::Call(CallFault::AccessorOrder));
                return None;
            }
        }
    }
    let fits = |rows| {
        matches!(
            (row_kind, rows),
            (RowKind::Token, Rows::Gather | Rows::Block)
                | (RowKind::Received, Rows::Tile | Rows::Group)
                | (RowKind::Once, Rows::Once)
                | (RowKind::Slot, Rows::BlockSlots)
                | (RowKind::Expert(_) | RowKind::Matrix(_), Rows::Expert { .. })
        ) || matches!(
            (row_kind, rows, nest.space.kind),
            (RowKind::Received, Rows::Piece, SpaceKind::Sends)
                | (RowKind::Once, Rows::Piece, SpaceKind::SendsOnce)
                | (RowKind::Slot, Rows::Scatter, SpaceKind::Sends)
        )
    };
    match rows {
        Some(rows) if fits(rows) => {
            check_end(nest, argument, rows, side, errors)?;
            Some(LoweredArgument { tensor, side, rows, tile, cols, written })
        }
        other => refuse_rows(argument, of_other_send(nest, other, row_kind).unwrap_or(rows_fault(row_kind)), errors),
    }
}

/// The variables in the rank and the accessors of an argument that no loop around the call declares.
pub(super) fn unknown_variables(argument: &Argument, known: impl Fn(&str) -> bool) -> Vec<(Span, String)> {
    let (Rank::Variable(rank) | Rank::Owner(rank)) = &argument.rank;
    let named = argument
        .accessors
        .iter()
        .flat_map(|(accessor, span)| accessor.variables().into_iter().map(|variable| (*span, variable.clone())));
    [(argument.span, rank.clone())].into_iter().chain(named).filter(|(_, variable)| !known(variable)).collect()
}

/// Refuses an argument whose accessors don't exist for the kind of its tensor's rows.
fn refuse_rows(argument: &Argument, rows: RowsFault, errors: &mut Errors) -> Option<LoweredArgument> {
    let fault = CallFault::Accessors { tensor: argument.tensor.clone(), rows };
    errors.push(argument.span, Finding::Call(fault));
    None
}

fn rows_fault(kind: RowKind) -> RowsFault {
    match kind {
        RowKind::Token => RowsFault::Tokens,
        RowKind::Slot => RowsFault::Slots,
        RowKind::Received => RowsFault::Received,
        RowKind::Once => RowsFault::Once,
        RowKind::Expert(_) => RowsFault::Experts,
        RowKind::Matrix(_) => RowsFault::Matrix,
        RowKind::Routed => RowsFault::Routed,
    }
}

/// The fault of rows that are named by the wrong kind of send: by a send of once-sent tokens if each (token, k) is needed, or the reverse.
fn of_other_send(nest: &Nest, rows: Option<Rows>, kind: RowKind) -> Option<RowsFault> {
    if !matches!(rows, Some(Rows::Piece | Rows::Scatter)) {
        return None;
    }
    let (send, source, expert) = (nest.item.clone(), nest.source.clone(), nest.expert.clone()?);
    let send = SendOfRows { send, source, expert };
    match (nest.space.kind, kind) {
        (SpaceKind::SendsOnce, RowKind::Received) => Some(RowsFault::ReceivedBySendOnce(send)),
        (SpaceKind::SendsOnce, RowKind::Slot) => Some(RowsFault::SlotsBySendOnce(send)),
        (SpaceKind::Sends, RowKind::Once) => Some(RowsFault::OnceBySend(send)),
        _ => None,
    }
}

/// Checks at which end of a send an argument lies: tokens and slots at the sender, received rows and experts' matrices at
/// the expert's owner.
fn check_end(nest: &Nest, argument: &Argument, rows: Rows, side: Side, errors: &mut Errors) -> Option<()> {
    let (true, Some(expert)) = (nest.space.kind.sends(), &nest.expert) else { return Some(()) };
    let (send, source, expert) = (nest.item.clone(), nest.source.clone(), expert.clone());
    let (end, fault) = match rows {
        Rows::Gather => (Side::Source, RemoteFault::TokensAtSource { send, source }),
        Rows::Scatter => (Side::Source, RemoteFault::SlotsAtSource { send, source }),
        Rows::Piece => (Side::Owner, RemoteFault::RowsAtOwner { send, expert }),
        Rows::Expert { .. } => (Side::Owner, RemoteFault::MatrixAtOwner { expert }),
        Rows::Once | Rows::Tile | Rows::Group | Rows::BlockSlots | Rows::Block => return Some(()),
    };
    if side == end {
        return Some(());
    }
    errors.push(argument.span, Finding::Remote { tensor: argument.tensor.clone(), fault });
    None
}

/// Whether these rows are rows of a matrix.
const fn of_matrix(rows: Option<Rows>) -> bool {
    matches!(rows, Some(Rows::Expert { .. }))
}

/// All rows of a matrix tensor.
fn matrix(kind: RowKind) -> Rows {
    match kind {
        RowKind::Expert(rows) | RowKind::Matrix(rows) => {
            Rows::Expert { range: None, index: 0, height: rows, outer: Outer::whole(rows) }
        }
        _ => unreachable!("only matrices have a fixed number of rows"),
    }
}

/// The rows that an accessor names in a tensor of this row kind; `None` if the loops don't choose them.
fn named_rows(nest: &Nest, accessor: &Accessor, row_kind: RowKind) -> Option<Rows> {
    let is_tile = |expert: &str, tile: &str| nest.is_expert(expert) && nest.is_item(tile);
    match (nest.space.kind, accessor) {
        (SpaceKind::Sends | SpaceKind::SendsOnce, Accessor::Gather(send)) if nest.is_item(send) => {
            Some(if row_kind == RowKind::Slot { Rows::Scatter } else { Rows::Gather })
        }
        (SpaceKind::Sends | SpaceKind::SendsOnce, Accessor::RowsOf(send)) if nest.is_item(send) => Some(Rows::Piece),
        (SpaceKind::Sends | SpaceKind::SendsOnce, Accessor::Scatter(send)) if nest.is_item(send) => Some(Rows::Scatter),
        (SpaceKind::RowTiles, Accessor::Group(expert, tile)) if is_tile(expert, tile) => Some(Rows::Tile),
        (SpaceKind::RowTiles, Accessor::GatherTile(expert, tile))
            if is_tile(expert, tile) && row_kind == RowKind::Once =>
        {
            Some(Rows::Once)
        }
        (SpaceKind::Experts, Accessor::Expert(expert)) if nest.is_expert(expert) && row_kind == RowKind::Received => {
            Some(Rows::Group)
        }
        (_, Accessor::Expert(expert)) if nest.is_expert(expert) && matches!(row_kind, RowKind::Expert(_)) => {
            Some(matrix(row_kind))
        }
        (SpaceKind::Blocks, Accessor::Rows(block)) if nest.is_item(block) => Some(Rows::Block),
        (SpaceKind::Blocks, Accessor::Slots { block, .. }) if nest.is_item(block) => Some(Rows::BlockSlots),
        _ => None,
    }
}

impl LoweredArgument {
    /// The maximum numbers of rows and columns, if the accessors or the tensor fix them; `None` if the parameter decides.
    pub(super) fn size(&self, graph: &TaskGraph, nest: &Nest) -> (Option<usize>, Option<usize>) {
        let height = nest.space.height.number() as usize;
        let rows = match self.rows {
            Rows::Expert { height, .. } => {
                if self.tile.is_none() {
                    Some(height as usize)
                } else {
                    self.written.0
                }
            }
            Rows::BlockSlots => Some(height * graph.sizes.top_k),
            _ => Some(height),
        };
        let columns = graph.tensors[self.tensor].columns as usize;
        (rows, if self.cols.is_none() { Some(columns) } else { self.written.1 })
    }

    /// The rows and columns from which rustc infers const arguments: those of [`Self::size`], except that the number of a block's slots or
    /// of all rows of an expert counts only if the accessor states it.
    pub(super) fn inferable_size(&self, graph: &TaskGraph, nest: &Nest) -> (Option<usize>, Option<usize>) {
        let (rows, cols) = self.size(graph, nest);
        (if matches!(self.rows, Rows::BlockSlots | Rows::Group) { self.written.0 } else { rows }, cols)
    }

    /// The region of a tile of `rows` rows and `cols` columns.
    pub(super) fn region(&self, rows: u32, cols: u32) -> Region {
        let split = |index: Index| match index {
            Index::Range(range, added) => (Some(range), added),
            Index::Fixed(index) => (None, index),
        };
        let rows = match (self.rows, self.tile) {
            (Rows::Expert { range, index, outer, .. }, None) => Rows::Expert { range, index, height: rows, outer },
            (Rows::Expert { outer, .. }, Some(tile)) => {
                let (range, index) = split(tile);
                Rows::Expert { range, index, height: rows, outer }
            }
            (rows, _) => rows,
        };
        let columns = match self.cols {
            None => Columns::All,
            Some(index) => {
                let (range, index) = split(index);
                Columns::Tile { range, index, width: cols }
            }
        };
        Region { rows, columns }
    }
}
