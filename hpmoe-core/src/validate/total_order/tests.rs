//! Cycles are found, whatever they lead through, and nothing else is reported.

use super::*;
use crate::analyze::Signal;
use crate::fixture::{Layer, chunked, moe_ffn, once, routed, router};
use crate::ids::{Id, PartId, PhaseId};
use crate::schedule::{Choices, CoreKind, Cores, Entry, schedule, schedule_with};
use crate::target::Target;
use crate::validate::broken::broken_of;
use std::collections::BTreeSet;

#[test]
fn a_right_schedule_passes() {
    let checked = moe_ffn(&Layer::DEEPSEEK);
    let mut found = Vec::new();
    total_order(&checked, &schedule(&checked, Cores::ASCEND_A3), &mut found);
    assert_eq!(found, []);
}

#[test]
fn a_consumer_before_its_producer_is_a_cycle() {
    let checked = moe_ffn(&Layer::SMALL);
    let whole = schedule(&checked, Cores::ASCEND_A3);
    let downs = |queue: &[Entry]| (0..queue.len()).filter(|&at| queue[at].phase == PhaseId(4)).collect::<Vec<_>>();
    // For any expert: the path to the products of the last one leads over those of all others.
    for down in downs(&whole.orders[2].queues[PartId::new(0)]) {
        let mut schedule = whole.clone();
        let queue = &mut schedule.orders[2].queues[PartId::new(0)];
        let entry = queue.remove(down);
        queue.insert(0, entry);
        let mut found = Vec::new();
        total_order(&checked, &schedule, &mut found);
        let [Violation::Cycle { ranks: 4, entries }] = &found[..] else { panic!("{found:?}") };
        assert!(entries.contains(&entry));
        let phases: BTreeSet<PhaseId> = entries.iter().map(|entry| entry.phase).collect();
        assert!(phases.contains(&PhaseId(3)), "the way back leads over the activation: {entries:?}");
    }
}

#[test]
fn what_only_the_later_of_two_joined_entries_signals_comes_after_both() {
    let whole = moe_ffn(&Layer::SMALL);
    let [gate, up, down] = [1, 2, 4].map(PhaseId);
    let others = whole.dependencies().iter().filter(|dependency| dependency.before != gate).cloned().collect();
    let checked = CheckedGraph::for_tests(whole.graph().clone(), whole.counters().clone(), others);
    let mut schedule = schedule(&whole, Cores::ASCEND_A3);
    assert!(schedule.phases[up].joins_previous && schedule.phases[gate].signals.is_empty());
    assert!(!cycles(&checked, &schedule));
    let queue = &mut schedule.orders[0].queues[PartId(0)];
    let first = queue.iter().position(|entry| entry.phase == down).unwrap();
    let entry = queue.remove(first);
    queue.insert(0, entry);
    assert!(cycles(&checked, &schedule));
}

#[test]
fn a_cycle_among_many_ranks_is_found() {
    let checked = moe_ffn(&Layer { experts: 256, ..Layer::TINY });
    let mut schedule = schedule(&checked, Cores::ASCEND_A3);
    let order = schedule.orders.last_mut().unwrap();
    order.queues[PartId(0)].reverse();
    let mut found = Vec::new();
    total_order(&checked, &schedule, &mut found);
    assert!(matches!(found[..], [Violation::Cycle { ranks: 256, .. }]), "{found:?}");
}

#[test]
fn experts_of_once_sent_tokens_go_by_number() {
    let checked = once(&Layer::TINY);
    let mut schedule = schedule(&checked, Cores::ASCEND_A3);
    let violations = |schedule: &Schedule| {
        let mut found = Vec::new();
        total_order(&checked, schedule, &mut found);
        found
    };
    assert_eq!(violations(&schedule), []);
    schedule.expert_orders = ExpertOrders::Load;
    assert_eq!(violations(&schedule), [Violation::OnceByLoad]);
}

#[test]
fn peers_that_wait_for_one_another_are_a_cycle() {
    // Each rank would put back results before it sends the rows that its peer computes them from.
    let checked = moe_ffn(&Layer::TINY);
    let together = Choices::read("peer_cores=shared return_cores=sending").unwrap();
    let mut schedule = schedule_with(&checked, &Target::ascend_a3(), &together);
    let queue = &mut schedule.orders[1].queues[PartId::new(1)];
    let returned = Entry { phase: PhaseId(5), expert: 0, peer_offset: 1 };
    let own = |entry: &Entry| entry.phase == PhaseId(0) && entry.peer_offset == 0;
    queue.sort_by_key(|entry| if own(entry) { 0 } else { 1 + u32::from(*entry != returned) });
    let mut found = Vec::new();
    total_order(&checked, &schedule, &mut found);
    let [Violation::Cycle { ranks: 2, entries }] = &found[..] else { panic!("{found:?}") };
    assert!(entries.contains(&returned) && entries.iter().any(|entry| entry.phase == PhaseId(0)), "{entries:?}");
}

fn cycles(checked: &CheckedGraph, schedule: &Schedule) -> bool {
    let mut violations = Vec::new();
    total_order(checked, schedule, &mut violations);
    assert!(violations.iter().all(|violation| matches!(violation, Violation::Cycle { .. })), "{violations:?}");
    !violations.is_empty()
}

#[test]
fn dependencies_count_whether_or_not_they_have_counters_of_their_own() {
    let checked = moe_ffn(&Layer::SMALL);
    let mut schedule = schedule(&checked, Cores::ASCEND_A3);
    for phase in schedule.phases.ids() {
        schedule.phases[phase].waits.clear();
        schedule.phases[phase].signals.clear();
    }
    assert!(!cycles(&checked, &schedule));
    let queue = &mut schedule.orders[0].queues[PartId::new(0)];
    let down = queue.iter().position(|entry| entry.phase == PhaseId(4)).unwrap();
    let entry = queue.remove(down);
    queue.insert(0, entry);
    assert!(cycles(&checked, &schedule));
}

#[test]
fn signals_and_waits_count_though_no_dependency_has_them() {
    let checked = moe_ffn(&Layer::SMALL);
    let whole = schedule(&checked, Cores::ASCEND_A3);
    let [gate, down] = [1, 4].map(PhaseId);
    let [recv, out] = [0, 5].map(|number| &checked.dependencies()[number]);
    let mut signals = whole.clone();
    signals.phases[down].signals.push(Signal { remote: false, ..recv.signal });
    assert!(cycles(&checked, &signals), "the down projection signals what the gate projection awaits");
    let mut waits = whole.clone();
    waits.phases[gate].waits.push(out.wait.clone());
    assert!(cycles(&checked, &waits), "the gate projection awaits what the down projection signals");
    let mut sends = whole.clone();
    sends.phases[PhaseId(0)].waits.push(out.wait.clone());
    let mut found = Vec::new();
    total_order(&checked, &sends, &mut found);
    for violation in found {
        let Violation::Cycle { entries, .. } = violation else { panic!("{violation:?}") };
        assert!(entries.iter().any(|entry| entry.phase == PhaseId(0)), "{entries:?}");
    }
}

#[test]
fn an_expert_before_may_hold_what_is_sent_once() {
    let checked = once(&Layer::TINY);
    let whole = schedule(&checked, Cores::ASCEND_A3);
    let last = 7;
    for (before, expert) in (0..last).flat_map(|before| [(before, before + 1), (before, last)]) {
        let mut schedule = whole.clone();
        let queues = &mut schedule.orders[0].queues;
        let parts: Vec<PartId> = queues.ids().collect();
        let sent = Entry { phase: PhaseId(0), expert: before, peer_offset: 0 };
        let copied = Entry { phase: PhaseId(1), expert, peer_offset: 0 };
        for part in parts {
            let queue = &mut queues[part];
            queue.retain(|entry| *entry != sent);
            if queue.contains(&copied) {
                queue.retain(|entry| *entry != copied);
                queue.splice(..0, [copied, sent]);
            }
        }
        assert!(cycles(&checked, &schedule), "{copied:?} before {sent:?}");
    }
}

#[test]
fn what_is_sent_once_for_later_experts_is_not_waited_for() {
    let checked = once(&Layer::TINY);
    let whole = schedule(&checked, Cores::ASCEND_A3);
    let [send, copy, gate] =
        [0, 1, 2].map(|phase| move |expert| Entry { phase: PhaseId(phase), expert, peer_offset: 0 });
    let moved = |sent: Entry, after: Entry| {
        let mut schedule = whole.clone();
        let queues = &mut schedule.orders[0].queues;
        queues.ids().collect::<Vec<_>>().into_iter().for_each(|part| queues[part].retain(|entry| *entry != sent));
        for part in queues.ids().collect::<Vec<_>>() {
            if let Some(place) = queues[part].iter().position(|entry| *entry == after) {
                queues[part].insert(place + 1, sent);
            }
        }
        cycles(&checked, &schedule)
    };
    let last = 7;
    for (sent, copied) in [(0, 0), (0, 1), (1, 2), (1, 0), (2, 1), (last, 0), (last - 1, last)] {
        assert_eq!(moved(send(sent), copy(copied)), sent <= copied, "{sent} after {copied}");
    }
    assert!(!moved(send(last), gate(0)));
}

#[test]
fn experts_may_run_in_any_order() {
    let checked = moe_ffn(&Layer::SMALL);
    let mut schedule = schedule(&checked, Cores::ASCEND_A3);
    let queues = &mut schedule.orders[0].queues;
    for part in queues.ids().collect::<Vec<_>>() {
        queues[part].sort_by_key(|entry| (entry.phase == PhaseId(6), std::cmp::Reverse(entry.expert), entry.phase));
    }
    assert!(!cycles(&checked, &schedule));
}

#[test]
fn words_alone_free_memory() {
    let whole = chunked(&Layer::TINY, 4);
    let mut checked = CheckedGraph::for_tests(whole.graph().clone(), whole.counters().clone(), Vec::new());
    *checked.reuse_mut() = whole.reuse().cloned();
    let mut schedule = schedule(&whole, Cores::ASCEND_A3);
    for phase in schedule.phases.ids() {
        schedule.phases[phase].waits.clear();
        schedule.phases[phase].signals.clear();
    }
    // The activation of the first chunk comes after the squares of the last one; nothing requires that it comes before.
    let activation = Entry { phase: PhaseId(4), expert: 0, peer_offset: 0 };
    let queues = &mut schedule.orders[0].queues;
    for part in queues.ids().collect::<Vec<_>>() {
        if queues[part].contains(&activation) {
            assert!(queues[part].iter().any(|entry| entry.phase == PhaseId(0)), "a core makes both");
            queues[part].retain(|entry| *entry != activation);
            queues[part].push(activation);
        }
    }
    assert!(!cycles(&checked, &schedule));
}

#[test]
fn a_route_without_a_place_in_each_queue_is_for_others_to_find() {
    let checked = routed(&Layer::SMALL);
    let mut schedule = schedule(&checked, Cores::ASCEND_A3);
    assert!(!cycles(&checked, &schedule));
    schedule.orders[0].routed_at = Some([0, 0].into_iter().collect());
    assert!(!cycles(&checked, &schedule));
}

#[test]
fn a_word_of_the_chunk_before_the_last_is_awaited() {
    let checked = chunked(&Layer::TINY, 3);
    let word = Entry { phase: checked.reuse().unwrap().frees, expert: 0, peer_offset: 0 };
    let mut schedule = schedule(&checked, Cores::ASCEND_A3);
    let queues = &mut schedule.orders[0].queues;
    let last = Entry { phase: PhaseId(0), expert: 2, peer_offset: 0 };
    for part in queues.ids().collect::<Vec<_>>() {
        let has = queues[part].contains(&last);
        queues[part].retain(|entry| *entry != word);
        if has {
            let place = queues[part].iter().position(|entry| *entry == last).unwrap();
            queues[part].insert(place + 1, word);
        }
    }
    assert!(cycles(&checked, &schedule), "the last of three chunks takes the memory of the first");
}

#[test]
fn a_word_that_comes_after_what_waits_for_it_is_a_cycle() {
    let checked = chunked(&Layer::TINY, 5);
    let whole = schedule(&checked, Cores::ASCEND_A3);
    assert!(!cycles(&checked, &whole));
    // For each chunk whose memory a later one reuses.
    for chunk in 0..3 {
        let word = Entry { phase: checked.reuse().unwrap().frees, expert: chunk, peer_offset: 0 };
        let squares = Entry { phase: PhaseId(0), expert: chunk + 2, peer_offset: 0 };
        let mut schedule = whole.clone();
        let queues = &mut schedule.orders[0].queues;
        let parts: Vec<PartId> = queues.ids().collect();
        for part in parts {
            queues[part].retain(|entry| *entry != word);
            if let Some(place) = queues[part].iter().position(|entry| *entry == squares) {
                queues[part].insert(place + 1, word);
            }
        }
        assert!(cycles(&checked, &schedule), "chunk {chunk}");
    }
}

#[test]
fn entries_that_are_walked_together_are_one() {
    let checked = moe_ffn(&Layer::SMALL);
    let down = PhaseId(4);
    let mut schedule = schedule(&checked, Cores::ASCEND_A3);
    assert!(!cycles(&checked, &schedule));
    // The down projection needs the results of the entry that it would be a part of.
    schedule.phases[down].joins_previous = true;
    let queue = &mut schedule.orders[0].queues[PartId::new(0)];
    let first = queue.iter().position(|entry| entry.phase == down).unwrap();
    let entry = queue.remove(first);
    queue.insert(2, entry);
    assert!(cycles(&checked, &schedule));
    schedule.phases[down].joins_previous = false;
    assert!(!cycles(&checked, &schedule));
}

#[test]
fn the_only_entry_before_the_tables_comes_before_them() {
    let checked = routed(&Layer::SMALL);
    let kernel = schedule(&checked, Cores::ASCEND_A3);
    let mut seen = 0;
    for (at, order) in kernel.orders.iter().enumerate() {
        // The first activation needs results of rows, and rows are sent only after the tables are made.
        let activates = |part: &PartId| order.queues[*part].first().is_some_and(|entry| entry.phase == PhaseId(3));
        for part in order.queues.ids().filter(activates) {
            let mut early = kernel.clone();
            assert!(!cycles(&checked, &early));
            early.orders[at].routed_at.as_mut().unwrap()[part] = 1;
            assert!(cycles(&checked, &early), "{} ranks", order.ranks);
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn the_last_of_several_entries_before_the_tables_comes_before_them() {
    let checked = router(&Layer::SMALL);
    let kernel = schedule(&checked, Cores::ASCEND_A3);
    let made = checked.graph().route.as_ref().unwrap();
    let mut seen = 0;
    for (at, order) in kernel.orders.iter().enumerate() {
        for (part, queue) in order.queues.iter().filter(|(part, _)| order.parts[*part].kind == CoreKind::Aiv) {
            let routed_at = order.routed_at.as_ref().unwrap()[part] as usize;
            // An entry over tokens, and one that needs results of rows.
            let activation = |entry: &Entry| !made.follows(entry.phase) && entry.phase == PhaseId(6);
            let Some(place) = queue.iter().position(activation).filter(|_| routed_at > 0) else { continue };
            let mut late = kernel.clone();
            let queue = &mut late.orders[at].queues[part];
            let entry = queue.remove(place);
            queue.insert(routed_at, entry);
            assert!(!cycles(&checked, &late));
            late.orders[at].routed_at.as_mut().unwrap()[part] += 1;
            assert!(cycles(&checked, &late), "{} ranks", order.ranks);
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn tables_wait_for_ids_whatever_the_number_of_ranks() {
    let checked = router(&Layer::SMALL);
    let kernel = schedule(&checked, Cores::ASCEND_A3);
    assert!(!cycles(&checked, &kernel));
    for (at, order) in kernel.orders.iter().enumerate() {
        // Each core would make tables from ids that it writes afterwards.
        let mut early = kernel.clone();
        early.orders[at].routed_at = Some(order.queues.ids().map(|_| 0).collect());
        assert!(cycles(&checked, &early), "{} ranks", order.ranks);
    }
}

#[test]
fn matrix_cores_may_have_any_entry_before_they_wait_for_the_tables() {
    // A product of rows waits for these rows by itself, and the tables don't wait for matrix cores.
    let found = broken_of(&routed(&Layer::SMALL), total_order, |schedule| {
        for order in &mut schedule.orders {
            for (part, queue) in order.queues.iter().filter(|(part, _)| order.parts[*part].kind == CoreKind::Aic) {
                order.routed_at.as_mut().unwrap()[part] = queue.len() as u32;
            }
        }
    });
    assert_eq!(found, []);
}

#[test]
fn a_queue_without_entries_waits_for_no_tables() {
    let found = broken_of(&router(&Layer::SMALL), total_order, |schedule| {
        for order in &mut schedule.orders {
            let (_, last) = order.parts.iter().last().unwrap();
            let empty = last.clone();
            order.parts.push(empty);
            order.queues.push(Vec::new());
            order.routed_at.as_mut().unwrap().push(0);
        }
    });
    assert_eq!(found, []);
}
