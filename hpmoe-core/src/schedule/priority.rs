//! The longest path of work that follows from the start of an entry.

use super::groups::Groups;
use super::precedence::Precedence;
use crate::analyze::CheckedGraph;
use crate::collections::DisjointSets;
use crate::ids::{Arena, Id, PhaseId, RoleId};
use crate::units::Nanos;

/// The priority of each entry, by the entry's number. `times` are the times of entries, and `visible` is the time that a signal takes.
///
/// Phases with the same role and space that feed the same phase all get the longest of their paths, so that the entries of one group stay
/// together and their consumer finds their tiles in L2.
pub(super) fn priorities(
    checked: &CheckedGraph,
    groups: &Groups,
    precedence: &Precedence,
    role_of: &Arena<PhaseId, RoleId>,
    times: &[Nanos],
    visible: Nanos,
) -> Vec<Nanos> {
    let mut left = longest_paths(precedence, times, visible);
    left.truncate(precedence.entries);
    let siblings = siblings(checked, role_of);
    for phase in checked.graph().phases.ids() {
        let first = PhaseId::new(siblings.first(phase.index()));
        for (entry, other) in groups.of_phase(phase).zip(groups.of_phase(first)) {
            let (entry, other) = (groups.number(entry), groups.number(other));
            left[other] = left[other].max(left[entry]);
        }
    }
    for phase in checked.graph().phases.ids() {
        let first = PhaseId::new(siblings.first(phase.index()));
        for (entry, other) in groups.of_phase(phase).zip(groups.of_phase(first)) {
            left[groups.number(entry)] = left[groups.number(other)];
        }
    }
    left
}

/// The longest path from the start of each node to the end of all work. Only data count, because program order within a role is not work.
/// If the graph has a cycle, no order is right, and all paths are zero.
fn longest_paths(precedence: &Precedence, times: &[Nanos], visible: Nanos) -> Vec<Nanos> {
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

/// Sets of phases with the same tiles, the same role and a common consumer.
fn siblings(checked: &CheckedGraph, role_of: &Arena<PhaseId, RoleId>) -> DisjointSets {
    let graph = checked.graph();
    let mut siblings = DisjointSets::new(graph.phases.len());
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
            // Joining a phase with itself changes nothing.
            let others = producers[at..].iter().filter(alike);
            for other in others.filter(|&&other| role_of[other] == role_of[first]) {
                siblings.join(first.index(), other.index());
            }
        }
    }
    siblings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};
    use crate::graph::TaskGraph;
    use crate::schedule::Entry;

    #[test]
    fn the_work_that_is_left_is_that_of_the_longest_way() {
        let checked = moe_ffn(&Layer::SMALL);
        let groups = Groups::new(checked.graph(), 4);
        let role_of: Arena<PhaseId, RoleId> = checked.graph().phases.ids().map(|_| RoleId(0)).collect();
        let precedence = Precedence::new(&checked, &groups, 4, Some(&role_of));
        let [dispatch, gate, up, swiglu, down, back, combine] = [0, 1, 2, 3, 4, 5, 6];
        let next_expert = |phase: u32| Entry { phase: PhaseId(phase), expert: 1, peer_offset: 0 };
        let entry = |phase: u32| {
            groups.number(if phase == combine { Entry { expert: 0, ..next_expert(phase) } } else { next_expert(phase) })
        };
        // Times by phase, in ns; the up projection takes longer than the gate projection.
        let of_phase = [1, 20, 300, 4_000, 50_000, 600_000, 7_000_000];
        let times_of = |of_phase: [u64; 7]| -> Vec<Nanos> {
            groups.all().map(|entry| Nanos(of_phase[entry.phase.index()])).collect()
        };
        let times = times_of(of_phase);
        let left_with = |role_of: &Arena<PhaseId, RoleId>| {
            let left = priorities(&checked, &groups, &precedence, role_of, &times, Nanos(0));
            [dispatch, gate, up, swiglu, down, back, combine].map(|phase| left[entry(phase)].0)
        };
        let left = left_with(&role_of);
        assert_eq!(left[4..], [7_650_000, 7_600_000, 7_000_000]);
        // Gate and up feed one phase, so both are as urgent as the longer of them.
        assert_eq!(left[..4], [7_654_301, 7_654_300, 7_654_300, 7_654_000]);
        // The result is the same if the gate projection is the longer one.
        let [first, last] = [of_phase[gate as usize], of_phase[up as usize]];
        let times_of_longer_gate = times_of(std::array::from_fn(|phase| match phase as u32 {
            phase if phase == gate => last,
            phase if phase == up => first,
            phase => of_phase[phase as usize],
        }));
        let other = priorities(&checked, &groups, &precedence, &role_of, &times_of_longer_gate, Nanos(0));
        assert_eq!([gate, up].map(|phase| other[entry(phase)].0), [7_654_300, 7_654_300]);
        let mut apart = role_of.clone();
        apart[PhaseId(up)] = RoleId(1);
        assert_eq!(left_with(&apart)[..3], [7_654_301, 7_654_020, 7_654_300]);
        // Phases with other tiles don't share their paths either.
        let other_tiles: [&dyn Fn(&mut TaskGraph); 2] =
            [&|graph| graph.phases[PhaseId(up)].ranges = vec![1], &|graph| {
                graph.phases[PhaseId(up)].space = graph.spaces.push(graph.spaces[graph.phases[PhaseId(up)].space])
            }];
        for change in other_tiles {
            let cut = checked.changed(change);
            let left = priorities(&cut, &groups, &precedence, &role_of, &times, Nanos(0));
            assert_eq!([gate, up].map(|phase| left[entry(phase)].0), [7_654_020, 7_654_300]);
        }
        // The program order of a role's phases is not work, neither for the first expert nor for others.
        let together =
            checked.graph().phases.ids().map(|phase| RoleId(u32::from(![gate, up].contains(&phase.0)))).collect();
        let precedence_of_two = Precedence::new(&checked, &groups, 4, Some(&together));
        let left = priorities(&checked, &groups, &precedence_of_two, &together, &times, Nanos(0));
        for expert in 0..4 {
            let of_gate = Entry { phase: PhaseId(gate), expert, peer_offset: 0 };
            assert_eq!(left[groups.number(of_gate)], Nanos(7_654_300), "expert {expert}");
        }
        let seen_later = priorities(&checked, &groups, &precedence, &role_of, &times, Nanos(1_000_000_000));
        assert_eq!(seen_later[entry(dispatch)], Nanos(5_007_654_301));
        assert_eq!(seen_later.len(), groups.len());
    }
}
