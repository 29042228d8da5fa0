//! The order of iterations: a call must read what the same or an earlier iteration of every loop that it shares with the writer
//! has written.
//!
//! A taskflow means what it does as a Rust function. The task graph orders whole calls, as if every loop ended before the next
//! call began. The two agree if the variable of each shared loop chooses the same part of the tensor for both calls.

use super::arguments::{Index, LoweredArgument};
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
    /// The loops around the call, and the part of the tensor that each chooses.
    loops: Vec<(u32, LoopPart)>,
    span: Span,
}

/// The part of a tensor that a loop variable chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LoopPart {
    /// The rank that holds it.
    Holder,
    /// Rows that came from a rank.
    Source,
    /// Rows that went to a rank.
    Target,
    /// Rows of an expert.
    Expert,
    /// A row tile, a piece or a block.
    Item,
    /// Column tiles of `width` columns from column `from` on, in `steps` steps.
    Columns { from: u64, width: u64, steps: u32 },
    /// No part: the loop repeats the call for the same elements.
    Nothing,
}

/// Records an argument that a call writes.
pub(super) fn written(loops: &[Loop], nest: &Nest, place: &LoweredArgument, width: usize, span: Span) -> LoopWrite {
    let loops = loops.iter().map(|around| (around.id, part(&around.name, nest, place, width))).collect();
    LoopWrite { tensor: place.tensor, loops, span }
}

/// The loop whose later iterations still write what this call reads, if there is one, and the place of the writer.
pub(super) fn still_written<'a>(
    earlier: &[LoopWrite],
    loops: &'a [Loop],
    graph: &TaskGraph,
    (nest, place, width): (&Nest, &LoweredArgument, usize),
) -> Option<(&'a Loop, Span)> {
    let whole = u64::from(graph.tensors[place.tensor].columns);
    let last = last_column(place, width, whole);
    earlier.iter().filter(|writer| writer.tensor == place.tensor).find_map(|writer| {
        let mut shared = loops.iter().zip(&writer.loops).take_while(|(around, (id, _))| around.id == *id);
        let late = shared.find(|(around, (_, wrote))| !follows(*wrote, part(&around.name, nest, place, width), last));
        late.map(|(around, _)| (around, writer.span))
    })
}

/// Whether every iteration finds what it reads written.
fn follows(wrote: LoopPart, read: LoopPart, last_column: u64) -> bool {
    match (wrote, read) {
        // A loop of one step has no later iteration; a writer that the range doesn't move has a fault of its own.
        (LoopPart::Columns { steps: 1, .. } | LoopPart::Nothing, _) => true,
        (LoopPart::Columns { from, width, steps }, LoopPart::Columns { from: first, width: read, steps: turns }) => {
            let end = |from: u64, width: u64, steps: u32| from.saturating_add(width.saturating_mul(steps.into()));
            let apart = end(from, width, steps) <= first || end(first, read, turns) <= from;
            apart || read <= width && first + read <= from + width
        }
        (LoopPart::Columns { from, width, .. }, _) => last_column <= from + width,
        _ => wrote == read,
    }
}

/// End of the columns that the iterations of the first step read.
fn last_column(place: &LoweredArgument, width: usize, whole: u64) -> u64 {
    match place.cols {
        Some(Index::Fixed(index)) => whole.min((u64::from(index) + 1).saturating_mul(width as u64)),
        _ => whole,
    }
}

fn part(variable: &str, nest: &Nest, place: &LoweredArgument, width: usize) -> LoopPart {
    if let Some(range) = nest.ranges.iter().position(|(name, _)| name == variable) {
        let (width, steps) = (width as u64, nest.ranges[range].1);
        return match place.cols {
            Some(Index::Range(by, added)) if by as usize == range => {
                LoopPart::Columns { from: u64::from(added).saturating_mul(width), width, steps }
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
