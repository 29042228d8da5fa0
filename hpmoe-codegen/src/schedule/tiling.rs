//! Which core makes which tile of a phase.

use hpmoe_language::graph::TaskGraph;
use hpmoe_language::ids::{Arena, PhaseId, RoleId, SpaceId};

/// What decides it beside the order of queues, by phase.
#[derive(Clone, Copy)]
pub(super) struct Tiling<'a> {
    pub(super) role_of: &'a Arena<PhaseId, RoleId>,
    pub(super) band_of: &'a Arena<PhaseId, u32>,
    pub(super) coming: &'a Arena<PhaseId, bool>,
    pub(super) starts: &'a Arena<PhaseId, Vec<(SpaceId, u32)>>,
}

impl Tiling<'_> {
    /// Whether two phases cut the same space into the same tiles for the same cores.
    pub(super) fn alike(&self, graph: &TaskGraph, a: PhaseId, b: PhaseId) -> bool {
        let of = |id: PhaseId| (graph.phases[id].space, &graph.phases[id].ranges);
        of(a) == of(b)
            && self.role_of[a] == self.role_of[b]
            && self.band_of[a] == self.band_of[b]
            && self.coming[a] == self.coming[b]
            && self.starts[a] == self.starts[b]
    }
}
