//! Arguments of a call: from accessors to a region of a tensor, with its shape.

use super::loops::{Items, Nest, Side};
use crate::finding::{CallFault, Errors, Finding, Loops, Remote, SendKind};
use crate::graph::{Columns, Region, RowKind, Rows, TaskGraph};
use crate::ids::TensorId;
use crate::names::{ByName, nearest};
use crate::syntax::{Accessor, Argument, Kernel};
use hpmoe_kernels::RAGGED;
use syn::Expr;

/// An argument whose accessors are understood; tile sizes still come from the parameter.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) tensor: TensorId,
    pub(super) side: Side,
    /// Which rows the accessors name; of a matrix, all of them: `tile` and the parameter cut it.
    pub(super) rows: Rows,
    /// Index of `.tile(..)`, for experts.
    pub(super) tile: Option<Index>,
    /// Index of `.cols(..)`.
    pub(super) cols: Option<Index>,
}

/// A range variable or a fixed number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Index {
    Range(u32),
    Fixed(u32),
}

/// Understands one argument.
pub(super) fn place(
    kernel: &Kernel,
    graph: &TaskGraph,
    nest: &Nest,
    argument: &Argument,
    errors: &mut Errors,
) -> Option<Place> {
    let Some(tensor) = graph.tensors.position(|tensor| tensor.name == argument.tensor) else {
        let names = graph.tensors.iter().map(|(_, tensor)| tensor.name.as_str());
        let finding = Finding::Unknown {
            what: "tensor",
            name: argument.tensor.clone(),
            nearest: nearest(&argument.tensor, names),
        };
        errors.push(argument.span, finding);
        return None;
    };
    let Some(side) = nest.side(&argument.rank) else {
        errors.push(argument.span, Finding::Loops(Loops::UnknownRank { tensor: argument.tensor.clone() }));
        return None;
    };
    let row_kind = graph.tensors[tensor].rows;
    let (mut rows, mut tile, mut cols): (Option<Rows>, _, _) = (None, None, None);
    for (accessor, span) in &argument.accessors {
        let mut index = |expr: &Expr| index(kernel, nest, expr, errors);
        match accessor {
            Accessor::Tile(expr) if rows.is_none() && matches!(row_kind, RowKind::Matrix { .. }) => {
                (rows, tile) = (Some(matrix(row_kind)), Some(index(expr)?));
            }
            Accessor::Cols(expr) if rows.is_none() && matches!(row_kind, RowKind::Matrix { .. }) => {
                (rows, cols) = (Some(matrix(row_kind)), Some(index(expr)?));
            }
            Accessor::Tile(expr)
                if matches!((rows, row_kind), (Some(Rows::Expert { .. }), RowKind::Expert { .. }))
                    && tile.is_none() =>
            {
                tile = Some(index(expr)?)
            }
            Accessor::Cols(expr) if rows.is_some() && cols.is_none() => cols = Some(index(expr)?),
            other if rows.is_none() => match named_rows(nest, other, row_kind) {
                Some(named) => rows = Some(named),
                None if matches!(other, Accessor::Expert(_)) && !matches!(row_kind, RowKind::Expert { .. }) => {
                    let fault = CallFault::Accessors { tensor: argument.tensor.clone(), rows: row_kind, send: None };
                    errors.push(argument.span, Finding::Call(fault));
                    return None;
                }
                None => {
                    errors.push(*span, Finding::Loops(Loops::UnknownTile { tensor: argument.tensor.clone() }));
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
                | (RowKind::Expert { .. } | RowKind::Matrix { .. }, Rows::Expert { .. })
        ) || matches!(
            (row_kind, rows, nest.sends_once()),
            (RowKind::Received, Rows::Piece, false)
                | (RowKind::Once, Rows::Piece, true)
                | (RowKind::Slot, Rows::Scatter, false)
        )
    };
    match rows {
        Some(rows) if fits(rows) => {
            at_home(nest, argument, rows, side, errors)?;
            Some(Place { tensor, side, rows, tile, cols })
        }
        other => {
            let send = match (other, &nest.items) {
                (Some(Rows::Piece | Rows::Scatter), Items::Sends { send, source, expert, once, .. })
                    if *once != (row_kind == RowKind::Once)
                        && matches!(row_kind, RowKind::Received | RowKind::Slot | RowKind::Once) =>
                {
                    let (send, source, expert) = (send.clone(), source.clone(), expert.clone());
                    Some(SendKind { send, once: *once, source, expert })
                }
                _ => None,
            };
            let fault = CallFault::Accessors { tensor: argument.tensor.clone(), rows: row_kind, send };
            errors.push(argument.span, Finding::Call(fault));
            None
        }
    }
}

/// Of a send, tokens and slots lie at its sender, rows received and the expert at the expert's owner.
fn at_home(nest: &Nest, argument: &Argument, rows: Rows, side: Side, errors: &mut Errors) -> Option<()> {
    let Items::Sends { send, source, expert, .. } = &nest.items else { return Some(()) };
    let owner = || format!("{expert}.owner()");
    let (home, what, rank) = match rows {
        Rows::Gather => (Side::Source, format!("tokens of `{send}`"), source.clone()),
        Rows::Scatter => (Side::Source, format!("slots of `{send}`"), source.clone()),
        Rows::Piece => (Side::Owner, format!("rows of `{send}`"), owner()),
        Rows::Expert { .. } => (Side::Owner, format!("matrix of `{expert}`"), owner()),
        Rows::Once | Rows::Tile | Rows::Group | Rows::BlockSlots | Rows::Block => return Some(()),
    };
    if side == home {
        return Some(());
    }
    let finding = Finding::Remote { tensor: argument.tensor.clone(), fault: Remote::OtherEnd { what, rank } };
    errors.push(argument.span, finding);
    None
}

/// All rows of a matrix.
fn matrix(kind: RowKind) -> Rows {
    match kind {
        RowKind::Expert { rows } | RowKind::Matrix { rows } => Rows::Expert { range: None, index: 0, height: rows },
        _ => unreachable!("only matrices have rows of their own"),
    }
}

/// The rows that an accessor names in a tensor of that kind, where the loops choose them.
fn named_rows(nest: &Nest, accessor: &Accessor, row_kind: RowKind) -> Option<Rows> {
    match (&nest.items, accessor) {
        (Items::Sends { send, .. }, Accessor::Gather(name)) if name == send && row_kind == RowKind::Slot => {
            Some(Rows::Scatter)
        }
        (Items::Sends { send, .. }, Accessor::Gather(name)) if name == send => Some(Rows::Gather),
        (Items::Sends { send, .. }, Accessor::RowsOf(name)) if name == send => Some(Rows::Piece),
        (Items::Sends { send, .. }, Accessor::Scatter(name)) if name == send => Some(Rows::Scatter),
        (Items::RowTiles { tile, expert, .. }, Accessor::Group(e, m)) if e == expert && m == tile => Some(Rows::Tile),
        (Items::RowTiles { tile, expert, .. }, Accessor::GatherTile(e, m))
            if e == expert && m == tile && row_kind == RowKind::Once =>
        {
            Some(Rows::Once)
        }
        (Items::Experts { expert, .. }, Accessor::Expert(e)) if e == expert && row_kind == RowKind::Received => {
            Some(Rows::Group)
        }
        (
            Items::RowTiles { expert, .. } | Items::Experts { expert, .. } | Items::Sends { expert, .. },
            Accessor::Expert(e),
        ) if e == expert && matches!(row_kind, RowKind::Expert { .. }) => Some(matrix(row_kind)),
        (Items::Blocks { block, .. }, Accessor::Rows(name)) if name == block => Some(Rows::Block),
        (Items::Blocks { block, .. }, Accessor::Slots(name)) if name == block => Some(Rows::BlockSlots),
        _ => None,
    }
}

fn index(kernel: &Kernel, nest: &Nest, expr: &Expr, errors: &mut Errors) -> Option<Index> {
    if let Expr::Path(path) = expr
        && let Some(name) = path.path.get_ident()
        && let Some(range) = nest.ranges.iter().rposition(|(range, _)| name == range)
    {
        return u32::try_from(range).ok().map(Index::Range);
    }
    let value = kernel.constants.evaluate(expr, &ByName::new(), errors)?;
    u32::try_from(value).ok().map(Index::Fixed)
}

impl Place {
    /// Most rows and columns, where the accessors or the tensor fix them; `None` where the parameter decides.
    pub(super) fn size(&self, graph: &TaskGraph, nest: &Nest) -> (Option<usize>, Option<usize>) {
        let height = match &nest.items {
            Items::RowTiles { height, .. } | Items::Sends { height, .. } | Items::Blocks { height, .. } => {
                height.number() as usize
            }
            Items::Experts { .. } => RAGGED,
        };
        let rows = match self.rows {
            Rows::Expert { height, .. } => self.tile.is_none().then_some(height as usize),
            Rows::Group => Some(RAGGED),
            Rows::BlockSlots => Some(height * graph.sizes.top_k),
            _ => Some(height),
        };
        let columns = graph.tensors[self.tensor].columns as usize;
        (rows, self.cols.is_none().then_some(columns))
    }

    /// The region, once the tile's size is known.
    pub(super) fn region(&self, rows: u32, cols: u32) -> Region {
        let split = |index: Index| match index {
            Index::Range(range) => (Some(range), 0),
            Index::Fixed(index) => (None, index),
        };
        let rows = match (self.rows, self.tile) {
            (Rows::Expert { range, index, .. }, None) => Rows::Expert { range, index, height: rows },
            (Rows::Expert { .. }, Some(tile)) => {
                let (range, index) = split(tile);
                Rows::Expert { range, index, height: rows }
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
