//! The experts' matrices that phases read and write.

use super::extents::{extent, place};
use super::works::adds_to;
use crate::id_set::IdSet;
use crate::sorted_set::SortedSet;
use hpmoe_language::graph::{Access, Phase, RowKind, Storage, TaskGraph};
use hpmoe_language::ids::{Arena, TensorId};

/// What a taskflow moves of one expert's matrix in a tensor, if it reads and writes each element once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MatrixTraffic {
    /// Bytes read that were there before the launch.
    pub read: u64,
    /// Bytes of results of the taskflow.
    pub written: u64,
    /// Whether an expert without rows is written, too.
    pub always: bool,
}

/// The least traffic of each tensor of experts' matrices: those that the caller gave are read, those that it gets are written.
#[must_use]
pub fn matrices(graph: &TaskGraph) -> Vec<MatrixTraffic> {
    let is_matrix = |tensor: TensorId| {
        matches!(graph.tensors[tensor].rows, RowKind::Expert { .. })
            && graph.tensors[tensor].storage == Storage::Argument
    };
    let written: IdSet<TensorId> = accesses(graph).filter(|(_, access)| access.write).map(|(_, a)| a.tensor).collect();
    let mut all: Arena<TensorId, Option<MatrixTraffic>> = graph.tensors.ids().map(|_| None).collect();
    for (phase, access) in accesses(graph).filter(|(_, access)| is_matrix(access.tensor)) {
        let param = phase.accesses.iter().position(|other| other == access).expect("it is one of them");
        let (bytes, adds) = (touched(graph, phase, param), access.write && adds_to(graph, phase, param));
        let traffic = all[access.tensor].get_or_insert_default();
        if access.write {
            traffic.written = traffic.written.max(bytes);
            traffic.always |= !adds;
        }
        if adds || !written.contains(access.tensor) {
            traffic.read = traffic.read.max(bytes);
        }
    }
    all.iter().filter_map(|(_, traffic)| *traffic).collect()
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
