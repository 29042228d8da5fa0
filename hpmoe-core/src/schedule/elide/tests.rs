//! The waits and signals that are left out, and those that are kept.

use super::*;
use crate::analyze::Index;
use crate::fixture::{Layer, activated_again, chunked, gated, moe_ffn};
use crate::graph::{Columns, TaskGraph};
use crate::schedule::{Cores, Schedule, schedule};

#[test]
fn one_of_two_producers_speaks_and_one_of_two_consumers_waits() {
    let checked = moe_ffn(&Layer::DEEPSEEK);
    let schedule = schedule(&checked, Cores::ASCEND_A3);
    let [dispatch, gate, up, swiglu, down, back, sum] = [0, 1, 2, 3, 4, 5, 6].map(PhaseId);
    // Dependencies: recv to gate, recv to up, g to swiglu, u to swiglu, h to down, out to back, back to sum, and the
    // (token, k) next to recv to back.
    assert_eq!(
        schedule.elided,
        [
            Elision { dependency: 1, implied: Implied::AlreadyAwaited { by: gate } },
            Elision { dependency: 2, implied: Implied::QueueOrder { earlier: gate, later: up } },
            Elision { dependency: 7, implied: Implied::Path(vec![dispatch, up, swiglu, down, back]) },
        ]
    );
    let counts = |phase: PhaseId| (schedule.phases[phase].waits.len(), schedule.phases[phase].signals.len());
    assert_eq!(
        [dispatch, gate, up, swiglu, down, back, sum].map(counts),
        [(0, 1), (1, 0), (0, 1), (1, 1), (1, 1), (1, 1), (1, 0)]
    );
}

#[test]
fn a_core_finds_only_what_it_made_itself_in_another_vector_task() {
    let checked = activated_again(&Layer::SMALL, true);
    let [swiglu, again] = [3, 4].map(PhaseId);
    let by_itself = checked.dependencies().iter().find(|d| (d.before, d.after) == (swiglu, again)).unwrap();
    let finds = |change: &dyn Fn(&mut TaskGraph)| {
        let checked = checked.changed(change);
        changes_task(&checked, by_itself) && same_part(&checked, by_itself)
    };
    assert!(finds(&|_| ()));
    // What the task reads of other tensors doesn't matter.
    assert!(finds(&|graph| {
        let other = graph.tensors.ids().find(|&id| id != by_itself.tensor).unwrap();
        let read = *graph.phases[again].accesses.iter().find(|access| access.tensor == by_itself.tensor).unwrap();
        let region = crate::graph::Region { columns: Columns::All, ..read.region };
        graph.phases[again].accesses.push(crate::graph::Access { tensor: other, region, ..read });
    }));
    let product = checked.graph().phases[PhaseId(1)].task;
    for phase in [swiglu, again] {
        assert!(!finds(&|graph| graph.phases[phase].task = product));
    }
    assert!(!finds(&|graph| graph.phases[again].task = graph.phases[swiglu].task));
    let place = |phase: PhaseId, write: bool| {
        let accesses = &checked.graph().phases[phase].accesses;
        accesses.iter().position(|access| access.tensor == by_itself.tensor && access.write == write).unwrap()
    };
    let (made, read) = (place(swiglu, true), place(again, false));
    assert!(!finds(&|graph| graph.phases[swiglu].accesses[made].write = false));
    assert!(!finds(&|graph| graph.phases[swiglu].accesses[made].remote = true));
    assert!(!finds(&|graph| graph.phases[swiglu].accesses[made].region.columns = Columns::All));
    assert!(!finds(&|graph| graph.phases[again].accesses[read].remote = true));
    let mut more = checked.graph().phases[again].accesses[read];
    more.region.columns = Columns::All;
    assert!(!finds(&|graph| graph.phases[again].accesses.push(more)));
    // The producer may write more than the consumer reads.
    more.write = true;
    assert!(finds(&|graph| graph.phases[swiglu].accesses.push(more)));
}

#[test]
fn a_producer_speaks_for_another_only_at_the_same_counters() {
    let checked = moe_ffn(&Layer::SMALL);
    let whole = schedule(&checked, Cores::ASCEND_A3);
    let [recv, of_gate, of_up] = [0, 2, 3].map(|number| &checked.dependencies()[number]);
    // Once the real order of a schedule, and once an order in which only these phases are known to follow one another.
    let orders = [
        Before::new(&checked, &whole.phases, &[(&checked, whole.orders.clone())]),
        on_one_core(&checked, &[(of_gate.before, of_up.before)]),
    ];
    for before in orders {
        let speaks = |change: &dyn Fn(&mut Dependency)| {
            let mut other = of_up.clone();
            change(&mut other);
            speaks_for(&checked, &before, &other, of_gate)
        };
        assert!(speaks(&|_| ()) && !speaks_for(&checked, &before, of_gate, of_up));
        assert!(!speaks(&|other| other.signal.counter = of_gate.signal.counter));
        assert!(!speaks(&|other| other.signal.counter = recv.signal.counter));
        assert!(!speaks(&|other| other.signal.index = Index::RowTile));
        assert!(!speaks(&|other| other.signal.remote = true));
        assert!(!speaks(&|other| other.wait.index = Index::RowTile));
    }
}

#[test]
fn phases_follow_one_another_in_every_queue_for_the_same_cores() {
    let checked = moe_ffn(&Layer::SMALL);
    let whole = schedule(&checked, Cores::ASCEND_A3);
    let pairs = |change: &dyn Fn(&mut Schedule)| {
        let mut schedule = whole.clone();
        change(&mut schedule);
        let before = Before::new(&checked, &schedule.phases, &[(&checked, schedule.orders.clone())]);
        let pairs = before.after.iter().flat_map(|(a, after)| after.iter().map(move |b| (a, b)));
        pairs.collect::<Vec<(PhaseId, PhaseId)>>()
    };
    let [gate, up] = [1, 2].map(PhaseId);
    assert_eq!(pairs(&|_| ()), [(gate, up)]);
    assert!(pairs(&|schedule| schedule.phases[up].band += 1).is_empty());
    // In any order, the last entries are swapped, or one is moved to another queue.
    let place = |order: &Order, phase| {
        let queue = &order.queues[PartId(0)];
        queue.iter().rposition(|entry| entry.phase == phase).unwrap()
    };
    let turned_round = |order: &mut Order| {
        let (gate, up) = (place(order, gate), place(order, up));
        order.queues[PartId(0)].swap(gate, up);
    };
    let elsewhere = |order: &mut Order| {
        let up = place(order, up);
        let entry = order.queues[PartId(0)].remove(up);
        order.queues[PartId(1)].push(entry);
    };
    for at in 0..whole.orders.len() {
        assert!(pairs(&|schedule| turned_round(&mut schedule.orders[at])).is_empty());
        assert!(pairs(&|schedule| elsewhere(&mut schedule.orders[at])).is_empty());
    }
}

#[test]
fn phases_follow_one_another_in_launches_of_every_number_of_chunks() {
    let checked = chunked(&Layer::TINY, 1);
    let more = chunked(&Layer::TINY, 4);
    let phases = schedule(&checked, Cores::ASCEND_A3).phases;
    let orders = [&checked, &more].map(|checked| schedule(checked, Cores::ASCEND_A3).orders);
    let pairs = |orders: &[Vec<Order>; 2]| {
        let [one, four] = orders.clone();
        let before = Before::new(&checked, &phases, &[(&checked, one), (&more, four)]);
        before.after.iter().flat_map(|(a, after)| after.iter().map(move |b| (a, b))).collect::<Vec<_>>()
    };
    let [(gate, up)] = pairs(&orders)[..] else { panic!("{:?}", pairs(&orders)) };
    // In one launch, the entries of the last chunk are swapped.
    for launch in 0..2 {
        let mut turned = orders.clone();
        let queue = &mut turned[launch][0].queues[PartId(0)];
        let [gate, up] = [gate, up].map(|phase| queue.iter().rposition(|entry| entry.phase == phase).unwrap());
        queue.swap(gate, up);
        assert_eq!(pairs(&turned), []);
    }
}

#[test]
fn tiles_of_other_ranges_are_others_however_many_they_are() {
    let checked = moe_ffn(&Layer::SMALL);
    let [gate, up] = [1, 2].map(PhaseId);
    let phases = schedule(&checked, Cores::ASCEND_A3).phases;
    let alike = |ranges: [&[u32]; 2]| {
        let mut graph = checked.graph().clone();
        (graph.phases[gate].ranges, graph.phases[up].ranges) = (ranges[0].to_vec(), ranges[1].to_vec());
        same_tiles(&graph, &phases, [gate, up])
    };
    assert!(alike([&[6], &[6]]) && alike([&[2, 3], &[2, 3]]));
    assert!(!alike([&[2, 3], &[3, 2]]) && !alike([&[6], &[2, 3]]) && !alike([&[6], &[6, 1]]));
}

#[test]
fn what_a_core_made_in_another_task_needs_no_counter() {
    let [swiglu, again] = [3, 4].map(PhaseId);
    let between = |another| {
        let checked = activated_again(&Layer::SMALL, another);
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        let elided = schedule.elided.iter().filter(|elision| elision.implied == Implied::SameCore).count();
        // The second task waits for the products that both read.
        (elided, schedule.phases[swiglu].signals.len(), schedule.phases[again].waits.len())
    };
    assert_eq!(between(true), (1, 0, 0));
    assert_eq!(between(false), (0, 1, 1));
}

#[test]
fn a_path_needs_no_wait_of_its_own() {
    let checked = gated(&Layer::SMALL);
    let schedule = schedule(&checked, Cores::ASCEND_A3);
    let path = schedule.elided.iter().filter(|e| matches!(e.implied, Implied::Path(_)));
    assert_eq!(path.count(), 2);
}

#[test]
fn of_several_producers_on_a_core_the_last_one_speaks_for_all() {
    let layer = moe_ffn(&Layer::SMALL);
    let [first, second, third, consumer] = [1, 2, 0, 3].map(PhaseId);
    let of_gate = layer.dependencies()[2].clone();
    assert_eq!((of_gate.before, of_gate.after), (first, consumer));
    let mut counters = layer.counters().clone();
    let of = |before: PhaseId, counters: &mut Arena<CounterId, crate::analyze::Counter>| {
        let counter = counters.push(counters[of_gate.signal.counter]);
        let (signal, wait) = (Signal { counter, ..of_gate.signal }, Wait { counter, ..of_gate.wait.clone() });
        Dependency { before, signal, wait, ..of_gate.clone() }
    };
    let all = [first, second, third].map(|before| of(before, &mut counters));
    let after = |phase: PhaseId| match phase {
        phase if phase == first => [second, third].into_iter().collect(),
        phase if phase == second => [third].into_iter().collect(),
        _ => IdSet::new(),
    };
    let before = Before { after: layer.graph().phases.ids().map(after).collect() };
    // The result doesn't depend on the order of the dependencies.
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let dependencies = order.map(|number| all[number].clone());
        let checked = CheckedGraph::for_tests(layer.graph().clone(), counters.clone(), dependencies.to_vec());
        let mut implied = vec![None; 3];
        queue_order(&checked, &before, &mut implied);
        for (dependency, implied) in dependencies.iter().zip(implied) {
            let earlier = dependency.before;
            let wanted = (earlier != third).then_some(Implied::QueueOrder { earlier, later: third });
            assert_eq!(implied, wanted);
        }
        // If the signal of a phase is left out for another reason, the phase implies no other.
        let path = || Implied::Path(vec![third, consumer]);
        let mut implied = dependencies.each_ref().map(|d| (d.before == third).then(path));
        queue_order(&checked, &before, &mut implied);
        for (dependency, implied) in dependencies.iter().zip(implied) {
            let wanted = match dependency.before {
                phase if phase == first => Some(Implied::QueueOrder { earlier: first, later: second }),
                phase if phase == third => Some(path()),
                _ => None,
            };
            assert_eq!(implied, wanted);
        }
    }
}

#[test]
fn of_several_consumers_on_a_core_the_first_one_waits_for_all() {
    let layer = moe_ffn(&Layer::SMALL);
    let [first, second, third] = [1, 2, 3].map(PhaseId);
    let all = [first, second, third].map(|after| Dependency { after, ..layer.dependencies()[0].clone() });
    let after = |phase: PhaseId| match phase {
        phase if phase == first => [second, third].into_iter().collect(),
        phase if phase == second => [third].into_iter().collect(),
        _ => IdSet::new(),
    };
    let before = Before { after: layer.graph().phases.ids().map(after).collect() };
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let dependencies = order.map(|number| all[number].clone());
        let checked = CheckedGraph::for_tests(layer.graph().clone(), layer.counters().clone(), dependencies.to_vec());
        let mut implied = vec![None; 3];
        already_awaited(&checked, &before, &mut implied);
        for (dependency, implied) in dependencies.iter().zip(implied) {
            let wanted = (dependency.after != first).then_some(Implied::AlreadyAwaited { by: first });
            assert_eq!(implied, wanted);
        }
        // If the wait of a phase is left out for another reason, the phase has not waited.
        let mut implied = dependencies.each_ref().map(|d| (d.after == first).then_some(Implied::SameCore));
        already_awaited(&checked, &before, &mut implied);
        for (dependency, implied) in dependencies.iter().zip(implied) {
            let wanted = match dependency.after {
                phase if phase == first => Some(Implied::SameCore),
                phase if phase == third => Some(Implied::AlreadyAwaited { by: second }),
                _ => None,
            };
            assert_eq!(implied, wanted);
        }
    }
}

#[test]
fn what_a_path_implies_is_not_told_again() {
    let checked = activated_again(&Layer::SMALL, true);
    let made = schedule(&checked, Cores::ASCEND_A3);
    let before = Before::new(&checked, &made.phases, &[(&checked, made.orders.clone())]);
    let mut implied = vec![None; checked.dependencies().len()];
    same_core(&checked, &before, &mut implied);
    let own = implied.iter().position(Option::is_some).unwrap();
    let path = Some(Implied::Path(Vec::new()));
    implied[own].clone_from(&path);
    same_core(&checked, &before, &mut implied);
    assert_eq!(implied[own], path);
    // Another call with the same wait, on a core that has not made the data, doesn't prevent it.
    let mut both = checked.clone();
    let other = Dependency { after: PhaseId(0), ..checked.dependencies()[own].clone() };
    both.dependencies_mut().push(other);
    let mut implied = vec![None; both.dependencies().len()];
    same_core(&both, &before, &mut implied);
    assert_eq!((&implied[own], implied.last().unwrap()), (&Some(Implied::SameCore), &None));
}

#[test]
fn a_core_waits_unless_it_has_made_all_that_the_wait_stands_for() {
    let checked = activated_again(&Layer::SMALL, true);
    let [swiglu, again] = [3, 4].map(PhaseId);
    let own = checked.dependencies().iter().position(|d| (d.before, d.after) == (swiglu, again)).unwrap();
    let before = on_one_core(&checked, &[(swiglu, again)]);
    let implied = |checked: &CheckedGraph| {
        let mut implied = vec![None; checked.dependencies().len()];
        same_core(checked, &before, &mut implied);
        implied
    };
    assert_eq!(implied(&checked)[own], Some(Implied::SameCore));
    // The data come from another rank.
    let tensor = checked.dependencies()[own].tensor;
    let of_another = checked.changed(|graph| {
        let accesses = graph.phases[again].accesses.iter_mut();
        accesses.filter(|access| access.tensor == tensor).for_each(|access| access.remote = true);
    });
    assert_eq!(implied(&of_another)[own], None);
    // The same wait also stands for data that another core makes.
    let mut more = checked.clone();
    more.dependencies_mut().push(Dependency { before: PhaseId(1), ..checked.dependencies()[own].clone() });
    assert_eq!([own, more.dependencies().len() - 1].map(|number| implied(&more)[number].clone()), [None, None]);
}

/// Pairs of phases in which the second one's tiles are made by the same cores after the first one's.
fn on_one_core(checked: &CheckedGraph, pairs: &[(PhaseId, PhaseId)]) -> Before {
    let after = |phase: PhaseId| pairs.iter().filter(|(first, _)| *first == phase).map(|(_, later)| *later).collect();
    Before { after: checked.graph().phases.ids().map(after).collect() }
}

#[test]
fn a_wait_is_left_out_only_if_all_that_it_stands_for_is_implied() {
    let layer = moe_ffn(&Layer::SMALL);
    let [first, second, last] = [1, 2, 4].map(PhaseId);
    let [of_gate, of_up] = [2, 3].map(|number| layer.dependencies()[number].clone());
    // Two calls write parts of one tensor. A third call, on the same core as both or as one of them, writes the other part.
    let dependencies = [
        Dependency { before: first, ..of_gate.clone() },
        Dependency { before: second, ..of_gate },
        Dependency { before: last, ..of_up },
    ];
    let checked = CheckedGraph::for_tests(layer.graph().clone(), layer.counters().clone(), dependencies.to_vec());
    let implied = |pairs: &[(PhaseId, PhaseId)]| {
        let mut implied = vec![None; 3];
        queue_order(&checked, &on_one_core(&checked, pairs), &mut implied);
        implied.iter().map(Option::is_some).collect::<Vec<bool>>()
    };
    assert_eq!(implied(&[(first, last), (second, last)]), [true, true, false]);
    assert_eq!(implied(&[(first, last)]), [false; 3]);
    assert_eq!(implied(&[(second, last)]), [false; 3]);
}
