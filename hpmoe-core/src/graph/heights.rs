//! Heights of the tiles of a taskflow.

use super::{Height, SpaceKind, TaskGraph};

impl TaskGraph {
    /// The heights, in rows, of the spaces of a kind. Spaces whose items have all rows of an expert are left out.
    pub(crate) fn heights(&self, kind: SpaceKind) -> impl Iterator<Item = usize> {
        self.spaces.iter().filter(move |(_, space)| space.kind == kind).filter_map(|(_, space)| match space.height {
            Height::Rows(rows) => Some(rows as usize),
            Height::WholeExpert => None,
        })
    }

    /// Whether a phase runs over items that have all rows of an expert at once ([`Height::WholeExpert`]).
    pub(crate) fn needs_whole_experts(&self) -> bool {
        self.phases.iter().any(|(_, phase)| self.spaces[phase.space].height == Height::WholeExpert)
    }
}
