//! Vector cores that keep pace with the matrix cores.

use super::cost::{EntryCosts, MANY_ROWS};
use crate::graph::{Phase, SpaceKind, TaskGraph};
use hpmoe_kernels::op::TaskKind;

/// The number of vector cores that compute on the rows of an expert as fast as the matrix cores do, assuming that each product waits for
/// vector work.
///
/// With even tokens, fewer cores may be enough if there are few rows and vector cores mainly put. But a rank whose expert most tokens
/// choose has many times as many rows, and its matrix cores would then wait for each row tile.
pub(super) fn pace(graph: &TaskGraph, costs: &EntryCosts, aic: u32, work: impl Fn(&Phase) -> TaskKind) -> u32 {
    let time = |kind| -> u64 {
        let phases = graph
            .phases
            .iter()
            .filter(|(_, phase)| graph.spaces[phase.space].kind == SpaceKind::RowTiles && work(phase) == kind);
        phases.map(|(id, _)| costs.core_time(id, MANY_ROWS, 1).0).sum()
    };
    let [vector, matrix] = [TaskKind::Vector, TaskKind::Matrix].map(time);
    if matrix == 0 { 0 } else { (u64::from(aic) * vector).div_ceil(matrix) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn, only};
    use crate::target::Target;

    #[test]
    fn vector_cores_are_as_many_times_fewer_as_their_work_is_less() {
        let paced = |graph: &TaskGraph, aic: u32, vector: &str| {
            let costs = EntryCosts::new(graph, &Target::ascend_a3());
            let work = |phase: &Phase| {
                let task = &graph.tasks[phase.task];
                if task.name == vector { TaskKind::Vector } else { task.kind }
            };
            pace(graph, &costs, aic, work)
        };
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let graph = checked.graph();
        let costs = EntryCosts::new(graph, &Target::ascend_a3());
        let rows = |kind: TaskKind| -> u64 {
            let over = graph.phases.iter().filter(|(_, phase)| graph.spaces[phase.space].kind == SpaceKind::RowTiles);
            let of_kind = over.filter(|(_, phase)| graph.tasks[phase.task].kind == kind);
            of_kind.map(|(id, _)| costs.core_time(id, 1 << 20, 1).0).sum()
        };
        for aic in [24, 7] {
            let wanted = f64::from(aic) * rows(TaskKind::Vector) as f64 / rows(TaskKind::Matrix) as f64;
            assert_eq!(paced(graph, aic, ""), wanted.ceil() as u32);
        }
        // If no matrix cores have work, no cores are needed to keep pace with them.
        assert_eq!(paced(only(&Layer::SMALL, TaskKind::Vector).graph(), 24, ""), 0);
        assert_eq!(paced(graph, 24, "project"), 0);
    }
}
