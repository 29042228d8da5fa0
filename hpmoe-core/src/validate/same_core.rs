//! Phases whose tiles are dealt to cores in the same way.

use crate::analyze::CheckedGraph;
use crate::graph::{Phase, TaskGraph};
use crate::ids::{PartId, PhaseId};
use crate::schedule::{Entry, Schedule};
use std::collections::HashMap;

/// Pairs of phases for which the same core makes the same tile, first of one phase and then of the other.
pub(super) struct SameCore {
    /// In every queue, the first phase's entry of each group comes before the second's. No pair has the same phase
    /// twice.
    pairs: Vec<(PhaseId, PhaseId)>,
}

impl SameCore {
    pub(super) fn new(checked: &CheckedGraph, schedule: &Schedule) -> Self {
        let graph = checked.graph();
        let mut pairs = Vec::new();
        for (first, a) in graph.phases.iter() {
            for (second, b) in graph.phases.iter() {
                if same_map(graph, schedule, (first, a), (second, b)) {
                    pairs.push((first, second));
                }
            }
        }
        for order in &schedule.orders {
            let queues = order.queues.iter();
            let of_queue = |(part, queue): (PartId, &Vec<Entry>)| {
                queue.iter().enumerate().map(move |(place, &entry)| (entry, (part, place))).collect::<Vec<_>>()
            };
            let places: HashMap<Entry, (PartId, usize)> = queues.flat_map(of_queue).collect();
            pairs.retain(|&(first, second)| {
                let mut of_first = places.iter().filter(|(entry, _)| entry.phase == first);
                of_first.all(|(&entry, place)| {
                    let other = places.get(&Entry { phase: second, ..entry });
                    other.is_some_and(|other| place.0 == other.0 && place.1 < other.1)
                })
            });
        }
        Self { pairs }
    }

    /// Whether a core that makes a tile of `second` has already made the same tile of `first`.
    pub(super) fn before(&self, first: PhaseId, second: PhaseId) -> bool {
        self.pairs.contains(&(first, second))
    }
}

/// Whether tile t of a group is the same item and column in both phases, on the same core.
pub(super) fn same_map(graph: &TaskGraph, schedule: &Schedule, a: (PhaseId, &Phase), b: (PhaseId, &Phase)) -> bool {
    graph.spaces[a.1.space] == graph.spaces[b.1.space]
        && a.1.ranges == b.1.ranges
        && schedule.phases[a.0].role == schedule.phases[b.0].role
        && schedule.phases[a.0].band == schedule.phases[b.0].band
        && schedule.phases[a.0].rotation == schedule.phases[b.0].rotation
        && schedule.phases[a.0].by_arrival == schedule.phases[b.0].by_arrival
        && schedule.phases[a.0].preceding == schedule.phases[b.0].preceding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};
    use crate::ids::{RoleId, SpaceId};
    use crate::schedule::{Cores, schedule};

    #[test]
    fn tiles_go_alike_only_where_everything_that_deals_them_is_the_same() {
        let checked = moe_ffn(&Layer::SMALL);
        let graph = checked.graph();
        let [dispatch, gate, up, down, back] = [0, 1, 2, 4, 5].map(PhaseId);
        let alike = |first: PhaseId, second: PhaseId, change: &dyn Fn(&mut Schedule)| {
            let mut schedule = schedule(&checked, Cores::ASCEND_A3);
            change(&mut schedule);
            same_map(graph, &schedule, (first, &graph.phases[first]), (second, &graph.phases[second]))
        };
        assert!(alike(gate, up, &|_| ()));
        assert!(!alike(gate, up, &|schedule| schedule.phases[up].role = RoleId(1)));
        assert!(!alike(gate, up, &|schedule| schedule.phases[up].band += 1));
        assert!(!alike(gate, up, &|schedule| schedule.phases[up].rotation += 1));
        assert!(!alike(gate, up, &|schedule| schedule.phases[up].by_arrival ^= true));
        assert!(!alike(gate, up, &|schedule| schedule.phases[up].preceding.push((SpaceId(0), 1))));
        // The same number of columns, but from ranges in another order.
        let turned = checked.changed(|graph| {
            (graph.phases[gate].ranges, graph.phases[up].ranges) = (vec![2, 3], vec![3, 2]);
        });
        let phases = &turned.graph().phases;
        assert_eq!(phases[gate].columns(), phases[up].columns());
        let made = schedule(&checked, Cores::ASCEND_A3);
        assert!(!same_map(turned.graph(), &made, (gate, &phases[gate]), (up, &phases[up])));
        // Dealt in the same way, but with other columns or other items.
        let deal_alike = |first: PhaseId, second: PhaseId| {
            move |schedule: &mut Schedule| schedule.phases[second] = schedule.phases[first].clone()
        };
        assert!(graph.phases[gate].ranges != graph.phases[down].ranges && !alike(gate, down, &deal_alike(gate, down)));
        assert!(graph.phases[dispatch].ranges == graph.phases[back].ranges);
        assert!(!alike(dispatch, back, &deal_alike(dispatch, back)));
    }

    /// Two phases over sends. The second has each entry of the first, with the same expert and peer.
    #[test]
    fn entries_are_compared_for_each_expert_and_peer() {
        let whole = moe_ffn(&Layer::SMALL);
        let [first, second] = [0, 1].map(PhaseId);
        let checked = whole.changed(|graph| graph.phases[second] = graph.phases[first].clone());
        let made = schedule(&whole, Cores::ASCEND_A3);
        let before = |turned: Option<(u32, u32)>| {
            let mut schedule = made.clone();
            schedule.phases[second] = schedule.phases[first].clone();
            for order in &mut schedule.orders {
                let ranks = order.ranks;
                let places = (0..16 / ranks).flat_map(|expert| (0..ranks).map(move |peer| (expert, peer)));
                let pair = |(expert, peer_offset)| {
                    let mut pair = [first, second].map(|phase| Entry { phase, expert, peer_offset });
                    if turned == Some((expert, peer_offset)) {
                        pair.reverse();
                    }
                    pair
                };
                order.queues = std::iter::once(places.flat_map(pair).collect()).collect();
            }
            SameCore::new(&checked, &schedule).before(first, second)
        };
        assert!(before(None));
        for turned in [(0, 0), (1, 0), (0, 1), (7, 1), (3, 3), (0, 15)] {
            assert!(!before(Some(turned)), "{turned:?}");
        }
    }

    #[test]
    fn one_queue_has_both_in_order() {
        let checked = moe_ffn(&Layer::SMALL);
        let [gate, up] = [1, 2].map(PhaseId);
        let before = |change: &dyn Fn(&mut Schedule)| {
            let mut schedule = schedule(&checked, Cores::ASCEND_A3);
            change(&mut schedule);
            SameCore::new(&checked, &schedule).before(gate, up)
        };
        assert!(before(&|_| ()));
        let alone = SameCore::new(&checked, &schedule(&checked, Cores::ASCEND_A3));
        assert!(!alone.before(gate, gate) && !alone.before(up, gate));
        for order in 0..2 {
            // In no queue.
            assert!(!before(&|schedule| {
                let queue = &mut schedule.orders[order].queues[PartId(0)];
                queue.retain(|entry| entry.phase != up);
            }));
            // Later, in another queue, whose cores run independently.
            assert!(!before(&|schedule| {
                let order = &mut schedule.orders[order];
                let [matrix, other] = [0, 1].map(PartId);
                let at = order.queues[matrix].iter().position(|entry| entry.phase == up).unwrap();
                let entry = order.queues[matrix].remove(at);
                order.queues[other].extend([entry; 100]);
            }));
        }
    }
}
