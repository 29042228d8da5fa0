//! Joins: chooses the phases that are walked together with the previous phase, tile by tile.

use super::tiling::same_tiles;
use super::{Entry, Order, PhaseSchedule, Schedule};
use crate::analyze::{CheckedGraph, Whose};
use crate::collections::IdSet;
use crate::collections::SortedSet;
use crate::cost::{Joined, Works};
use crate::ids::{Arena, Id, PhaseId};
use std::collections::HashMap;

/// Lets a phase join the previous one if both cut the same space into the same tiles for the same cores, and if the phase waits for no data
/// or memory that the previous one doesn't wait for. Its entries then move next to those of the previous phase.
///
/// Gate and up projections then read a row tile one after the other, while it is in L2. Together they consume rows half as fast as one of
/// them alone, so rows from other ranks have twice the time to arrive.
pub(super) fn joins(
    checked: &CheckedGraph,
    phases: &mut Arena<PhaseId, PhaseSchedule>,
    launches: &mut [(&CheckedGraph, Vec<Order>)],
) {
    for second in checked.graph().phases.ids() {
        let Some(first) = second.index().checked_sub(1).map(PhaseId::new) else { continue };
        let apart = checked.graph().route.as_ref().is_some_and(|route| route.follows(first) != route.follows(second));
        phases[second].joins_previous = !apart
            && same_tiles(checked.graph(), phases, [first, second])
            && needs(checked, second).is_subset(&needs(checked, first))
            && waits_for_memory(checked, second).is_none_or(|whose| waits_for_memory(checked, first) == Some(whose));
    }
    for order in launches.iter_mut().flat_map(|(_, orders)| orders) {
        order.queues = order.queues.iter().map(|(_, queue)| together(queue, phases)).collect();
    }
}

impl Schedule {
    /// For each phase, the numbers of phases that are walked together with it, and of those that read the same panels.
    #[must_use]
    pub fn joined(&self, works: &Arena<PhaseId, Works>) -> Arena<PhaseId, Joined> {
        let joins = |&phase: &PhaseId| self.phases[phase].joins_previous;
        let walked_with = |phase: PhaseId| {
            let earlier = (0..=phase.index()).rev().map(PhaseId::new).take_while(joins).count();
            let later = (phase.index() + 1..self.phases.len()).map(PhaseId::new).take_while(joins).count();
            let all = (phase.index() - earlier..=phase.index() + later).map(PhaseId::new);
            Works::joined(works, &all.collect::<Vec<_>>(), phase)
        };
        self.phases.ids().map(walked_with).collect()
    }
}

/// The queue with each entry of a joining phase directly after the entry that it joins.
fn together(queue: &[Entry], phases: &Arena<PhaseId, PhaseSchedule>) -> Vec<Entry> {
    let joins = |entry: &Entry| phases[entry.phase].joins_previous;
    let head = |entry: Entry| {
        let earlier = (0..=entry.phase.index()).rev().map(PhaseId::new);
        let steps = earlier.take_while(|&phase| phases[phase].joins_previous).count();
        Entry { phase: PhaseId::new(entry.phase.index() - steps), ..entry }
    };
    let mut joining: HashMap<Entry, SortedSet<Entry>> = HashMap::new();
    for &entry in queue.iter().filter(|entry| joins(entry)) {
        joining.entry(head(entry)).or_default().insert(entry);
    }
    let heads = queue.iter().copied().filter(|entry| !joins(entry));
    heads.flat_map(|entry| std::iter::once(entry).chain(joining.remove(&entry).unwrap_or_default())).collect()
}

/// The phases that produce the inputs of a phase.
fn needs(checked: &CheckedGraph, phase: PhaseId) -> IdSet<PhaseId> {
    checked.dependencies().iter().filter(|d| d.after == phase).map(|d| d.before).collect()
}

/// The rank on which a phase waits for the memory of an earlier chunk; `None` if the phase doesn't wait for memory.
fn waits_for_memory(checked: &CheckedGraph, phase: PhaseId) -> Option<Whose> {
    checked.reuse().and_then(|reuse| reuse.waits[phase])
}

#[cfg(test)]
mod tests {
    use crate::analyze::{Reuse, Whose};
    use crate::fixture::{Layer, moe_ffn, router};
    use crate::front::{front, modules};
    use crate::ids::{Arena, Id as _, PhaseId};
    use crate::schedule::{Choices, Cores, schedule, schedule_with};
    use crate::syntax::Overrides;
    use crate::target::Target;
    use crate::validate::validate;

    #[test]
    fn none_joins_where_that_is_chosen() {
        let choices = Choices::read("join=false").unwrap();
        let schedule = schedule_with(&moe_ffn(&Layer::DEEPSEEK), &Target::ascend_a3(), &choices);
        assert!(schedule.phases.iter().all(|(_, phase)| !phase.joins_previous));
    }

    #[test]
    fn up_joins_gate() {
        for layer in [Layer::SMALL, Layer::DEEPSEEK] {
            let schedule = schedule(&moe_ffn(&layer), Cores::ASCEND_A3);
            let joins: Vec<bool> = schedule.phases.iter().map(|(_, phase)| phase.joins_previous).collect();
            assert_eq!(joins, [false, false, true, false, false, false, false]);
            for queue in schedule.orders.iter().flat_map(|order| order.queues.iter()).map(|(_, queue)| queue) {
                let ups = (0..queue.len()).filter(|&place| queue[place].phase.0 == 2);
                let gates = ups.map(|up| queue[up - 1]);
                assert!(gates.clone().all(|gate| gate.phase.0 == 1) && gates.count() * 3 <= queue.len());
            }
        }
    }

    #[test]
    fn no_phase_joins_one_on_the_other_side_of_the_route() {
        let checked = moe_ffn(&Layer::SMALL);
        let [gate, up] = [1, 2].map(PhaseId::new);
        let made = schedule(&checked, Cores::ASCEND_A3);
        for before in [gate.index(), up.index(), up.index() + 1] {
            let apart = checked.changed(|graph| {
                graph.route = router(&Layer::SMALL).graph().route.clone();
                graph.route.as_mut().unwrap().before = before;
            });
            let (mut phases, mut orders) = (made.phases.clone(), vec![(&checked, made.orders.clone())]);
            super::joins(&apart, &mut phases, &mut orders);
            assert_eq!(phases[up].joins_previous, before != up.index(), "{before} phases before the route");
        }
    }

    #[test]
    fn what_joins_waits_for_no_memory_that_the_other_does_not_wait_for() {
        let [gate, up] = [1, 2].map(PhaseId::new);
        let layer = moe_ffn(&Layer::SMALL);
        let made = schedule(&layer, Cores::ASCEND_A3);
        let joins = |first: Option<Whose>, second: Option<Whose>| {
            let mut checked = layer.clone();
            let mut waits: Arena<PhaseId, Option<Whose>> = layer.graph().phases.ids().map(|_| None).collect();
            (waits[gate], waits[up]) = (first, second);
            *checked.reuse_mut() = Some(Reuse { frees: PhaseId::new(6), waits });
            let (mut phases, mut orders) = (made.phases.clone(), vec![(&layer, made.orders.clone())]);
            super::joins(&checked, &mut phases, &mut orders);
            phases[up].joins_previous
        };
        let (own, peer) = (Some(Whose::Own), Some(Whose::Peer));
        assert!(joins(own, own) && joins(peer, peer) && joins(own, None) && joins(None, None));
        assert!(!joins(None, own) && !joins(own, peer) && !joins(peer, own));
    }

    /// Two tasks over the same blocks: one writes memory of the caller, the other memory that chunks reuse.
    const PREPARED: &str = "
        #[megakernel]
        pub mod prepared {
            use hpmoe_runtime::prelude::*;
            use hpmoe_runtime::tasks::{dispatch, give_back, sum_over_k};
            pub const EXPERTS: usize = 8;
            pub const TOP_K: usize = 2;
            pub const TOKENS: usize = 12;
            pub const BLOCK: usize = 2;
            pub const SLOTS: usize = BLOCK * TOP_K;
            #[aiv_task]
            pub fn square(x: &Tile<bf16, BLOCK, 32>, z: &mut Tile<bf16, BLOCK, 32>) {
                let x = x.load();
                z.store(&x * &x);
            }
            #[taskflow]
            pub fn forward(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, 32>>, kept: &mut PerRank<Tensor<bf16, 32>>,
                           y: &mut PerRank<Tensor<bf16, 32>>) {
                for c in route.chunks::<4>() {
                    let z = PerRank::tokens::<bf16, 32>(ep, &c);
                    let recv = PerRank::symmetric::<bf16, 32>(ep, &c);
                    let back = PerRank::slots::<bf16, 32>(ep, &c);
                    for r in ep { for t in c.token_blocks::<BLOCK>(r) {
                        square(&x[r].rows(t), &mut kept[r].rows(t));
                        square(&x[r].rows(t), &mut z[r].rows(t));
                    } }
                    for src in ep { for e in c.experts() { for s in c.sends::<4>(src, e) {
                        dispatch(&z[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    } } }
                    for src in ep { for e in c.experts() { for s in c.sends::<4>(src, e) {
                        give_back(&recv[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                    } } }
                    for r in ep { for t in c.token_blocks::<BLOCK>(r) {
                        sum_over_k::<SLOTS, 32, _>(&back[r].slots(t), &mut y[r].rows(t));
                    } }
                }
            }
        }";

    #[test]
    fn what_waits_for_memory_does_not_join_what_does_not() {
        let checked = |source: &str| {
            let module = modules(source).unwrap().remove(0);
            front(&module, &Overrides::new()).unwrap().flows.remove(0)
        };
        let joins = |source: &str| {
            let checked = checked(source);
            let valid = validate(&checked, schedule(&checked, Cores::ASCEND_A3)).unwrap();
            valid.schedule().phases.iter().map(|(_, phase)| phase.joins_previous).take(2).collect::<Vec<bool>>()
        };
        assert_eq!(joins(PREPARED), [false, false]);
        // In the reverse order, the phase that joins may need less than the previous one.
        let [kept, z] = ["&mut kept[r].rows(t)", "&mut z[r].rows(t)"];
        let turned = PREPARED.replace(kept, "HERE").replace(z, kept).replace("HERE", z);
        assert_eq!(joins(&turned), [false, true]);
    }
}
