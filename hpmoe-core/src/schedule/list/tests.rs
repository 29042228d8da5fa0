use super::*;
use crate::analyze::Dependency;
use crate::fixture::{Layer, chunked, circular, moe_backward, moe_ffn, router};
use crate::ids::Id;
use crate::schedule::arrival::by_arrival;
use crate::schedule::roles::roles;
use crate::schedule::{Cores, schedule, schedule_with, timeline};
use crate::target::Target;
use crate::validate::{Violation, validate};

fn queue(layer: &Layer, ranks: u32, role: usize) -> Vec<(u32, u32, u32)> {
    let together = Choices::read("peer_cores=shared return_cores=sending experts_ahead=1").unwrap();
    let schedule = schedule_with(&moe_ffn(layer), &Target::ascend_a3(), &together);
    let order = schedule.orders.iter().find(|order| order.ranks == ranks).unwrap();
    let queue = order.queues[PartId::new(role)].iter();
    queue.map(|entry| (entry.phase.0, entry.expert, entry.peer_offset)).collect()
}

#[test]
fn gate_and_up_of_an_expert_stay_together() {
    let matrix = queue(&Layer::DEEPSEEK, 8, 0);
    assert_eq!(matrix.len(), 24);
    for expert in 0..8 {
        let gate = matrix.iter().position(|&entry| entry == (1, expert, 0)).unwrap();
        assert_eq!(matrix[gate + 1], (2, expert, 0));
    }
    let order: Vec<_> = matrix.iter().filter(|entry| entry.0 != 2).map(|entry| (entry.0, entry.1)).collect();
    assert_eq!(order[..6], [(1, 0), (1, 1), (4, 0), (1, 2), (4, 1), (1, 3)], "one expert ahead");
}

/// The matrix cores keep their order: the first product of the next expert waits for rows in transit, not for a vector core.
#[test]
fn matrix_cores_keep_their_order_whatever_is_ready() {
    let schedule = schedule(&moe_ffn(&Layer::DEEPSEEK), Cores::ASCEND_A3);
    let matrix = &schedule.order(8).unwrap().queues[PartId::new(0)];
    let order: Vec<_> = matrix.iter().map(|entry| (entry.phase.0, entry.expert)).collect();
    assert_eq!(order[..6], [(1, 0), (2, 0), (4, 0), (1, 1), (2, 1), (4, 1)]);
}

#[test]
fn sends_serve_one_expert_after_another_own_rank_first() {
    let communication = queue(&Layer::DEEPSEEK, 8, 1);
    let sends: Vec<_> = communication.iter().filter(|entry| entry.0 == 0).collect();
    let by_expert = (0..8).flat_map(|expert| [0, 7, 6, 5, 4, 3, 2, 1].map(|peer| (0, expert, peer)));
    assert!(sends.into_iter().copied().eq(by_expert));
    assert_eq!(communication.len(), 128);
}

#[test]
fn the_sum_comes_last() {
    let vector = queue(&Layer::DEEPSEEK, 8, 2);
    assert_eq!(vector[8], (6, 0, 0));
}

#[test]
fn what_cannot_be_ordered_is_still_scheduled_and_then_refused() {
    let checked = circular(&Layer::SMALL);
    let schedule = schedule(&checked, Cores::ASCEND_A3);
    let bars: usize =
        timeline(&checked, &schedule, &Target::ascend_a3(), 4).unwrap().lanes.iter().map(|(_, lane)| lane.len()).sum();
    let entries: usize = schedule.orders[2].queues.iter().map(|(_, queue)| queue.len()).sum();
    assert_eq!(entries, 49);
    assert!(bars < entries, "a replay stops where entries wait for one another");
    let found = validate(&checked, schedule).unwrap_err();
    let text: String = found.iter().map(|violation| violation.text(&checked) + "\n").collect();
    assert!(found.iter().all(|violation| matches!(violation, Violation::Cycle { .. })), "{text}");
    assert!(text.contains("swiglu (phase 3) of expert") && text.contains("project (phase 4)"), "{text}");
}

#[test]
fn rows_are_sent_before_results_go_back_unless_they_wait_for_memory() {
    let urgency = |class: EntryClass, expert: u32, priority: u64| {
        class.urgency(Entry { phase: PhaseId::new(0), expert, peer_offset: 0 }, Nanos(priority), 8, 1)
    };
    for expert in 0..8 {
        let back = urgency(EntryClass::PutsBack, expert, 1);
        assert!((0..8).all(|sent| back < urgency(EntryClass::Sends, sent, 0)), "expert {expert}");
        assert!((0..8).all(|sent| back > urgency(EntryClass::SendsLater, sent, 2)), "expert {expert}");
        assert!((0..8).all(|other| back > urgency(EntryClass::Computes(0), other, 2)), "expert {expert}");
    }
}

#[test]
fn ranks_are_served_from_the_own_one_on_and_experts_in_rounds() {
    let entry = |expert, peer_offset| Entry { phase: PhaseId::new(0), expert, peer_offset };
    let by_urgency = |class: EntryClass| {
        let mut peers: Vec<u32> = (0..8).collect();
        peers.sort_by_key(|&peer| Reverse(class.urgency(entry(3, peer), Nanos(7), 8, 2)));
        peers
    };
    assert_eq!(by_urgency(EntryClass::Sends), [0, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(by_urgency(EntryClass::PutsBack), [1, 2, 3, 4, 5, 6, 7, 0]);
    assert_eq!(by_urgency(EntryClass::Computes(0)), [0, 1, 2, 3, 4, 5, 6, 7]);
    // Work that has returned to its role is as urgent as the first work of an expert `ahead` experts later.
    let round = |class: EntryClass, expert: u32, ahead: u32| class.urgency(entry(expert, 0), Nanos(7), 8, ahead).1;
    for (changes, back) in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2)] {
        assert_eq!(round(EntryClass::Computes(changes), 3, 5), Reverse(3 + 5 * back));
    }
    assert_eq!([round(EntryClass::Sends, 3, 5), round(EntryClass::PutsBack, 3, 5)], [Reverse(3), Reverse(0)]);
}

#[test]
fn results_go_first_if_rows_wait_for_the_memory_of_chunks() {
    let later = |checked: &CheckedGraph| {
        let role_of = schedule(checked, Cores::ASCEND_A3).phases.iter().map(|(_, phase)| phase.role).collect();
        classes(checked, &role_of).iter().any(|(_, class)| matches!(class, EntryClass::SendsLater))
    };
    // Two chunks have memory of their own.
    let in_chunks = |chunks: usize| chunked(&Layer::SMALL, chunks);
    assert_eq!([later(&moe_ffn(&Layer::SMALL)), later(&in_chunks(2)), later(&in_chunks(3))], [false, false, true]);
}

#[test]
fn work_has_changed_roles_as_often_as_on_the_longest_way() {
    let layer = moe_ffn(&Layer::SMALL);
    let [dispatch, down] = [0, 4].map(PhaseId::new);
    // A down projection that also reads sent rows.
    let mut dependencies = layer.dependencies().to_vec();
    let sent = dependencies.iter().find(|d| d.before == dispatch).unwrap().clone();
    dependencies.push(Dependency { after: down, ..sent.clone() });
    // A phase that depends on itself does not change roles.
    dependencies.push(Dependency { before: down, after: down, ..sent });
    let both = CheckedGraph::for_tests(layer.graph().clone(), layer.counters().clone(), dependencies);
    let role_of = schedule(&layer, Cores::ASCEND_A3).phases.iter().map(|(_, phase)| phase.role).collect();
    let changes_of = |checked: &CheckedGraph, phase: PhaseId| match classes(checked, &role_of)[phase] {
        EntryClass::Computes(changes) => changes,
        _ => panic!("it computes"),
    };
    let changes = |checked: &CheckedGraph| changes_of(checked, down);
    assert_eq!([changes(&layer), changes(&both)], [2, 2]);
    // A phase without dependencies has had no change of roles.
    let mut alone = layer.clone();
    alone.dependencies_mut().retain(|d| d.after != down);
    assert_eq!(changes(&alone), 0);
}

/// The queues of a list scheduler without heaps: whenever a part can begin an entry, it looks at all entries.
fn one_by_one(checked: &CheckedGraph, choices: &Choices, ranks: u32) -> [Arena<PartId, Vec<Entry>>; 2] {
    let graph = checked.graph();
    let costs = EntryCosts::new(graph, &Target::ascend_a3());
    let (roles, role_of) = roles(graph, &costs, Cores::ASCEND_A3, choices);
    let groups = Groups::new(graph, ranks);
    let precedence = Precedence::new(checked, &groups, ranks, Some(&role_of));
    let entries: Vec<Entry> = groups.all().collect();
    let parts = Parts::new(graph, &roles, &role_of, ranks, choices);
    let part_of = |number: usize| parts.part_of(entries[number]);
    let time = |&entry: &Entry| costs.entry_time(graph, &parts.parts[parts.part_of(entry)], ranks, entry.phase);
    let times: Vec<Nanos> = entries.iter().map(time).collect();
    let priorities = priorities(checked, &groups, &precedence, &role_of, &times, costs.visible);
    let (ahead, classes) = (ahead(graph, &costs, choices, ranks, 24), classes(checked, &role_of));
    let urgency =
        |number: usize| classes[entries[number].phase].urgency(entries[number], priorities[number], ranks, ahead);
    let is_matrix = |part: PartId| parts.parts[part].kind == CoreKind::Aic;
    let of_matrix = |number: usize| Some(part_of(number)).filter(|&part| is_matrix(part));
    let mut sequences = sequences(&precedence, parts.parts.ids(), of_matrix, urgency);

    let mut before: Vec<Vec<usize>> = vec![Vec::new(); precedence.len()];
    (0..precedence.len()).for_each(|node| precedence.successors(node).for_each(|next| before[next].push(node)));
    let mut ends: Vec<Option<Nanos>> = vec![None; entries.len()];
    let mut free: Arena<PartId, Nanos> = parts.parts.ids().map(|_| Nanos(0)).collect();
    let mut queues: Arena<PartId, Vec<Entry>> = parts.parts.ids().map(|_| Vec::new()).collect();
    loop {
        let ready = |number: usize| when(&before, &ends, (number, precedence.first_order), costs.visible);
        let left: Vec<(usize, Nanos)> = (0..entries.len())
            .filter(|&number| ends[number].is_none())
            .filter_map(|number| Some((number, ready(number)?)))
            .filter(|&(number, _)| !is_matrix(part_of(number)) || sequences[part_of(number)].front() == Some(&number))
            .collect();
        let starts = left.iter().map(|&(number, ready)| (ready.max(free[part_of(number)]), part_of(number)));
        let Some((start, part)) = starts.min() else { break };
        let can = left.iter().filter(|&&(number, ready)| part_of(number) == part && ready <= start);
        let &(number, _) = can.max_by_key(|(number, _)| (urgency(*number), *number)).unwrap();
        if is_matrix(part) {
            sequences[part].pop_front();
        }
        queues[part].push(entries[number]);
        ends[number] = Some(start + times[number]);
        free[part] = start + costs.entry_share(graph, &parts.parts[part], ranks, entries[number].phase);
    }
    parts.parts.ids().for_each(|part| ids_first(checked, &mut queues[part]));
    [queues, list(checked, &costs, choices, &roles, &role_of, (ranks, &by_arrival(checked))).queues]
}

/// The time at which all predecessors of a node are done (and visible, if they produce data); `None` if one of them is not done.
fn when(
    before: &[Vec<usize>],
    ends: &[Option<Nanos>],
    (node, first_order): (usize, usize),
    visible: Nanos,
) -> Option<Nanos> {
    let done = |&earlier: &usize| match ends.get(earlier) {
        Some(end) => end.map(|end| if node < first_order { end + visible } else { end }),
        None => when(before, ends, (earlier, first_order), visible),
    };
    before[node].iter().map(done).try_fold(Nanos(0), |latest, done| Some(latest.max(done?)))
}

#[test]
fn each_entry_is_the_most_urgent_one_when_its_part_can_begin_one() {
    let layer = Layer { tokens: 64, ..Layer::SMALL };
    for (checked, ranks) in [
        (moe_ffn(&layer), 4),
        (moe_ffn(&Layer { experts: 8, put: 8, ..Layer::DEEPSEEK }), 2),
        (moe_backward(&layer), 4),
        (chunked(&layer, 4), 2),
        (router(&layer), 2),
    ] {
        for choices in ["", "peer_cores=20 dedicate_from=1", "experts_ahead=2"] {
            let [wanted, found] = one_by_one(&checked, &Choices::read(choices).unwrap(), ranks);
            assert_eq!(found, wanted, "{choices}");
        }
    }
}
