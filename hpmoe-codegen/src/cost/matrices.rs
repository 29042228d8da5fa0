//! The experts' matrices that phases read and write.

use super::extents::{extent, place};
use super::works::adds_to;
use crate::id_set::IdSet;
use crate::sorted_set::SortedSet;
use hpmoe_language::graph::{Access, Outer, Phase, RowKind, Rows, Storage, TaskGraph};
use hpmoe_language::ids::TensorId;
use std::collections::BTreeMap;

/// What a taskflow moves of one expert's matrix, if it reads and writes each element once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MatrixTraffic {
    /// Bytes read that were there before the launch.
    pub read: u64,
    /// Bytes of results of the taskflow.
    pub written: u64,
    /// Whether an expert without rows is written, too.
    pub always: bool,
}

/// The least traffic of each expert's matrix, by tensor and by its rows there: those that the caller gave are read, those that it gets are written.
#[must_use]
pub fn matrices(graph: &TaskGraph) -> Vec<MatrixTraffic> {
    let is_matrix = |tensor: TensorId| {
        matches!(graph.tensors[tensor].rows, RowKind::Expert { .. })
            && graph.tensors[tensor].storage == Storage::Argument
    };
    let written: IdSet<TensorId> = accesses(graph).filter(|(_, access)| access.write).map(|(_, a)| a.tensor).collect();
    // Matrices that lie one after the other in a tensor are moved one by one.
    let mut all: BTreeMap<(TensorId, Option<Outer>), MatrixTraffic> = BTreeMap::new();
    for (phase, access) in accesses(graph).filter(|(_, access)| is_matrix(access.tensor)) {
        let param = phase.accesses.iter().position(|other| other == access).expect("it is one of them");
        let (bytes, adds) = (touched(graph, phase, param), access.write && adds_to(graph, phase, param));
        let traffic = all.entry((access.tensor, matrix(graph, access))).or_default();
        if access.write {
            traffic.written = traffic.written.max(bytes);
            traffic.always |= !adds;
        }
        if adds || !written.contains(access.tensor) {
            traffic.read = traffic.read.max(bytes);
        }
    }
    all.into_values().collect()
}

/// The rows of an expert that are a matrix of their own; `None` where a tensor has one matrix for each expert, or phases don't agree about them.
fn matrix(graph: &TaskGraph, access: &Access) -> Option<Outer> {
    let outer = |access: &Access| match access.region.rows {
        Rows::Expert { outer, .. } => Some(outer),
        _ => None,
    };
    let own = outer(access)?;
    let mut others =
        accesses(graph).filter(|(_, other)| other.tensor == access.tensor).filter_map(|(_, other)| outer(other));
    let apart = |other: Outer| own.first + own.rows <= other.first || other.first + other.rows <= own.first;
    others.all(|other| other == own || apart(other)).then_some(own)
}

/// Bytes of an element of the weight gradients that a taskflow makes; `None` where it makes none.
#[must_use]
pub fn gradient_bytes(graph: &TaskGraph) -> Option<u32> {
    let is_gradient = |access: &Access| {
        let tensor = &graph.tensors[access.tensor];
        access.write && matches!(tensor.rows, RowKind::Expert { .. }) && tensor.storage == Storage::Argument
    };
    accesses(graph).find_map(|(phase, access)| {
        let param = phase.accesses.iter().position(|other| other == access && is_gradient(other))?;
        Some(graph.tasks[phase.task].params[param].shape.element.bytes() as u32)
    })
}

fn accesses(graph: &TaskGraph) -> impl Iterator<Item = (&Phase, &Access)> {
    graph.phases.iter().flat_map(|(_, phase)| phase.accesses.iter().map(move |access| (phase, access)))
}

/// Bytes of a tensor that the columns of a phase touch for one expert, each once.
fn touched(graph: &TaskGraph, phase: &Phase, param: usize) -> u64 {
    let (access, shape) = (&phase.accesses[param], graph.tasks[phase.task].params[param].shape);
    let tile = (shape.rows as u32, shape.cols as u32);
    let tiles = (0..phase.columns()).map(|column| {
        let (rows, columns) = extent(graph, phase, access, column, tile);
        (place(phase, access, column), u64::from(rows) * u64::from(columns))
    });
    let elements: SortedSet<_> = tiles.collect();
    elements.iter().map(|(_, elements)| elements).sum::<u64>() * shape.element.bytes() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpmoe_language::fixture::{Layer, moe_ffn};
    use hpmoe_language::ids::PhaseId;

    /// Gate and up in one tensor are as many bytes as in two.
    #[test]
    fn matrices_of_one_tensor_are_moved_one_by_one() {
        let mut graph = moe_ffn(&Layer::SMALL).graph().clone();
        let read = |graph: &TaskGraph| matrices(graph).iter().map(|matrix| matrix.read).sum::<u64>();
        let apart = read(&graph);
        let is_matrix = |access: &&mut Access| matches!(access.region.rows, Rows::Expert { .. });
        let mut gate_up = None;
        for (number, phase) in [1, 2].map(PhaseId).into_iter().enumerate() {
            let access = graph.phases[phase].accesses.iter_mut().find(is_matrix).unwrap();
            access.tensor = *gate_up.get_or_insert(access.tensor);
            let Rows::Expert { outer, .. } = &mut access.region.rows else { unreachable!() };
            outer.first = number as u32 * outer.rows;
        }
        assert_eq!(read(&graph), apart);
        // What both read counts once.
        let access = graph.phases[PhaseId(2)].accesses.iter_mut().find(is_matrix).unwrap();
        let Rows::Expert { outer, .. } = &mut access.region.rows else { unreachable!() };
        outer.first -= 1;
        assert!(read(&graph) < apart);
    }
}
