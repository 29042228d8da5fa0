//! The entries of one rank, numbered consecutively: by phase, then by expert, then by peer.

use super::Entry;
use crate::graph::{SpaceKind, TaskGraph};
use crate::ids::{Id, PhaseId};

/// The chunk that an entry belongs to.
pub(crate) fn chunk(graph: &TaskGraph, ranks: u32, entry: Entry) -> u32 {
    match graph.spaces[graph.phases[entry.phase].space].by_chunk() {
        true => entry.expert,
        false => entry.expert / graph.sizes.local_experts(ranks as usize) as u32,
    }
}

/// All entries of a rank, for one number of ranks.
pub(crate) struct Groups {
    /// The first number of each phase's entries; then the number of all entries.
    base: Vec<usize>,
    /// For each phase, the number of entries per expert: the number of peers, or 1.
    peers: Vec<u32>,
}

impl Groups {
    pub(crate) fn new(graph: &TaskGraph, ranks: u32) -> Self {
        let mut base = vec![0];
        let mut peers = Vec::with_capacity(graph.phases.len());
        for (_, phase) in graph.phases.iter() {
            let space = graph.spaces[phase.space];
            let groups = space.groups(&graph.sizes, ranks as usize);
            base.push(base[base.len() - 1] + groups);
            peers.push(match space.kind {
                SpaceKind::Sends | SpaceKind::SendsOnce | SpaceKind::Arrivals => ranks,
                SpaceKind::RowTiles
                | SpaceKind::OnceTiles
                | SpaceKind::Experts
                | SpaceKind::Blocks
                | SpaceKind::Chunks => 1,
            });
        }
        Self { base, peers }
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.base[self.base.len() - 1]
    }

    /// The number of an entry.
    pub(crate) fn number(&self, entry: Entry) -> usize {
        let phase = entry.phase.index();
        self.base[phase] + (entry.expert * self.peers[phase] + entry.peer_offset) as usize
    }

    /// The entries of a phase in the order of their numbers.
    pub(crate) fn of_phase(&self, phase: PhaseId) -> impl Iterator<Item = Entry> + use<> {
        let peers = self.peers[phase.index()];
        let groups = (self.base[phase.index() + 1] - self.base[phase.index()]) as u32;
        (0..groups).map(move |group| Entry { phase, expert: group / peers, peer_offset: group % peers })
    }

    /// All entries in the order of their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.peers.len()).flat_map(|phase| self.of_phase(PhaseId::new(phase)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};

    #[test]
    fn numbers_and_entries_agree() {
        let checked = moe_ffn(&Layer::SMALL);
        for ranks in [1, 4, 16] {
            let groups = Groups::new(checked.graph(), ranks);
            let numbers: Vec<usize> = groups.all().map(|entry| groups.number(entry)).collect();
            assert_eq!(numbers, (0..groups.len()).collect::<Vec<_>>());
        }
    }
}
