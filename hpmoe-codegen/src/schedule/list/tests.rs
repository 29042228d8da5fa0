use super::*;
use crate::schedule::{Cores, schedule, schedule_with, timeline};
use crate::target::Target;
use crate::validate::{Violation, validate};
use hpmoe_language::analyze::Dependency;
use hpmoe_language::fixture::{Layer, circular, moe_ffn};
use hpmoe_language::ids::Id;

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

/// The first product of the next expert waits for rows that are still on their way, and not for a vector core.
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
fn what_is_put_back_goes_before_what_less_work_waits_for() {
    let entry = |expert| Entry { phase: PhaseId::new(0), expert, peer_offset: 0 };
    for expert in 0..8 {
        let back = EntryClass::PutsBack.urgency(entry(expert), Nanos(1), (8, 1));
        assert!((0..8).all(|sent| back > EntryClass::Sends.urgency(entry(sent), Nanos(0), (8, 1))), "expert {expert}");
    }
}

#[test]
fn work_has_changed_roles_as_often_as_on_the_longest_way() {
    let layer = moe_ffn(&Layer::SMALL);
    let [dispatch, down] = [0, 4].map(PhaseId::new);
    // The down projection would also read what is sent.
    let mut dependencies = layer.dependencies().to_vec();
    let sent = dependencies.iter().find(|d| d.before == dispatch).unwrap().clone();
    dependencies.push(Dependency { after: down, ..sent });
    let both = CheckedGraph::for_tests(layer.graph().clone(), layer.counters().clone(), dependencies);
    let role_of = schedule(&layer, Cores::ASCEND_A3).phases.iter().map(|(_, phase)| phase.role).collect();
    let changes = |checked: &CheckedGraph| match classes(checked, &role_of)[down] {
        EntryClass::Computes(changes) => changes,
        _ => panic!("a product computes"),
    };
    assert_eq!([changes(&layer), changes(&both)], [2, 2]);
}
