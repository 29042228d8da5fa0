//! Tolerances of results: how far they may differ from the reference, given the tolerances of external operators.

use crate::graph::TaskGraph;
use crate::ids::{Arena, TensorId};

/// Bound on the difference between an element of a tensor and the reference's, relative to the largest element of its tile; 0 if the bits
/// are equal.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Tolerance {
    /// The bound for runs on the host, without device-only operators.
    pub(super) host: f32,
    /// The bound for runs on devices, in addition to the effect of the cube's order of sums.
    pub(super) device: f32,
}

impl Tolerance {
    fn most(self, other: Self) -> Self {
        Self { host: self.host.max(other.host), device: self.device.max(other.device) }
    }
}

/// The caller's output tensors whose bits may differ from the reference, in order. For each call, the tolerance of its operator is added to
/// the largest tolerance of the tensors that it reads. Operations that make differences larger are not considered.
pub(super) fn tolerances(graph: &TaskGraph) -> Vec<(TensorId, Tolerance)> {
    let mut of_tensors: Arena<TensorId, Tolerance> = graph.tensors.iter().map(|_| Tolerance::default()).collect();
    for (_, phase) in graph.phases.iter() {
        let own = graph.tasks[phase.task].external.as_ref().map_or(Tolerance::default(), |external| Tolerance {
            host: if external.device_only { 0.0 } else { external.tolerance },
            device: external.tolerance,
        });
        let read = phase.accesses.iter().filter(|access| !access.write).map(|access| of_tensors[access.tensor]);
        let read = read.fold(Tolerance::default(), Tolerance::most);
        let made = Tolerance { host: own.host + read.host, device: own.device + read.device };
        for access in phase.accesses.iter().filter(|access| access.write) {
            of_tensors[access.tensor] = of_tensors[access.tensor].most(made);
        }
    }
    let results = graph.tensors.iter().filter(|(_, tensor)| tensor.storage.is_argument() && tensor.writable);
    let named = results.map(|(id, _)| (id, of_tensors[id]));
    named.filter(|(_, tolerance)| *tolerance != Tolerance::default()).collect()
}
