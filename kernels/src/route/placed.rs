//! Positions of rows at their receivers.

use super::Pair;
use super::order::SourceOrder;
use crate::placement::Places;
use crate::{Expert, Rank};
use std::fmt;
use std::sync::OnceLock;

/// The rows that all ranks send, and their positions at the owners: by physical expert, then by source, then in the
/// source's order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    sources: Vec<SourceOrder>,
    /// The pair of source `s` and physical expert `p` is at `s * count + p`.
    pairs: Vec<Pair>,
    /// Number of rows of each physical expert.
    expert_rows: Vec<usize>,
}

/// A part of a rank's slots. Physical experts of one logical expert share the rows of each part separately.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Number of the part, which decides which physical experts rounding favours.
    pub(super) number: usize,
    /// The first slot after the part.
    pub(super) end: usize,
}

impl Part {
    /// The part with all slots of a rank, for ranks that are not divided into parts.
    pub(super) const WHOLE: Self = Self { number: 0, end: usize::MAX };
}

impl Placed {
    pub(super) fn new(sources: Vec<SourceOrder>, places: &Places) -> Self {
        Self::in_parts(sources, places, |_| vec![Part::WHOLE])
    }

    /// Computes the positions of all rows, if each source's slots are divided into the given parts.
    pub(super) fn in_parts(sources: Vec<SourceOrder>, places: &Places, parts: impl Fn(Rank) -> Vec<Part>) -> Self {
        let count = places.count();
        let mut expert_rows = vec![0; count];
        let mut pairs = Vec::with_capacity(sources.len() * count);
        for (source, slots) in sources.iter().enumerate() {
            let source = Rank::new(source);
            let parts = parts(source);
            for (physical, rows_so_far) in expert_rows.iter_mut().enumerate() {
                let (first, part) = match places.expert(physical) {
                    Some(expert) => {
                        let mut done = 0;
                        let rows = |part: &Part| {
                            let before = std::mem::replace(&mut done, slots.rows_before(expert.id(), part.end));
                            (part.number, done - before)
                        };
                        (slots.first(expert.id()), places.rows_in_parts(source, physical, parts.iter().map(rows)))
                    }
                    None => (0, 0..0),
                };
                pairs.push(Pair { rows: part.len(), at: *rows_so_far, base: 0, order: first + part.start });
                *rows_so_far += part.len();
            }
        }
        for of_source in pairs.chunks_exact_mut(count) {
            for (of_rank, rows) in
                of_source.chunks_exact_mut(places.local()).zip(expert_rows.chunks_exact(places.local()))
            {
                let mut base = 0;
                for (pair, rows) in of_rank.iter_mut().zip(rows) {
                    pair.base = base;
                    base += rows;
                }
            }
        }
        Self { sources, pairs, expert_rows }
    }

    pub(super) fn sources(&self) -> &[SourceOrder] {
        &self.sources
    }

    /// Number of physical experts.
    pub(super) fn experts(&self) -> usize {
        self.expert_rows.len()
    }

    /// The slots of a rank, sorted by logical expert.
    pub(super) fn order(&self, rank: Rank) -> &[i32] {
        self.sources[rank.id()].slots()
    }

    /// Number of all slots of a rank, including empty ones.
    pub(super) fn slots(&self, rank: Rank) -> usize {
        self.sources[rank.id()].all()
    }

    /// Number of an expert's rows.
    pub(super) fn rows(&self, expert: Expert) -> usize {
        self.expert_rows[expert.id()]
    }

    /// First row and number of rows of physical expert `id`, among all rows that its owner receives.
    pub(super) fn place(&self, id: usize) -> (usize, usize) {
        (self.pairs[id].base, self.expert_rows[id])
    }

    pub(super) fn pair(&self, source: Rank, expert: Expert) -> Pair {
        self.pairs[source.id() * self.experts() + expert.id()]
    }
}

/// The positions of once-sent rows. They are computed on first use, because few kernels need them. They follow from the
/// rest of the route, so comparisons of routes ignore them.
#[derive(Clone, Default)]
pub(super) struct OncePlaced(OnceLock<Placed>);

impl OncePlaced {
    /// The positions, which `place` computes on the first call.
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
