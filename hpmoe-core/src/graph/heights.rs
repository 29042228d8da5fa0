//! Heights of the tiles of a taskflow.

use super::{Height, SpaceKind, TaskGraph};

impl TaskGraph {
    /// The heights of the spaces of a kind, without those whose items have all rows of an expert.
    pub(crate) fn heights(&self, kind: SpaceKind) -> impl Iterator<Item = usize> {
        self.spaces.iter().filter(move |(_, space)| space.kind == kind).filter_map(|(_, space)| match space.height {
            Height::Rows(rows) => Some(rows as usize),
            Height::WholeExpert => None,
        })
    }

    /// Whether a phase needs all rows of an expert at once, from any rank.
    pub(crate) fn needs_whole_experts(&self) -> bool {
        self.phases.iter().any(|(_, phase)| self.spaces[phase.space].height == Height::WholeExpert)
    }
}
