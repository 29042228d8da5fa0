//! The times at which the rows of an expert arrive.

use super::Time;
use crate::graph::{Height, SpaceKind, TaskGraph};
use crate::schedule::Entry;
use crate::schedule::timeline::Released;
use std::ops::Range;

/// The number of parts that an expert's rows are divided into.
const PARTS: u64 = 16;

/// The time at which each part of an expert's rows has arrived. Parts are in the order in which a rank walks them: first its own rows, then
/// those of the next rank, and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Ready([Time; PARTS as usize]);

impl Ready {
    /// All rows of a share arrive at `time`, and all other rows are ready from the start.
    pub(super) fn of(share: Share, time: Time) -> Self {
        let mut ready = Self::default();
        ready.0[share.parts()].fill(time);
        ready
    }

    /// Makes the rows of a share arrive no sooner than at `time`.
    pub(super) fn delay(&mut self, share: Share, time: Time) {
        self.0[share.parts()].iter_mut().for_each(|part| *part = time.max(*part));
    }

    /// The time at which all rows of a share have arrived.
    pub(super) fn at(&self, share: Share) -> Time {
        self.0[share.parts()].iter().copied().max().unwrap_or_default()
    }
}

impl Released for Ready {
    fn latest(mut self, other: Self) -> Self {
        // A plain loop, because build scripts run this unoptimised for each dependency of each estimate.
        let mut part = 0;
        while part < self.0.len() {
            if other.0[part].0 > self.0[part].0 {
                self.0[part] = other.0[part];
            }
            part += 1;
        }
        self
    }
}

/// One of several equal shares of an expert's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Share {
    place: u64,
    of: u64,
}

impl Share {
    /// The whole expert as a single share.
    pub(super) const ALL: Self = Self { place: 0, of: 1 };

    /// The share of an expert's rows that an item of an entry reads and writes.
    pub(super) fn of(graph: &TaskGraph, ranks: u32, entry: Entry, (item, items): (u32, u32)) -> Self {
        let space = graph.spaces[graph.phases[entry.phase].space];
        let share = |place: u32, of: u32| Self { place: place.into(), of: of.into() };
        match (space.kind, space.height) {
            (SpaceKind::RowTiles, Height::Rows(_)) => share(item, items),
            // The times of this rank's sends to the previous rank stand for those of the next rank's sends to this one.
            (SpaceKind::Sends, _) => share((ranks - entry.peer_offset) % ranks, ranks),
            // Rows for this rank itself are put back last, because a row tile that they share with rows of the previous rank is computed
            // last.
            (SpaceKind::Arrivals, _) if entry.peer_offset > 0 => share(entry.peer_offset, ranks),
            _ => Self::ALL,
        }
    }

    fn parts(self) -> Range<usize> {
        let first = self.place * PARTS / self.of;
        first as usize..((self.place + 1) * PARTS).div_ceil(self.of) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};
    use crate::ids::PhaseId;

    #[test]
    fn rows_are_there_when_the_last_sixteenth_of_them_is() {
        let share = |place, of| Share { place, of };
        let (early, late) = (Time(1), Time(5));
        let ready = Ready::of(share(1, 4), early).latest(Ready::of(share(11, 12), late));
        assert_eq!(
            [share(0, 4), share(1, 4), share(2, 4), share(3, 4)].map(|share| ready.at(share)).map(|time| time.0),
            [0, 1, 0, 5]
        );
        // A share that does not end at a sixteenth waits for all sixteenths that it touches.
        assert_eq!(
            [share(13, 64), share(16, 64), share(1, 3), share(31, 32)].map(|share| ready.at(share).0),
            [0, 1, 1, 5]
        );
        assert_eq!((ready.at(Share::ALL), ready.latest(ready)), (late, ready));
    }

    #[test]
    fn rows_of_ranks_follow_each_other_from_the_own_ones_on() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let shares = |phase: u32, peers: [u32; 3]| {
            peers.map(|peer_offset| {
                Share::of(checked.graph(), 8, Entry { phase: PhaseId(phase), expert: 0, peer_offset }, (2, 3))
            })
        };
        let place = |place, of| Share { place, of };
        assert_eq!(shares(0, [0, 7, 1]), [place(0, 8), place(1, 8), place(7, 8)]);
        assert_eq!(shares(1, [0; 3]), [place(2, 3); 3]);
        assert_eq!(shares(5, [0, 1, 7]), [Share::ALL, place(1, 8), place(7, 8)]);
        assert_eq!(shares(6, [0; 3]), [Share::ALL; 3]);
    }
}
