//! The stable order of one rank's slots.

use super::RouteError;
use crate::Rank;
use crate::placement::Places;
use std::ops::Range;

/// The id of an empty slot.
const NO_EXPERT: i32 = -1;

/// The slots of one rank, sorted by logical expert.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SourceOrder {
    /// Number of all slots, including empty ones.
    all: usize,
    slots: Vec<i32>,
    /// For each expert, the position of its first slot in `slots`; then the length of `slots`.
    firsts: Vec<usize>,
}

impl SourceOrder {
    /// Sorts the slots by expert with a counting sort, which keeps their order for each expert. Empty slots are left
    /// out.
    pub(super) fn new(rank: Rank, experts: usize, top_k: usize, ids: &[i32]) -> Result<Self, RouteError> {
        let slots_count = fits(rank, "send", ids.len())?;
        if top_k == 0 || ids.len() % top_k != 0 {
            return Err(RouteError::Rest { rank, ids: ids.len(), top_k });
        }
        let mut firsts = vec![0; experts + 1];
        for (token, row) in ids.chunks_exact(top_k).enumerate() {
            for (k, &id) in row.iter().enumerate() {
                if id == NO_EXPERT {
                    continue;
                }
                let expert = usize::try_from(id).ok().filter(|e| *e < experts);
                let expert = expert.ok_or(RouteError::Id { rank, token, k, id, experts })?;
                if let Some(first) = row[..k].iter().position(|other| *other == id) {
                    return Err(RouteError::Twice { rank, token, id, first, second: k });
                }
                firsts[expert + 1] += 1;
            }
        }
        for e in 0..experts {
            firsts[e + 1] += firsts[e];
        }
        let mut next = firsts.clone();
        let mut slots = vec![0; firsts[experts]];
        for (slot, &id) in (0..slots_count).zip(ids).filter(|(_, id)| **id != NO_EXPERT) {
            let place = &mut next[id as usize];
            slots[*place] = slot;
            *place += 1;
        }
        Ok(Self { all: ids.len(), slots, firsts })
    }

    /// The order of the slots in the range `wanted` only.
    pub(super) fn only(&self, wanted: Range<usize>) -> Self {
        let mut only = Self { all: wanted.len(), slots: Vec::with_capacity(wanted.len()), firsts: vec![0] };
        for expert in self.firsts.windows(2) {
            // The slots of an expert ascend.
            let slots = &self.slots[expert[0]..expert[1]];
            let before = |end: usize| slots.partition_point(|&slot| (slot as usize) < end);
            only.slots.extend_from_slice(&slots[before(wanted.start)..before(wanted.end)]);
            only.firsts.push(only.slots.len());
        }
        only
    }

    /// The order of once-sent rows. For each rank that a token goes to, it has one slot of the token: the slot of the
    /// first of that rank's physical experts that the token goes to.
    pub(super) fn once(&self, top_k: usize, places: &Places) -> Self {
        // For each token: one plus the last rank that it was sent to. Physical experts are ordered by rank.
        let mut sent = vec![0; self.slots.iter().max().map_or(0, |&slot| token(slot, top_k) + 1)];
        let mut of_expert = vec![Vec::new(); self.experts()];
        for physical in 0..places.count() {
            let Some(expert) = places.expert(physical) else { continue };
            let owner = physical / places.local() + 1;
            let first = |slot: &&i32| std::mem::replace(&mut sent[token(**slot, top_k)], owner) != owner;
            let slots = &self.slots[self.firsts[expert.id()]..self.firsts[expert.id() + 1]];
            of_expert[expert.id()] = slots.iter().filter(first).copied().collect();
        }
        let mut firsts = vec![0];
        firsts.extend(of_expert.iter().scan(0, |end, slots: &Vec<i32>| {
            *end += slots.len();
            Some(*end)
        }));
        Self { all: self.all, slots: of_expert.concat(), firsts }
    }

    /// Number of all slots, including empty ones.
    pub(super) const fn all(&self) -> usize {
        self.all
    }

    pub(super) fn slots(&self) -> &[i32] {
        &self.slots
    }

    pub(super) fn experts(&self) -> usize {
        self.firsts.len() - 1
    }

    pub(super) fn rows(&self, expert: usize) -> usize {
        self.firsts[expert + 1] - self.firsts[expert]
    }

    /// Number of the expert's rows whose slots come before `slot`.
    pub(super) fn rows_before(&self, expert: usize, slot: usize) -> usize {
        self.slots[self.firsts[expert]..self.firsts[expert + 1]].partition_point(|&other| (other as usize) < slot)
    }

    pub(super) fn first(&self, expert: usize) -> usize {
        self.firsts[expert]
    }
}

/// The token that a slot belongs to.
pub(super) fn token(slot: i32, top_k: usize) -> usize {
    usize::try_from(slot).expect("a route lists no negative slot") / top_k
}

/// The number of rows as an `i32`, or an error if it does not fit.
pub(super) fn fits(rank: Rank, verb: &'static str, rows: usize) -> Result<i32, RouteError> {
    i32::try_from(rows).map_err(|_| RouteError::Rows { rank, verb, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(ids: &[i32]) -> Result<SourceOrder, RouteError> {
        SourceOrder::new(Rank::new(1), 4, 2, ids)
    }

    #[test]
    fn sorts_by_expert_and_keeps_the_order_inside_each() {
        let order = order(&[3, 0, 0, 3, 1, 3]).unwrap();
        assert_eq!(order.slots(), [1, 2, 4, 0, 3, 5]);
        assert_eq!((0..4).map(|e| order.rows(e)).collect::<Vec<_>>(), [2, 1, 0, 3]);
        assert_eq!((0..4).map(|e| order.first(e)).collect::<Vec<_>>(), [0, 2, 3, 3]);
    }

    #[test]
    fn empty_slots_are_counted_and_go_nowhere() {
        let order = order(&[3, -1, -1, -1, 1, 3]).unwrap();
        assert_eq!((order.slots(), order.all()), (&[4, 0, 5][..], 6));
        assert_eq!((order.only(0..4).slots(), order.only(0..4).all()), (&[0][..], 4));
        let below = self::order(&[0, -2]).unwrap_err();
        assert_eq!(below, RouteError::Id { rank: Rank::new(1), token: 0, k: 1, id: -2, experts: 4 });
    }

    #[test]
    fn errors_name_rank_row_value_and_limit() {
        assert_eq!(
            order(&[0, 1, 2, 4]).unwrap_err().to_string(),
            "topk_ids of rank 1, row 1, column 1 is 4, but experts are numbered from 0 to 3, and -1 names none: check the router"
        );
        assert_eq!(
            order(&[0, 1, -7, 2]).unwrap_err().to_string(),
            "topk_ids of rank 1, row 1, column 0 is -7, but experts are numbered from 0 to 3, and -1 names none: check the router"
        );
        assert_eq!(
            order(&[2, 2]).unwrap_err().to_string(),
            "topk_ids of rank 1, row 0 has expert 2 in column 0 and again in column 1: a token may name an expert only once"
        );
        assert_eq!(
            order(&[2, 1, 0]).unwrap_err().to_string(),
            "topk_ids of rank 1 has 3 ids, which is not a multiple of 2: pass 2 ids for each token"
        );
        assert_eq!(
            fits(Rank::new(0), "receive", 1 << 31).unwrap_err().to_string(),
            "rank 0 would receive 2147483648 rows, but at most 2147483647 can be numbered: use smaller batches"
        );
    }
}
