//! Arguments of a call: from accessors to a region of a tensor, with its shape.

use super::loops::{Items, Nest, Side};
use crate::finding::{CallFault, Errors, Finding, Loops, Remote, SendKind};
use crate::graph::{Columns, Region, RowKind, Rows, TaskGraph, Tensor};
use crate::ids::TensorId;
use crate::names::nearest;
use crate::syntax::{Accessor, Argument, Kernel};
use hpmoe_kernels::RAGGED;
use indexmap::IndexMap;
use syn::Expr;

/// An argument whose accessors are understood; tile sizes still come from the parameter.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) tensor: TensorId,
    pub(super) side: Side,
    pub(super) base: Base,
    /// Index of `.tile(..)`, for experts.
    pub(super) tile: Option<Index>,
    /// Index of `.cols(..)`.
    pub(super) cols: Option<Index>,
}

/// The rows an accessor names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Base {
    Gather,
    Once,
    Piece,
    Scatter,
    Tile,
    Group,
    BlockSlots,
    Block,
    Expert,
    /// The rank's own matrix, which no loop chooses.
    Matrix,
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
    let of_rank = matches!(graph.tensors[tensor].rows, RowKind::Matrix { .. });
    let (mut base, mut tile, mut cols) = (None, None, None);
    for (accessor, span) in &argument.accessors {
        let mut index = |expr: &Expr| index(kernel, nest, expr, errors);
        match accessor {
            Accessor::Tile(_) | Accessor::Cols(_) if base.is_none() && of_rank => {
                base = Some(Base::Matrix);
                match accessor {
                    Accessor::Tile(expr) => tile = Some(index(expr)?),
                    Accessor::Cols(expr) => cols = Some(index(expr)?),
                    _ => unreachable!("one of the two"),
                }
            }
            Accessor::Tile(expr) if base == Some(Base::Expert) && tile.is_none() => tile = Some(index(expr)?),
            Accessor::Cols(expr) if base.is_some() && cols.is_none() => cols = Some(index(expr)?),
            other if base.is_none() => match rows(nest, other, graph.tensors[tensor].rows) {
                Some(found) => base = Some(found),
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
    let fits = |tensor: &Tensor, base| {
        matches!(
            (tensor.rows, base),
            (RowKind::Token, Base::Gather | Base::Block)
                | (RowKind::Received, Base::Tile | Base::Group)
                | (RowKind::Once, Base::Once)
                | (RowKind::Slot, Base::BlockSlots)
                | (RowKind::Expert { .. }, Base::Expert)
                | (RowKind::Matrix { .. }, Base::Matrix)
        ) || matches!(
            (tensor.rows, base, nest.sends_once()),
            (RowKind::Received, Base::Piece, false)
                | (RowKind::Once, Base::Piece, true)
                | (RowKind::Slot, Base::Scatter, false)
        )
    };
    match base {
        Some(base) if fits(&graph.tensors[tensor], base) => {
            at_home(nest, argument, base, side, errors)?;
            Some(Place { tensor, side, base, tile, cols })
        }
        other => {
            let rows = graph.tensors[tensor].rows;
            let send = match (other, &nest.items) {
                (Some(Base::Piece | Base::Scatter), Items::Sends { send, source, expert, once, .. })
                    if *once != (rows == RowKind::Once)
                        && matches!(rows, RowKind::Received | RowKind::Slot | RowKind::Once) =>
                {
                    let (send, source, expert) = (send.clone(), source.clone(), expert.clone());
                    Some(SendKind { send, once: *once, source, expert })
                }
                _ => None,
            };
            let fault = CallFault::Accessors { tensor: argument.tensor.clone(), rows, send };
            errors.push(argument.span, Finding::Call(fault));
            None
        }
    }
}

/// Of a send, tokens and slots lie at its sender, rows received and the expert at the expert's owner.
fn at_home(nest: &Nest, argument: &Argument, base: Base, side: Side, errors: &mut Errors) -> Option<()> {
    let Items::Sends { send, source, expert, .. } = &nest.items else { return Some(()) };
    let owner = || format!("{expert}.owner()");
    let (home, what, rank) = match base {
        Base::Gather => (Side::Source, format!("tokens of `{send}`"), source.clone()),
        Base::Scatter => (Side::Source, format!("slots of `{send}`"), source.clone()),
        Base::Piece => (Side::Owner, format!("rows of `{send}`"), owner()),
        Base::Expert => (Side::Owner, format!("matrix of `{expert}`"), owner()),
        Base::Once | Base::Tile | Base::Group | Base::BlockSlots | Base::Block | Base::Matrix => return Some(()),
    };
    if side == home {
        return Some(());
    }
    let finding = Finding::Remote { tensor: argument.tensor.clone(), fault: Remote::OtherEnd { what, rank } };
    errors.push(argument.span, finding);
    None
}

fn rows(nest: &Nest, accessor: &Accessor, extent: RowKind) -> Option<Base> {
    match (&nest.items, accessor) {
        (Items::Sends { send, .. }, Accessor::Gather(name)) if name == send && extent == RowKind::Slot => {
            Some(Base::Scatter)
        }
        (Items::Sends { send, .. }, Accessor::Gather(name)) if name == send => Some(Base::Gather),
        (Items::Sends { send, .. }, Accessor::RowsOf(name)) if name == send => Some(Base::Piece),
        (Items::Sends { send, .. }, Accessor::Scatter(name)) if name == send => Some(Base::Scatter),
        (Items::RowTiles { tile, expert, .. }, Accessor::Group(e, m)) if e == expert && m == tile => Some(Base::Tile),
        (Items::RowTiles { tile, expert, .. }, Accessor::GatherTile(e, m))
            if e == expert && m == tile && extent == RowKind::Once =>
        {
            Some(Base::Once)
        }
        (Items::Experts { expert, .. }, Accessor::Expert(e)) if e == expert && extent == RowKind::Received => {
            Some(Base::Group)
        }
        (
            Items::RowTiles { expert, .. } | Items::Experts { expert, .. } | Items::Sends { expert, .. },
            Accessor::Expert(e),
        ) if e == expert => Some(Base::Expert),
        (Items::Blocks { block, .. }, Accessor::Rows(name)) if name == block => Some(Base::Block),
        (Items::Blocks { block, .. }, Accessor::Slots(name)) if name == block => Some(Base::BlockSlots),
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
    let value = kernel.constants.evaluate(expr, &IndexMap::new(), errors)?;
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
        let rows = match (self.base, graph.tensors[self.tensor].rows) {
            (Base::Expert, RowKind::Expert { rows }) | (Base::Matrix, RowKind::Matrix { rows })
                if self.tile.is_none() =>
            {
                Some(rows as usize)
            }
            (Base::Expert | Base::Matrix, _) => None,
            (Base::Group, _) => Some(RAGGED),
            (Base::BlockSlots, _) => Some(height * graph.sizes.top_k),
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
        let region_rows = match self.base {
            Base::Gather => Rows::Gather,
            Base::Once => Rows::Once,
            Base::Piece => Rows::Piece,
            Base::Scatter => Rows::Scatter,
            Base::Tile => Rows::Tile,
            Base::Group => Rows::Group,
            Base::BlockSlots => Rows::BlockSlots,
            Base::Block => Rows::Block,
            Base::Expert | Base::Matrix => {
                let (range, index) = split(self.tile.unwrap_or(Index::Fixed(0)));
                Rows::Expert { range, index, height: rows }
            }
        };
        let columns = match self.cols {
            None => Columns::All,
            Some(index) => {
                let (range, index) = split(index);
                Columns::Tile { range, index, width: cols }
            }
        };
        Region { rows: region_rows, columns }
    }
}
