//! Names of phases, for people.

use super::TaskGraph;
use crate::ids::PhaseId;

impl TaskGraph {
    /// The name of a phase's task. If several phases call the task, the tensor that the phase writes follows, as in `project→g`; if
    /// these are equal too, so does the phase's number.
    #[must_use]
    pub fn phase_name(&self, id: PhaseId) -> String {
        let name = |id: PhaseId| &self.tasks[self.phases[id].task].name;
        let written = |id: PhaseId| {
            let mut accesses = self.phases[id].accesses.iter().filter(|access| access.write);
            accesses.next().map(|access| &self.tensors[access.tensor].name)
        };
        let alike: Vec<PhaseId> = self.phases.ids().filter(|&other| name(other) == name(id)).collect();
        let Some(tensor) = written(id).filter(|_| alike.len() > 1) else { return name(id).clone() };
        if alike.iter().filter(|&&other| written(other) == written(id)).count() > 1 {
            return format!("{}→{tensor}#{}", name(id), id.0);
        }
        format!("{}→{tensor}", name(id))
    }
}
