//! The order of the entries of matrix cores.

use super::precedence::Precedence;
use crate::ids::{Arena, PartId};
use std::collections::{BinaryHeap, VecDeque};

/// The entries of matrix cores by part, in the order in which they run: the next one is the most urgent entry whose predecessors have come
/// before.
///
/// Times don't count. Tiles wait for single tiles, so an entry overlaps well with the end of an entry that it depends on. Entries on a
/// cycle, and those after them, are left out.
pub(super) fn sequences<U: Ord>(
    precedence: &Precedence,
    parts: impl Iterator<Item = PartId>,
    matrix_part: impl Fn(usize) -> Option<PartId>,
    urgency: impl Fn(usize) -> U,
) -> Arena<PartId, VecDeque<usize>> {
    let mut sequences: Arena<PartId, VecDeque<usize>> = parts.map(|_| VecDeque::new()).collect();
    let mut incoming = precedence.incoming();
    let mut urgent: BinaryHeap<(U, usize)> = BinaryHeap::new();
    let mut free: Vec<usize> = (0..precedence.len()).filter(|&node| incoming[node] == 0).collect();
    loop {
        // Entries of other roles count as done as soon as they can begin.
        let node = match free.pop() {
            Some(node) if node < precedence.entries && matrix_part(node).is_some() => {
                urgent.push((urgency(node), node));
                continue;
            }
            Some(node) => node,
            None => {
                let Some((_, node)) = urgent.pop() else { return sequences };
                if let Some(part) = matrix_part(node) {
                    sequences[part].push_back(node);
                }
                node
            }
        };
        for next in precedence.successors(node) {
            incoming[next] -= 1;
            if incoming[next] == 0 {
                free.push(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, circular, moe_ffn};
    use crate::ids::Id;
    use crate::schedule::groups::Groups;
    use std::cmp::Reverse;

    /// The sequence of the entries of the three products if `urgency` gives the urgency by phase and expert.
    fn sequence(urgency: impl Fn(u32, u32) -> i32) -> Vec<(u32, u32)> {
        let checked = moe_ffn(&Layer::SMALL);
        let groups = Groups::new(checked.graph(), 4);
        let precedence = Precedence::new(&checked, &groups, 4, None);
        let entries: Vec<_> = groups.all().collect();
        let part = |number: usize| [1, 2, 4].contains(&entries[number].phase.0).then_some(PartId::new(0));
        let by_number = |number: usize| (urgency(entries[number].phase.0, entries[number].expert), Reverse(number));
        let found = sequences(&precedence, std::iter::once(PartId::new(0)), part, by_number);
        found[PartId::new(0)].iter().map(|&number| (entries[number].phase.0, entries[number].expert)).collect()
    }

    #[test]
    fn the_most_urgent_entry_is_next_unless_it_waits_for_a_less_urgent_one() {
        let by_expert = sequence(|_, expert| -(expert as i32));
        assert_eq!(by_expert[..6], [(1, 0), (2, 0), (4, 0), (1, 1), (2, 1), (4, 1)]);
        let last_first = sequence(|phase, _| phase as i32);
        let experts = last_first.len() / 3;
        // The down projection is most urgent, but waits for both other products.
        assert!(last_first[..experts].iter().all(|&(phase, _)| phase == 2));
        assert!(last_first[experts..].chunks(2).all(|pair| (pair[0].0, pair[1].0, pair[0].1) == (1, 4, pair[1].1)));
    }

    #[test]
    fn entries_on_a_cycle_are_left_out() {
        let checked = circular(&Layer::SMALL);
        let groups = Groups::new(checked.graph(), 4);
        let precedence = Precedence::new(&checked, &groups, 4, None);
        let part = |_| Some(PartId::new(0));
        let found = sequences(&precedence, std::iter::once(PartId::new(0)), part, Reverse);
        assert!(found[PartId::new(0)].len() < groups.all().count());
    }
}
