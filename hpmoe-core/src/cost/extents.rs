//! The rows and columns of an argument's tile, in one column of a phase.

use crate::graph::{Access, Columns, Phase, Rows, TaskGraph};

/// Columns of the first argument that a task writes, in one column of the phase.
pub(super) fn width(graph: &TaskGraph, phase: &Phase, column: u32) -> u32 {
    let mut written = phase.accesses.iter().enumerate().filter(|(_, access)| access.write);
    let shape = |param: usize| graph.tasks[phase.task].params[param].shape;
    let columns =
        |(param, access)| extent(graph, phase, access, column, (shape(param).rows as u32, shape(param).cols as u32)).1;
    written.next().map_or(0, columns)
}

/// The row tile and the column tile of its tensor that an argument is, in one column of the phase.
fn place(phase: &Phase, access: &Access, column: u32) -> (u32, u32) {
    let index = |range: Option<u32>, fixed: u32| match range {
        Some(range) => {
            let inner: u32 = phase.ranges[range as usize + 1..].iter().product();
            column / inner % phase.ranges[range as usize] + fixed
        }
        None => fixed,
    };
    let rows = match access.region.rows {
        Rows::Expert { range, index: fixed, .. } => index(range, fixed),
        _ => 0,
    };
    let columns = match access.region.columns {
        Columns::All => 0,
        Columns::Tile { range, index: fixed, .. } => index(range, fixed),
    };
    (rows, columns)
}

/// Rows and columns of an argument in one column of the phase: at the edge of a tensor, fewer than in its tile.
pub(super) fn extent(
    graph: &TaskGraph,
    phase: &Phase,
    access: &Access,
    column: u32,
    (rows, columns): (u32, u32),
) -> (u32, u32) {
    let tensor = &graph.tensors[access.tensor];
    let (row_tile, column_tile) = place(phase, access, column);
    let rows = match access.region.rows {
        Rows::Expert { height, outer, .. } => height.min(outer.rows.saturating_sub(row_tile * height)),
        _ => rows,
    };
    let columns = match access.region.columns {
        Columns::All => columns.min(tensor.columns),
        Columns::Tile { width, .. } => width.min(tensor.columns.saturating_sub(column_tile * width)),
    };
    (rows, columns)
}
