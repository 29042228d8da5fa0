//! Tests the required order of single entries.

use super::*;
use crate::fixture::{Layer, chunked, moe_ffn, once, router, sums};
use crate::graph::SpaceKind;
use std::collections::BTreeSet;

/// A test of whether one entry must come before another, for some number of ranks; with `roles`, program order counts.
fn before(checked: &CheckedGraph, ranks: u32, roles: bool) -> impl Fn(Entry, Entry) -> bool + use<> {
    let role_of = checked.graph().phases.ids().map(|_| RoleId(0)).collect();
    before_with(checked, ranks, roles.then_some(&role_of))
}

/// A test of whether one entry must come before another if phases have these roles.
fn before_with(
    checked: &CheckedGraph,
    ranks: u32,
    role_of: Option<&Arena<PhaseId, RoleId>>,
) -> impl Fn(Entry, Entry) -> bool + use<> {
    let groups = Groups::new(checked.graph(), ranks);
    let precedence = Precedence::new(checked, &groups, ranks, role_of);
    move |first, second| {
        let (first, second) = (groups.number(first), groups.number(second));
        let mut open: Vec<usize> = precedence.successors(first).collect();
        let mut seen = BTreeSet::new();
        while let Some(node) = open.pop() {
            if node == second {
                return true;
            }
            if seen.insert(node) {
                open.extend(precedence.successors(node));
            }
        }
        false
    }
}

fn entry(phase: u32, expert: u32, peer_offset: u32) -> Entry {
    Entry { phase: PhaseId(phase), expert, peer_offset }
}

#[test]
fn an_expert_needs_its_own_rows_from_all_peers() {
    let checked = moe_ffn(&Layer::SMALL);
    let [dispatch, gate, up, down, back, combine] = [0, 1, 2, 4, 5, 6];
    let before = before(&checked, 4, false);
    for peer in 0..4 {
        assert!(before(entry(dispatch, 2, peer), entry(gate, 2, 0)));
        assert!(!before(entry(dispatch, 2, peer), entry(gate, 1, 0)));
        assert!(!before(entry(dispatch, 2, peer), entry(gate, 3, 0)));
        assert!(before(entry(down, 2, 0), entry(back, 2, peer)));
        assert!(before(entry(back, 2, peer), entry(combine, 0, 0)));
    }
    assert!(before(entry(gate, 3, 0), entry(down, 3, 0)) && !before(entry(gate, 3, 0), entry(down, 2, 0)));
    assert!(!before(entry(gate, 3, 0), entry(up, 3, 0)) && !before(entry(up, 3, 0), entry(gate, 3, 0)));
}

#[test]
fn phases_of_a_role_follow_one_another_for_each_expert() {
    let checked = moe_ffn(&Layer::SMALL);
    let [gate, up, combine] = [1, 2, 6];
    let before = before(&checked, 4, true);
    assert!(before(entry(gate, 3, 0), entry(up, 3, 0)) && !before(entry(up, 3, 0), entry(gate, 3, 0)));
    assert!(!before(entry(gate, 2, 0), entry(up, 3, 0)) && !before(entry(gate, 3, 0), entry(up, 2, 0)));
    assert!(!before(entry(combine, 0, 0), entry(gate, 3, 0)));
    // Phases of different roles have no program order.
    let apart = checked.graph().phases.ids().map(|phase| RoleId(u32::from(phase.0 == up))).collect();
    let before = before_with(&checked, 4, Some(&apart));
    assert!(!before(entry(gate, 3, 0), entry(up, 3, 0)) && !before(entry(up, 3, 0), entry(gate, 3, 0)));
}

#[test]
fn blocks_of_a_role_follow_one_another_for_each_chunk() {
    let checked = chunked(&Layer::TINY, 2);
    let graph = checked.graph();
    let over_blocks = |phase: &PhaseId| graph.spaces[graph.phases[*phase].space].kind == SpaceKind::Blocks;
    let phases: Vec<PhaseId> = graph.phases.ids().filter(over_blocks).collect();
    let [first, last] = [phases[0], *phases.last().unwrap()].map(|phase| phase.0);
    let without_data = CheckedGraph::for_tests(graph.clone(), Arena::new(), Vec::new());
    let before = before(&without_data, 4, true);
    for chunk in 0..2 {
        assert!(before(entry(first, chunk, 0), entry(last, chunk, 0)));
        assert!(!before(entry(first, chunk, 0), entry(last, 1 - chunk, 0)));
        assert!(!before(entry(last, chunk, 0), entry(first, chunk, 0)));
    }
}

/// A copy of the graph in which an unused counter precedes all others.
fn with_another_counter(checked: &CheckedGraph) -> CheckedGraph {
    let first = checked.counters().iter().next();
    let counters = first.into_iter().chain(checked.counters().iter()).map(|(_, counter)| *counter).collect();
    let mut dependencies = checked.dependencies().to_vec();
    for dependency in &mut dependencies {
        for counter in [&mut dependency.signal.counter, &mut dependency.wait.counter] {
            *counter = CounterId::new(counter.index() + 1);
        }
    }
    CheckedGraph::for_tests(checked.graph().clone(), counters, dependencies)
}

#[test]
fn what_is_sent_once_may_lie_under_any_expert_before() {
    let checked = once(&Layer::SMALL);
    let [send, copy, project] = [0, 1, 2];
    for checked in [with_another_counter(&checked), checked] {
        let before = before(&checked, 4, false);
        for expert in 0..4 {
            for sent in 0..4 {
                assert_eq!(before(entry(send, sent, 1), entry(copy, expert, 0)), sent <= expert, "{sent} {expert}");
                // A phase that reads the copies of an expert waits for no other expert's copies.
                assert_eq!(before(entry(send, sent, 1), entry(project, expert, 0)), sent <= expert);
            }
        }
    }
}

#[test]
fn what_needs_the_route_follows_all_ids() {
    let checked = router(&Layer::SMALL);
    let [square, choose, dispatch] = [0, 2, 3];
    let before = before(&checked, 4, false);
    for (expert, peer) in (0..4).flat_map(|expert| (0..4).map(move |peer| (expert, peer))) {
        assert!(before(entry(choose, 0, 0), entry(dispatch, expert, peer)), "{expert} {peer}");
    }
    assert!(!before(entry(choose, 0, 0), entry(square, 0, 0)), "squares need no route");
}

#[test]
fn a_chunk_waits_for_the_word_of_the_one_before_the_last() {
    let checked = chunked(&Layer::TINY, 5);
    let reuse = checked.reuse().unwrap();
    let waits = reuse.waits.iter().find(|(_, whose)| whose.is_some()).unwrap().0.0;
    let before = before(&checked, 4, false);
    let (frees, local) = (reuse.frees.0, 2);
    let by_chunk = checked.graph().spaces[checked.graph().phases[PhaseId(waits)].space].by_chunk();
    let of_chunk = |chunk: u32| entry(waits, if by_chunk { chunk } else { chunk * local }, 0);
    for chunk in 0..5 {
        for freed in 0..5 {
            assert_eq!(before(entry(frees, freed, 0), of_chunk(chunk)), freed + 2 <= chunk, "{freed} {chunk}");
            assert_eq!(before(entry(frees, freed, 0), entry(frees, chunk, 0)), freed < chunk, "{freed} {chunk}");
        }
    }
}

#[test]
fn sums_are_added_chunk_after_chunk_and_nothing_else_is() {
    let checked = sums(&Layer::TINY, 3);
    let graph = checked.graph();
    let before = before(&CheckedGraph::for_tests(graph.clone(), Arena::new(), Vec::new()), 4, false);
    let local = 2;
    for phase in graph.phases.ids() {
        if graph.spaces[graph.phases[phase].space].by_chunk() {
            assert!(!before(entry(phase.0, 0, 0), entry(phase.0, 1, 0)));
            continue;
        }
        for (first, second) in (0..3 * local).flat_map(|first| (0..3 * local).map(move |second| (first, second))) {
            let wanted = graph.adds_up(phase) && first / local < second / local;
            assert_eq!(before(entry(phase.0, first, 0), entry(phase.0, second, 0)), wanted, "{first} {second}");
        }
    }
}

#[test]
fn only_what_writes_memory_of_chunks_waits_for_its_word() {
    let checked = chunked(&Layer::TINY, 4);
    let graph = checked.graph();
    let mut without_data = CheckedGraph::for_tests(graph.clone(), Arena::new(), Vec::new());
    *without_data.reuse_mut() = checked.reuse().cloned();
    let reuse = checked.reuse().unwrap();
    let before = before(&without_data, 2, false);
    let chunk_of = |entry: Entry| chunk(graph, 2, entry);
    let groups = Groups::new(graph, 2);
    let word = entry(reuse.frees.0, 0, 0);
    for entry in groups.all().filter(|entry| entry.phase != reuse.frees) {
        let waits = reuse.waits[entry.phase].is_some();
        assert_eq!(before(word, entry), waits && chunk_of(entry) >= 2, "{entry:?}");
    }
}

#[test]
fn a_phase_that_depends_on_itself_has_an_order() {
    let mut checked = moe_ffn(&Layer::SMALL);
    let of_gate = checked.dependencies()[2].clone();
    let itself = crate::analyze::Dependency { after: of_gate.before, ..of_gate };
    checked.dependencies_mut().push(itself);
    let groups = Groups::new(checked.graph(), 4);
    assert!(Precedence::new(&checked, &groups, 4, None).sorted().is_some());
}
