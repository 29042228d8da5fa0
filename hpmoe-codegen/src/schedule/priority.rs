//! The longest path of work that is left after an entry begins.

use super::groups::Groups;
use super::precedence::Precedence;
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::ids::{Arena, Id, PhaseId, RoleId};
use hpmoe_language::units::Nanos;
use petgraph::unionfind::UnionFind;

/// The priority of each entry, by its number, from the times of entries and the time that a signal takes.
///
/// Phases of one role and one space that feed the same phase share the longer of their paths, so that the entries of one
/// group stay together and their consumer finds their tiles in L2.
pub(super) fn priorities(
    checked: &CheckedGraph,
    groups: &Groups,
    precedence: &Precedence,
    role_of: &Arena<PhaseId, RoleId>,
    times: (&[Nanos], Nanos),
) -> Vec<Nanos> {
    let mut left = longest_paths(precedence, times);
    left.truncate(precedence.entries);
    let mut siblings = siblings(checked, role_of);
    for phase in checked.graph().phases.ids() {
        let first = PhaseId::new(siblings.find_mut(phase.index()));
        if first == phase {
            continue;
        }
        for (entry, other) in groups.of_phase(phase).zip(groups.of_phase(first)) {
            let (entry, other) = (groups.number(entry), groups.number(other));
            left[other] = left[other].max(left[entry]);
        }
    }
    for phase in checked.graph().phases.ids() {
        let first = PhaseId::new(siblings.find_mut(phase.index()));
        for (entry, other) in groups.of_phase(phase).zip(groups.of_phase(first)) {
            left[groups.number(entry)] = left[groups.number(other)];
        }
    }
    left
}

/// The longest path from the beginning of each node to the end of all work, over data alone: program order within a role is
/// not work. Where nodes come before themselves no order is right, and no node has a path.
fn longest_paths(precedence: &Precedence, (times, visible): (&[Nanos], Nanos)) -> Vec<Nanos> {
    let mut left = vec![Nanos(0); precedence.len()];
    for node in precedence.sorted().unwrap_or_default().into_iter().rev() {
        let after = precedence.successors(node).filter(|&next| next < precedence.first_order);
        let after = after.map(|next| left[next]).max();
        left[node] = match after {
            Some(after) if node < precedence.entries => times[node] + visible + after,
            None if node < precedence.entries => times[node],
            after => after.unwrap_or_default(),
        };
    }
    left
}

/// Phases that have the same tiles, the same role and a common consumer, as sets.
fn siblings(checked: &CheckedGraph, role_of: &Arena<PhaseId, RoleId>) -> UnionFind<usize> {
    let graph = checked.graph();
    let mut siblings = UnionFind::new(graph.phases.len());
    let mut producers: Vec<Vec<PhaseId>> = vec![Vec::new(); graph.phases.len()];
    for dependency in checked.dependencies() {
        producers[dependency.after.index()].push(dependency.before);
    }
    for producers in producers {
        for (at, &first) in producers.iter().enumerate() {
            let alike = |&&other: &&PhaseId| {
                let (first, other) = (&graph.phases[first], &graph.phases[other]);
                first.space == other.space && first.ranges == other.ranges
            };
            let others = producers[at + 1..].iter().filter(alike);
            for other in others.filter(|&&other| role_of[other] == role_of[first]) {
                siblings.union(first.index(), other.index());
            }
        }
    }
    siblings
}
