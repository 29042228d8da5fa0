//! The order of iterations: a call must read what the same or an earlier iteration of every loop that it shares with the writer
//! has written.
//!
//! A taskflow means what it does as a Rust function. The task graph orders whole calls, as if every loop ended before the next
//! call began. The two agree if the variable of each shared loop chooses the same part of the tensor for both calls.

use super::arguments::LoweredArgument;
use super::indices::Index;
use super::loops::Nest;
use crate::graph::{Rows, TaskGraph};
use crate::ids::TensorId;
use proc_macro2::Span;

/// A loop statement of the taskflow, around a call.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    /// The number of the loop in the taskflow.
    pub(super) id: u32,
    /// The name of the loop variable.
    pub(super) name: String,
}

/// An argument that an earlier call writes.
#[derive(Clone, Debug)]
pub(super) struct LoopWrite {
    tensor: TensorId,
    /// The numbers of the loops around the call, and the part of the tensor that each loop variable chooses.
    loops: Vec<(u32, LoopPart)>,
    span: Span,
}

/// The part of a tensor that a loop variable chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LoopPart {
    /// The rank that holds the rows.
    Holder,
    /// Rows that came from a rank.
    Source,
    /// Rows that went to a rank.
    Target,
    /// Rows of an expert.
    Expert,
    /// One of the items of the call's iteration space: a row tile, a piece or a block.
    Item,
    /// One of the ranges around a call, whose steps are column tiles.
    Columns(Steps),
    /// Tiles of a matrix's rows.
    Rows(Steps),
    /// No part: the loop repeats the call for the same elements.
    Nothing,
}

/// Tiles of `size` columns or rows from `from` on, in `steps` steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Steps {
    from: u64,
    size: u64,
    steps: u32,
}

/// The maximum numbers of rows and columns of an argument's tile.
pub(super) type Size = (usize, usize);

/// Records an argument that a call writes.
pub(super) fn written(loops: &[Loop], nest: &Nest, place: &LoweredArgument, size: Size, span: Span) -> LoopWrite {
    let loops = loops.iter().map(|around| (around.id, part(&around.name, nest, place, size))).collect();
    LoopWrite { tensor: place.tensor, loops, span }
}

/// The loop whose later iterations still write data that this call reads, if any, and the place of the writer.
pub(super) fn still_written<'a>(
    earlier: &[LoopWrite],
    loops: &'a [Loop],
    graph: &TaskGraph,
    (nest, place, size): (&Nest, &LoweredArgument, Size),
) -> Option<(&'a Loop, Span)> {
    let whole = u64::from(graph.tensors[place.tensor].columns);
    let columns = end_of_first(place.cols, size.1, whole);
    let rows = match place.rows {
        Rows::Expert { outer, .. } => u64::from(outer.first) + end_of_first(place.tile, size.0, outer.rows.into()),
        _ => 0,
    };
    earlier.iter().filter(|writer| writer.tensor == place.tensor).find_map(|writer| {
        let mut shared = loops.iter().zip(&writer.loops).take_while(|(around, (id, _))| around.id == *id);
        let late = shared
            .find(|(around, (_, wrote))| !follows(*wrote, part(&around.name, nest, place, size), (rows, columns)));
        late.map(|(around, _)| (around, writer.span))
    })
}

/// Whether every iteration reads only what has been written by then. In their first step, the iterations read up to `rows` and `columns`.
fn follows(wrote: LoopPart, read: LoopPart, (rows, columns): (u64, u64)) -> bool {
    match (wrote, read) {
        // A loop of one step has no later iteration. A writer whose tile doesn't depend on the range is reported elsewhere.
        (LoopPart::Columns(Steps { steps: 1, .. }) | LoopPart::Rows(Steps { steps: 1, .. }) | LoopPart::Nothing, _) => {
            true
        }
        (LoopPart::Columns(wrote), LoopPart::Columns(read)) | (LoopPart::Rows(wrote), LoopPart::Rows(read)) => {
            let apart = wrote.end() <= read.from || read.end() <= wrote.from;
            apart || read.size <= wrote.size && read.from + read.size <= wrote.from + wrote.size
        }
        (LoopPart::Columns(Steps { from, size, .. }), _) => columns <= from + size,
        (LoopPart::Rows(Steps { from, size, .. }), _) => rows <= from + size,
        _ => wrote == read,
    }
}

/// The end of the rows or columns that the iterations of the first step read.
fn end_of_first(index: Option<Index>, size: usize, whole: u64) -> u64 {
    match index {
        Some(Index::Fixed(index)) => whole.min((u64::from(index) + 1).saturating_mul(size as u64)),
        _ => whole,
    }
}

impl Steps {
    fn new(first: u32, added: u32, size: usize, steps: u32) -> Self {
        let size = size as u64;
        Self { from: u64::from(first).saturating_add(u64::from(added).saturating_mul(size)), size, steps }
    }

    fn end(&self) -> u64 {
        self.from.saturating_add(self.size.saturating_mul(self.steps.into()))
    }
}

fn part(variable: &str, nest: &Nest, place: &LoweredArgument, (height, width): Size) -> LoopPart {
    if let Some(range) = nest.ranges.iter().position(|(name, _)| name == variable) {
        let steps = nest.ranges[range].1;
        return match (place.cols, place.tile, place.rows) {
            (Some(Index::Range(by, added)), ..) if by as usize == range => {
                LoopPart::Columns(Steps::new(0, added, width, steps))
            }
            (_, Some(Index::Range(by, added)), Rows::Expert { outer, .. }) if by as usize == range => {
                LoopPart::Rows(Steps::new(outer.first, added, height, steps))
            }
            _ => LoopPart::Nothing,
        };
    }
    let by_token = matches!(place.rows, Rows::Gather | Rows::Scatter);
    if nest.is_expert(variable) {
        return LoopPart::Expert;
    }
    if nest.is_item(variable) {
        return LoopPart::Item;
    }
    if !nest.space.kind.sends() {
        return LoopPart::Holder;
    }
    match (nest.source == variable, by_token) {
        (true, true) | (false, false) => LoopPart::Holder,
        (true, false) => LoopPart::Source,
        (false, true) => LoopPart::Target,
    }
}
