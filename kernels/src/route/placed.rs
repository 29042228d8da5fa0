//! Where rows lie at their receivers.

use super::Pair;
use super::order::SourceOrder;
use crate::{Expert, Rank};
use std::fmt;
use std::sync::OnceLock;

/// What all ranks send, and where it lies at the owner of each expert: by expert, then source, then in the source's order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    sources: Vec<SourceOrder>,
    /// Of source `s` and expert `e` at `s * experts + e`.
    pairs: Vec<Pair>,
    /// Rows of each expert.
    expert_rows: Vec<usize>,
}

impl Placed {
    /// Each owner has `local_experts` experts.
    pub(super) fn new(sources: Vec<SourceOrder>, local_experts: usize) -> Self {
        let experts = sources.first().map_or(0, SourceOrder::experts);
        let expert_rows: Vec<usize> = (0..experts).map(|e| sources.iter().map(|s| s.rows(e)).sum()).collect();
        let mut pairs = Vec::with_capacity(sources.len() * experts);
        let mut at = vec![0; experts];
        for source in &sources {
            let mut base = 0;
            for e in 0..experts {
                if e % local_experts == 0 {
                    base = 0;
                }
                let rows = source.rows(e);
                pairs.push(Pair { rows, at: at[e], base, order: source.first(e) });
                at[e] += rows;
                base += expert_rows[e];
            }
        }
        Self { sources, pairs, expert_rows }
    }

    pub(super) fn sources(&self) -> &[SourceOrder] {
        &self.sources
    }

    /// Number of experts.
    pub(super) fn experts(&self) -> usize {
        self.expert_rows.len()
    }

    /// The slots of a rank by expert.
    pub(super) fn order(&self, rank: Rank) -> &[i32] {
        self.sources[rank.id()].slots()
    }

    /// Slots of all (token, k) of a rank.
    pub(super) fn slots(&self, rank: Rank) -> usize {
        self.sources[rank.id()].all()
    }

    /// Rows of an expert.
    pub(super) fn rows(&self, expert: Expert) -> usize {
        self.expert_rows[expert.id()]
    }

    /// Rows of an expert among those of its owner: the first, and how many.
    pub(super) fn place(&self, id: usize) -> (usize, usize) {
        (self.pairs[id].base, self.expert_rows[id])
    }

    pub(super) fn pair(&self, source: Rank, expert: Expert) -> Pair {
        self.pairs[source.id() * self.experts() + expert.id()]
    }
}

/// The tokens that each rank sends once, by expert, and their places at the receiver. They are computed on first use, because few
/// kernels need them, and follow from the rest of the route, so that comparing routes ignores them.
#[derive(Clone, Default)]
pub(super) struct OncePlaced(OnceLock<Placed>);

impl OncePlaced {
    /// The rows; `place` computes them on first use.
    pub(super) fn get_or_place(&self, place: impl FnOnce() -> Placed) -> &Placed {
        self.0.get_or_init(place)
    }
}

impl PartialEq for OncePlaced {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OncePlaced {}

impl fmt::Debug for OncePlaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OncePlaced").finish_non_exhaustive()
    }
}
