//! Placements: the rank that holds each expert's weights.
//!
//! Routers number *logical* experts. A rank has room for a fixed number of *physical* experts. Each holds the weights
//! of one logical expert or is empty, and the loops and tables of a taskflow run over physical experts. A [`Placement`]
//! says which logical expert each physical one holds. A logical expert may have several physical ones on different
//! ranks; they then share its rows.
//!
//! A layer's results don't depend on the placement, bit for bit. The products of a row read no other row, and the rows
//! of a token are summed on the token's own rank. A weight gradient depends only on the physical experts of its logical
//! expert.

mod checks;
mod device;
mod error;
mod moves;
mod planner;
pub(crate) mod scope;
mod shares;
mod weights;

pub use error::PlacementError;
pub use moves::Move;
pub use planner::{LoadAverage, Payoff, PlacementCosts};

use crate::{Rank, Ranks, digest};
use shares::Cut;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// An expert as routers number it. An [`Expert`](crate::Expert) is a physical expert, which holds a logical expert's
/// weights.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LogicalExpert(usize);

impl LogicalExpert {
    /// The logical expert with number `id`. A layer with E experts numbers them from 0 to E - 1.
    #[must_use]
    pub const fn new(id: usize) -> Self {
        Self(id)
    }

    /// The expert's number, as in the router's ids.
    #[must_use]
    pub const fn id(self) -> usize {
        self.0
    }
}

impl fmt::Display for LogicalExpert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expert {}", self.0)
    }
}

/// The logical expert that each physical expert of a group holds. If several physical experts hold the same logical
/// expert, the placement also states the share of the logical expert's rows that each of them takes.
///
/// Every logical expert has at least one physical expert, and no rank holds the same logical expert twice.
///
/// ```
/// use hpmoe_kernels::{LogicalExpert, Placement, Rank, Ranks};
///
/// // Two ranks with room for three experts each. Expert 0 is on both, and one place is empty.
/// let placement = Placement::new(Ranks::new(2), 4, &[Some(0), Some(1), None, Some(2), Some(3), Some(0)])?;
/// assert_eq!(placement.copies(LogicalExpert::new(0)).collect::<Vec<_>>(), [0, 5]);
/// // Both ranks share its rows: of five rows that rank 1 has for expert 0, three go to rank 0, and two stay on rank 1.
/// assert_eq!([0, 5].map(|physical| placement.rows(Rank::new(1), physical, 5).len()), [3, 2]);
/// # Ok::<(), hpmoe_kernels::PlacementError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Placement {
    ranks: Ranks,
    places: Places,
}

impl Placement {
    /// Makes a placement from a list with one entry per physical expert, rank after rank: physical expert n holds logical
    /// expert `physical_to_logical[n]`, or is empty if the entry is `None`. All ranks have the same number of places. The
    /// physical experts of one logical expert share its rows evenly; [`with_shares`](Self::with_shares) changes the shares.
    ///
    /// # Errors
    ///
    /// If there are no ranks or no experts, the list is empty or can't be divided evenly among the ranks, a logical expert is
    /// missing or does not exist, or a rank holds a logical expert twice.
    pub fn new(ep: Ranks, experts: usize, physical_to_logical: &[Option<usize>]) -> Result<Self, PlacementError> {
        let places = Places::new(ep.count(), experts, physical_to_logical)?;
        Ok(Self { ranks: ep, places })
    }

    /// The default placement: consecutive experts on each rank, one more on the first ranks if the division leaves a
    /// remainder. Each rank has `experts / ranks` places, rounded up, plus `spare` places; the places that are left
    /// over are empty.
    ///
    /// # Errors
    ///
    /// If there are no experts or no ranks.
    pub fn even(ep: Ranks, experts: usize, spare: usize) -> Result<Self, PlacementError> {
        Ok(Self { ranks: ep, places: Places::even(ep.count(), experts, spare)? })
    }

    /// This placement with other shares, one per physical expert. A physical expert takes its share of its logical
    /// expert's rows, relative to the sum of the shares of all physical experts with that logical expert. A share of 0
    /// gives it no rows. Shares of empty places are ignored.
    ///
    /// ```
    /// use hpmoe_kernels::{Placement, Rank, Ranks};
    ///
    /// let both = Placement::new(Ranks::new(2), 1, &[Some(0), Some(0)])?.with_shares(&[1, 3])?;
    /// assert_eq!(both.rows(Rank::new(0), 1, 100), 25..100);
    /// # Ok::<(), hpmoe_kernels::PlacementError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the number of shares is not the number of physical experts, or all shares of a logical expert are 0.
    pub fn with_shares(&self, shares: &[u32]) -> Result<Self, PlacementError> {
        Ok(Self { ranks: self.ranks, places: self.places.with_shares(shares)? })
    }

    /// The ranks of the group, including which of them run in this process.
    #[must_use]
    pub const fn ranks(&self) -> Ranks {
        self.ranks
    }

    /// Number of logical experts.
    #[must_use]
    pub fn experts(&self) -> usize {
        self.places.experts
    }

    /// Number of physical experts on each rank, including empty places.
    #[must_use]
    pub fn local_experts(&self) -> usize {
        self.places.local
    }

    /// The logical expert that a physical expert holds; `None` if the place is empty or does not exist.
    #[must_use]
    pub fn expert(&self, physical: usize) -> Option<LogicalExpert> {
        self.places.of.get(physical).and_then(|place| place.expert)
    }

    /// The logical expert of each physical expert, `None` if its place is empty.
    #[must_use]
    pub fn physical_to_logical(&self) -> Vec<Option<usize>> {
        self.places.of.iter().map(|place| place.expert.map(LogicalExpert::id)).collect()
    }

    /// For each physical expert, the range of its logical expert's rows that it takes, in 1/4096 of these rows. The range is
    /// empty for an empty place.
    #[must_use]
    pub fn cuts(&self) -> Vec<Range<u32>> {
        self.places.of.iter().map(|place| place.cut.range()).collect()
    }

    /// Whether any logical expert has more than one physical expert.
    #[must_use]
    pub fn has_copies(&self) -> bool {
        self.places.has_copies()
    }

    /// The physical experts that hold a logical expert, in ascending order.
    pub fn copies(&self, expert: LogicalExpert) -> impl Iterator<Item = usize> + '_ {
        let holds = move |(physical, place): (usize, &Place)| (place.expert == Some(expert)).then_some(physical);
        self.places.of.iter().enumerate().filter_map(holds)
    }

    /// The range of `source`'s rows for a logical expert that goes to the physical expert with number `physical`. `rows` is
    /// the number of rows that `source` has for the logical expert; no other rank's count is needed. The range is empty
    /// for an empty place.
    ///
    /// # Panics
    ///
    /// If there is no such physical expert.
    #[must_use]
    pub fn rows(&self, source: Rank, physical: usize, rows: usize) -> Range<usize> {
        self.places.rows(source, physical, rows)
    }

    /// A hash of the placement. Placements that differ in places, experts or shares have different hashes, except by
    /// chance.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.places.digest()
    }

    pub(crate) const fn places(&self) -> &Places {
        &self.places
    }
}

impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Places { experts, local, .. } = self.places;
        write!(f, "Placement({experts} experts on {} ranks with {local} places each: ", self.ranks.count())?;
        f.debug_list().entries(self.physical_to_logical()).finish()?;
        f.write_str(")")
    }
}

/// The contents of a placement that don't depend on which ranks are local.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Places {
    /// Number of logical experts.
    experts: usize,
    /// Number of physical experts on each rank.
    local: usize,
    of: Arc<[Place]>,
}

/// A place for an expert: the expert that it holds, and the part of that expert's rows that it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    expert: Option<LogicalExpert>,
    cut: Cut,
}

/// Number of places for experts on each of `ranks` ranks: the even share of the logical experts, rounded up, plus `spare`.
#[doc(hidden)]
#[must_use]
pub const fn local_experts(experts: usize, spare: usize, ranks: usize) -> usize {
    experts.div_ceil(ranks) + spare
}

impl Places {
    pub(crate) fn even(ranks: usize, experts: usize, spare: usize) -> Result<Self, PlacementError> {
        if ranks == 0 || experts == 0 {
            return Err(PlacementError::Nothing { ranks, experts });
        }
        let (local, more) = (local_experts(experts, spare, ranks), experts % ranks);
        let first = |rank: usize| rank * (experts / ranks) + rank.min(more);
        let of_rank = |rank: usize| {
            let held = first(rank)..first(rank + 1);
            held.map(Some).chain(std::iter::repeat(None)).take(local)
        };
        let place = |expert: Option<usize>| Place { expert: expert.map(LogicalExpert), cut: Cut::of(expert.is_some()) };
        Ok(Self { experts, local, of: (0..ranks).flat_map(of_rank).map(place).collect() })
    }

    /// Number of logical experts.
    pub(crate) const fn experts(&self) -> usize {
        self.experts
    }

    /// Number of physical experts on each rank.
    pub(crate) const fn local(&self) -> usize {
        self.local
    }

    /// Number of physical experts on all ranks.
    pub(crate) fn count(&self) -> usize {
        self.of.len()
    }

    pub(crate) fn ranks(&self) -> usize {
        self.of.len() / self.local
    }

    pub(crate) fn expert(&self, physical: usize) -> Option<LogicalExpert> {
        self.of[physical].expert
    }

    /// Whether physical expert `i` holds logical expert `i` for every `i`. No place is then empty.
    pub(crate) fn is_plain(&self) -> bool {
        (0..).zip(&*self.of).all(|(id, place)| place.expert == Some(LogicalExpert(id)))
    }

    /// Whether any logical expert has more than one physical expert.
    pub(crate) fn has_copies(&self) -> bool {
        self.of.iter().filter(|place| place.expert.is_some()).count() > self.experts
    }

    pub(crate) fn rows(&self, source: Rank, physical: usize, rows: usize) -> Range<usize> {
        self.rows_in_parts(source, physical, std::iter::once((0, rows)))
    }

    /// The range of a source's rows of a logical expert that goes to `physical`, if the copies share each part of these rows separately.
    /// `parts` yields the number of each part and its number of rows. Both ends of the range are sums over the parts.
    pub(crate) fn rows_in_parts(
        &self,
        source: Rank,
        physical: usize,
        parts: impl Iterator<Item = (usize, usize)>,
    ) -> Range<usize> {
        let of_part = |(part, rows)| self.of[physical].cut.rows(shares::turn_of_part(source.id(), part), rows);
        parts.map(of_part).fold(0..0, |sum, rows| sum.start + rows.start..sum.end + rows.end)
    }

    /// Digest of the number of experts, the number of places on a rank, and each place's expert and share.
    pub(crate) fn digest(&self) -> u64 {
        let head = [self.experts as u64, self.local as u64];
        let of_place = |place: &Place| {
            let Range { start, end } = place.cut.range();
            [place.expert.map_or(u64::MAX, |expert| expert.id() as u64), u64::from(start) << 32 | u64::from(end)]
        };
        let numbers = head.into_iter().chain(self.of.iter().flat_map(of_place));
        numbers.fold(digest::START, digest::with)
    }
}

#[cfg(test)]
mod tests;
