//! Vector cores that keep pace with the matrix cores.

use super::cost::EntryCosts;
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::graph::{Phase, SpaceKind, TaskGraph};

/// Many row tiles of an expert.
const ROWS: u64 = 1 << 16;

/// Vector cores that compute on the rows of an expert as fast as the matrix cores do, as if each product had to wait for them.
///
/// With even tokens fewer may do, if there are few rows and most of the vector cores' time goes into puts. But a rank whose expert is named by
/// most tokens has many times as many rows, and then its matrix cores would wait for each row tile.
pub(super) fn pace(graph: &TaskGraph, costs: &EntryCosts, aic: u32, work: impl Fn(&Phase) -> TaskKind) -> u32 {
    let time = |kind| -> u64 {
        let phases = graph
            .phases
            .iter()
            .filter(|(_, phase)| graph.spaces[phase.space].kind == SpaceKind::RowTiles && work(phase) == kind);
        phases.map(|(id, _)| costs.core_time(id, (ROWS, 1)).0).sum()
    };
    let [vector, matrix] = [TaskKind::Vector, TaskKind::Matrix].map(time);
    if matrix == 0 { 0 } else { (u64::from(aic) * vector).div_ceil(matrix) as u32 }
}
