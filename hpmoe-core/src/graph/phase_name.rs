//! Names of phases, for people.

use super::TaskGraph;
use crate::ids::PhaseId;

impl TaskGraph {
    /// The name of a phase's task. If other phases call a task of this name, the tensor that the phase writes follows, as in `project→g`;
    /// if one of these other phases writes this tensor, too, the phase's number follows, as in `project→g#3`.
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
