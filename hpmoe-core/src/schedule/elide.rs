//! Drops counters that the order of queues makes unnecessary.

use super::groups::Groups;
use super::tiling::same_tiles;
use super::{Elision, Implied, Order, PhaseSchedule};
use crate::analyze::{CheckedGraph, Cover, Dependency, Signal, Wait};
use crate::collections::IdSet;
use crate::collections::SortedSet;
use crate::ids::{Arena, CounterId, PartId, PhaseId};
use hpmoe_kernels::op::TaskKind;

/// Finds every dependency that another one, or the order of a queue, implies; gives phases the waits and signals of the rest.
pub(super) fn elide(
    checked: &CheckedGraph,
    phases: &mut Arena<PhaseId, PhaseSchedule>,
    launches: &[(&CheckedGraph, Vec<Order>)],
) -> Vec<Elision> {
    let before = Before::new(checked, phases, launches);
    let mut implied: Vec<Option<Implied>> = vec![None; checked.dependencies().len()];
    paths(checked, &mut implied);
    same_core(checked, &before, &mut implied);
    queue_order(checked, &before, &mut implied);
    already_awaited(checked, &before, &mut implied);
    keep(checked, &implied, phases);
    let numbered = implied.into_iter().enumerate();
    numbered.filter_map(|(dependency, implied)| Some(Elision { dependency, implied: implied? })).collect()
}

/// Marks dependencies for which the analysis has already found a path.
fn paths(checked: &CheckedGraph, implied: &mut [Option<Implied>]) {
    for (dependency, implied) in checked.dependencies().iter().zip(implied) {
        if let Cover::Path(path) = &dependency.cover {
            *implied = Some(Implied::Path(path.clone()));
        }
    }
}

/// Marks dependencies of tiles that a vector core has made itself. This must hold for all dependencies that one wait stands for; otherwise,
/// the wait stays.
fn same_core(checked: &CheckedGraph, before: &Before, implied: &mut [Option<Implied>]) {
    let dependencies = checked.dependencies();
    let own = |dependency: &Dependency| {
        before.same_tiles(dependency.before, dependency.after)
            && changes_task(checked, dependency)
            && same_part(checked, dependency)
    };
    for (dependency, implied) in dependencies.iter().zip(implied) {
        let mut stood_for =
            dependencies.iter().filter(|other| other.after == dependency.after && other.wait == dependency.wait);
        if implied.is_none() && stood_for.all(own) {
            *implied = Some(Implied::SameCore);
        }
    }
}

/// Whether a vector core changes tasks between the two phases. It then gives UB to another task, and so waits for all of its pipes.
fn changes_task(checked: &CheckedGraph, dependency: &Dependency) -> bool {
    let graph = checked.graph();
    let [before, after] = [dependency.before, dependency.after].map(|phase| graph.phases[phase].task);
    before != after && [before, after].iter().all(|&task| graph.tasks[task].kind == TaskKind::Vector)
}

/// Whether a tile of the consumer touches only elements that the corresponding tile of the producer has written.
fn same_part(checked: &CheckedGraph, dependency: &Dependency) -> bool {
    let accesses = |phase: PhaseId| {
        let all = checked.graph().phases[phase].accesses.iter();
        all.filter(|access| access.tensor == dependency.tensor)
    };
    let written = |region| accesses(dependency.before).any(|made| made.write && !made.remote && made.region == region);
    accesses(dependency.after).all(|access| !access.remote && written(access.region))
}

/// Marks dependencies by queue order: if several producers of a tile run on one core, the wait for the last one implies the others.
fn queue_order(checked: &CheckedGraph, before: &Before, implied: &mut [Option<Implied>]) {
    let dependencies = checked.dependencies();
    for consumer in checked.graph().phases.ids() {
        let needs: Vec<usize> =
            (0..dependencies.len()).filter(|&d| dependencies[d].after == consumer && implied[d].is_none()).collect();
        let later = |d: usize| {
            let speaks = |&&other: &&usize| speaks_for(checked, before, &dependencies[other], &dependencies[d]);
            let others = needs.iter().filter(speaks).map(|&other| dependencies[other].before);
            others.reduce(|last, next| if before.same_tiles(last, next) { next } else { last })
        };
        for &d in &needs {
            // All dependencies that a wait stands for must be implied; otherwise, the wait stays.
            let mut stood_for = needs.iter().filter(|&&other| dependencies[other].wait == dependencies[d].wait);
            if stood_for.all(|&other| later(other).is_some()) {
                let earlier = dependencies[d].before;
                implied[d] = later(d).map(|later| Implied::QueueOrder { earlier, later });
            }
        }
    }
}

/// Whether `other`'s counter, once complete, implies that `dependency`'s producer has finished the same tiles.
fn speaks_for(checked: &CheckedGraph, before: &Before, other: &Dependency, dependency: &Dependency) -> bool {
    let grid = |d: &Dependency| checked.counters()[d.signal.counter].grid;
    before.same_tiles(dependency.before, other.before)
        && dependency.signal.counter != other.signal.counter
        && grid(dependency) == grid(other)
        && dependency.signal.index == other.signal.index
        && dependency.signal.remote == other.signal.remote
        && dependency.wait.index == other.wait.index
}

/// Marks dependencies whose counter an earlier entry on the same core has already waited for.
fn already_awaited(checked: &CheckedGraph, before: &Before, implied: &mut [Option<Implied>]) {
    let dependencies = checked.dependencies();
    let open = dependencies.iter().zip(&*implied).filter(|(_, implied)| implied.is_none());
    let open: Vec<&Dependency> = open.map(|(dependency, _)| dependency).collect();
    for (dependency, implied) in dependencies.iter().zip(implied) {
        if implied.is_none() {
            let waiting = open.iter().filter(|other| other.wait == dependency.wait).map(|other| other.after);
            let by = waiting.filter(|&phase| before.same_tiles(phase, dependency.after)).min();
            *implied = by.map(|by| Implied::AlreadyAwaited { by });
        }
    }
}

/// Gives phases the waits of dependencies that nothing implies, and the signals to every counter that is still awaited.
fn keep(checked: &CheckedGraph, implied: &[Option<Implied>], phases: &mut Arena<PhaseId, PhaseSchedule>) {
    let dependencies = checked.dependencies();
    let mut waits: SortedSet<(PhaseId, &Wait)> = SortedSet::default();
    let mut awaited: IdSet<CounterId> = IdSet::new();
    for (dependency, implied) in dependencies.iter().zip(implied) {
        if implied.is_none() {
            waits.insert((dependency.after, &dependency.wait));
            awaited.insert(dependency.wait.counter);
        }
    }
    let kept = dependencies.iter().filter(|dependency| awaited.contains(dependency.signal.counter));
    let signals: SortedSet<(PhaseId, Signal)> = kept.map(|dependency| (dependency.before, dependency.signal)).collect();
    for (phase, wait) in waits {
        phases[phase].waits.push(wait.clone());
    }
    for (phase, signal) in signals {
        phases[phase].signals.push(signal);
    }
}

/// Pairs of phases that cut the same space into the same tiles for the same cores, one before the other in every queue.
struct Before {
    /// The later phases of such pairs, by earlier phase.
    after: Arena<PhaseId, IdSet<PhaseId>>,
}

impl Before {
    fn new(
        checked: &CheckedGraph,
        phases: &Arena<PhaseId, PhaseSchedule>,
        launches: &[(&CheckedGraph, Vec<Order>)],
    ) -> Self {
        let graph = checked.graph();
        let alike = |a: PhaseId| graph.phases.ids().filter(move |&b| same_tiles(graph, phases, [a, b])).collect();
        let mut after: Arena<PhaseId, IdSet<PhaseId>> = graph.phases.ids().map(alike).collect();
        for (launch, order) in
            launches.iter().flat_map(|(launch, orders)| orders.iter().map(move |order| (launch, order)))
        {
            let groups = Groups::new(launch.graph(), order.ranks);
            let mut place = vec![(PartId(0), 0); groups.len()];
            for (part, queue) in order.queues.iter() {
                for (at, &entry) in queue.iter().enumerate() {
                    place[groups.number(entry)] = (part, at);
                }
            }
            for a in graph.phases.ids() {
                after[a].retain(|b| {
                    let mut entries = groups.of_phase(a).zip(groups.of_phase(b));
                    entries.all(|(a, b)| {
                        let (a, b) = (place[groups.number(a)], place[groups.number(b)]);
                        a.0 == b.0 && a.1 < b.1
                    })
                });
            }
        }
        Self { after }
    }

    /// Whether the core that makes a tile of `second` has made the same tile of `first` before.
    fn same_tiles(&self, first: PhaseId, second: PhaseId) -> bool {
        self.after[first].contains(second)
    }
}

#[cfg(test)]
mod tests;
