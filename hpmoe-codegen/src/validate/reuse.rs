//! Chunks that take the same memory come one after the other.

use super::Violation;
use crate::schedule::{Entry, Schedule};
use hpmoe_language::analyze::{CheckedGraph, Reuse, Whose};
use hpmoe_language::graph::SpaceKind;
use hpmoe_language::ids::{PhaseId, TensorId};

/// Everything that touches rows of a chunk on a rank is over when the rank tells that their memory is free, and everything that
/// writes rows of a later chunk there comes after that word. One queue has all words of a rank, in order.
///
/// Dependencies are kept, which is for [`coverage`](super::coverage::coverage) to see; here they are followed back and forth.
pub(super) fn reuse(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let graph = checked.graph();
    if !graph.sizes.reuses() {
        return;
    }
    let Some(reuse) = checked.reuse() else {
        violations.push(Violation::NoWord);
        return;
    };
    for order in &schedule.orders {
        let told =
            |queue: &Vec<Entry>| queue.iter().filter(|entry| entry.phase == reuse.frees).map(|e| e.expert).collect();
        let mut queues = order.queues.iter().map(|(_, queue)| told(queue)).filter(|told: &Vec<u32>| !told.is_empty());
        let first = queues.next().unwrap_or_default();
        if !first.is_sorted() || queues.next().is_some() {
            violations.push(Violation::WordsOutOfOrder { ranks: order.ranks });
        }
    }
    for (phase, call) in graph.phases.iter() {
        let accesses = call.accesses.iter().map(|access| (access.tensor, access.write, access.remote));
        let origins = call.origins.map(|origins| (origins.tensor, origins.write, origins.write));
        for (tensor, write, remote) in accesses.chain(origins) {
            if graph.tensors[tensor].storage.is_argument() {
                continue;
            }
            if !over(checked, reuse, phase, tensor, remote) {
                violations.push(Violation::FreedEarly { phase, tensor });
            }
            let late = match remote {
                true => reuse.waits[phase] == Some(Whose::Peer) || after_words_of_sources(checked, reuse, phase),
                false => after_word(checked, reuse, phase),
            };
            if write && !late {
                violations.push(Violation::WrittenEarly { phase, tensor });
            }
        }
    }
}

/// Whether the word of the rank where the tensor lies waits for the phase, by way of others or not.
fn over(checked: &CheckedGraph, reuse: &Reuse, phase: PhaseId, tensor: TensorId, remote: bool) -> bool {
    let mut next = checked.dependencies().iter().filter(|d| d.before == phase && d.signal.remote == remote);
    match remote {
        // The rank that it writes to has a reader of what it writes.
        true => next.any(|d| d.tensor == tensor && leads_to_word(checked, reuse, d.after, false)),
        false => leads_to_word(checked, reuse, phase, false),
    }
}

/// Whether dependencies lead from a phase to the word of its rank; `away`: of the other rank of its rows. A row's phases on both ranks
/// follow one another, so that a way there and back is one.
fn leads_to_word(checked: &CheckedGraph, reuse: &Reuse, phase: PhaseId, away: bool) -> bool {
    let mut next = checked.dependencies().iter().filter(|d| d.before == phase);
    next.any(|d| match (d.signal.remote != away, d.after == reuse.frees) {
        (away, true) => !away,
        (away, false) => leads_to_word(checked, reuse, d.after, away),
    })
}

/// Whether tiles of the phase begin after the word of their own rank.
fn after_word(checked: &CheckedGraph, reuse: &Reuse, phase: PhaseId) -> bool {
    let mut before = checked.dependencies().iter().filter(|d| d.after == phase);
    reuse.waits[phase] == Some(Whose::Own)
        || before.any(|d| match d.signal.remote {
            true => reuse.waits[d.before] == Some(Whose::Peer),
            false => after_word(checked, reuse, d.before),
        })
}

/// Whether tiles of the phase begin after the words of the ranks whose tokens their rows are: with rows that arrived, the peers.
fn after_words_of_sources(checked: &CheckedGraph, reuse: &Reuse, phase: PhaseId) -> bool {
    let kind = |phase: PhaseId| checked.graph().spaces[checked.graph().phases[phase].space].kind;
    let mut before = checked.dependencies().iter().filter(|d| d.after == phase);
    !matches!(kind(phase), SpaceKind::Sends | SpaceKind::Blocks)
        && before.any(|d| match d.signal.remote {
            true => kind(d.before) == SpaceKind::Sends && after_word(checked, reuse, d.before),
            false => after_words_of_sources(checked, reuse, d.before),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Cores, schedule};
    use hpmoe_language::fixture::{Layer, chunked};
    use hpmoe_language::ids::{Id, PartId};

    fn broken(break_it: impl FnOnce(&mut Reuse)) -> Vec<Violation> {
        let mut checked = chunked(&Layer::TINY, 3);
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        break_it(checked.reuse_mut().as_mut().unwrap());
        let mut found = Vec::new();
        reuse(&checked, &schedule, &mut found);
        found
    }

    #[test]
    fn what_the_analysis_finds_is_enough() {
        assert_eq!(broken(|_| ()), []);
        let checked = chunked(&Layer::TINY, 2);
        assert!(checked.reuse().is_none(), "two chunks have memory of their own");
    }

    #[test]
    fn each_wait_that_is_left_out_is_found() {
        let whole = chunked(&Layer::TINY, 3);
        let waits = whole.reuse().unwrap().waits.iter().filter(|(_, wait)| wait.is_some());
        let phases: Vec<PhaseId> = waits.map(|(phase, _)| phase).collect();
        assert_eq!(phases.len(), 2, "the squares, and the puts, whose rows come from ranks that have told already");
        for phase in phases {
            let found = broken(|reuse| reuse.waits[phase] = None);
            assert!(
                found.iter().any(|v| matches!(v, Violation::WrittenEarly { phase: early, .. } if *early == phase)),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_word_that_waits_for_nothing_is_found() {
        let other = PhaseId::new(0);
        let found = broken(|reuse| reuse.frees = other);
        assert!(found.iter().any(|v| matches!(v, Violation::FreedEarly { .. })), "{found:?}");
        let mut checked = chunked(&Layer::TINY, 3);
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        *checked.reuse_mut() = None;
        let mut found = Vec::new();
        reuse(&checked, &schedule, &mut found);
        assert_eq!(found, [Violation::NoWord]);
    }

    #[test]
    fn words_in_another_order_are_found() {
        let checked = chunked(&Layer::TINY, 4);
        let frees = checked.reuse().unwrap().frees;
        let mut schedule = schedule(&checked, Cores::ASCEND_A3);
        let parts: Vec<PartId> = schedule.orders[0].queues.ids().collect();
        for part in parts {
            let queue = &mut schedule.orders[0].queues[part];
            let places: Vec<usize> = (0..queue.len()).filter(|&place| queue[place].phase == frees).collect();
            if let [first, second, ..] = places[..] {
                queue.swap(first, second);
            }
        }
        let mut found = Vec::new();
        reuse(&checked, &schedule, &mut found);
        assert_eq!(found, [Violation::WordsOutOfOrder { ranks: 1 }]);
    }
}
