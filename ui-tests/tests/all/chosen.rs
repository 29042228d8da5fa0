//! Kernels that choose experts and make the route from their choice: they give the bits of the reference for any
//! choice.

use crate::random::{Case, Routing, cases, config, experts, ids, numbers, seeds, weights};
use crate::small_kernels::chosen::{EXPERTS, HIDDEN, TOKENS, TOP_K, forward, given, told};
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;
use std::time::Duration;

/// A router's matrix, the same on each rank.
fn router(case: &Case) -> PerRank<Matrix<bf16, EXPERTS, HIDDEN>> {
    let number = |at: usize| ((at * 7919 + case.seed as usize % 1000) % 61) as f32 / 128.0 - 0.25;
    let numbers: Vec<bf16> = (0..EXPERTS * HIDDEN).map(|at| bf16::from_f32(number(at))).collect();
    PerRank::from_fn(case.ep(), |_| Matrix::from_slice(&numbers))
}

/// Ids with empty slots last for each token, like in an order by score.
fn ordered_ids(case: &Case) -> PerRank<Tensor<i32, TOP_K>> {
    ids::<TOP_K>(case, EXPERTS).map(|ids| {
        let mut ids = ids.to_vec();
        ids.chunks_mut(TOP_K).for_each(|token| token.sort_by_key(|id| *id < 0));
        Tensor::from_vec(ids)
    })
}

/// Logits for which these ids are the choice, in this order.
fn logits(ids: &PerRank<Tensor<i32, TOP_K>>) -> PerRank<Tensor<f32, EXPERTS>> {
    ids.map(|ids| {
        let ids = ids.to_vec();
        let token = |ids: &[i32]| {
            let mut z = [-1.0; EXPERTS];
            (0..TOP_K).filter(|k| ids[*k] >= 0).for_each(|k| z[ids[k] as usize] = 2.0 - k as f32 / 2.0);
            z
        };
        Tensor::from_vec(ids.chunks(TOP_K).flat_map(token).collect())
    })
}

/// The inputs of all kernels in a case.
struct Given {
    x: PerRank<Tensor<bf16, HIDDEN>>,
    gate: PerRank<Experts<bf16, { crate::small_kernels::chosen::INTER }, HIDDEN>>,
    down: PerRank<Experts<bf16, HIDDEN, { crate::small_kernels::chosen::INTER }>>,
}

impl Given {
    fn new(case: &Case) -> Self {
        Self { x: numbers(case), gate: experts(case, EXPERTS, 1), down: experts(case, EXPERTS, 2) }
    }
}

fn fails(case: &Case, error: LaunchError) -> TestCaseError {
    TestCaseError::fail(format!("{case:?}: {error}"))
}

/// Checks that the kernel that contains its router has the bits of the reference.
fn chooses(case: &Case, group: &Group) -> Result<(), TestCaseError> {
    let (Given { x, gate, down }, router) = (Given::new(case), router(case));
    let (mut y, mut found) = (case.zeros(), case.zeros());
    forward(case.ep(), &x, &router, &gate, &down, &mut y);
    let report = forward::launch(group, &x, &router, &gate, &down, &mut found).map_err(|error| fails(case, error))?;
    prop_assert!(y.iter().eq(found.iter()), "{:?}", case);
    prop_assert_eq!(report.empty_tasks, 0);
    Ok(())
}

proptest! {
    #![proptest_config(config(32))]

    #[test]
    fn a_kernel_chooses_as_its_reference(case in cases(EXPERTS, TOKENS)) {
        chooses(&case, &case.group())?;
    }

    #[test]
    fn a_kernel_tells_what_it_has_chosen(case in cases(EXPERTS, TOKENS)) {
        let Given { x, gate, down } = Given::new(&case);
        let wanted = ordered_ids(&case);
        let z = logits(&wanted);
        let (mut y, mut chosen, mut w) = (case.zeros(), case.zeros(), case.zeros());
        told(case.ep(), &x, &z, &gate, &down, &mut chosen, &mut w, &mut y);
        prop_assert!(chosen.iter().eq(wanted.iter()), "{:?}", case);
        let (mut found, mut found_ids, mut found_w) = (case.zeros(), case.zeros(), case.zeros());
        told::launch(&case.group(), &x, &z, &gate, &down, &mut found_ids, &mut found_w, &mut found)
            .map_err(|error| fails(&case, error))?;
        prop_assert!(found_ids.iter().eq(wanted.iter()) && w.iter().eq(found_w.iter()), "{:?}", case);
        prop_assert!(y.iter().eq(found.iter()), "{:?}", case);
        // The same layer with the caller's ids and weights.
        let mut again = case.zeros();
        given::launch(&case.group(), &wanted, &x, &found_w, &gate, &down, &mut again).map_err(|error| fails(&case, error))?;
        prop_assert!(y.iter().eq(again.iter()), "{:?}", case);
    }
}

#[test]
fn any_order_of_the_pipes_and_a_late_rank_give_the_same_bits() {
    for seed in seeds(50) {
        let ranks = [1, 2, 4, 8][seed as usize % 4];
        let tokens = (0..ranks).map(|rank| [7, TOKENS, 0, 23][(rank + seed as usize) % 4]).collect();
        let case = Case { tokens, routing: Routing::Uniform, seed, late: (ranks > 1).then_some(seed as usize % ranks) };
        chooses(&case, &case.group()).unwrap();
    }
}

#[test]
fn too_little_room_for_what_the_kernel_chooses_is_an_error_on_all_ranks() {
    let case = Case { tokens: vec![30, 12], routing: Routing::Uniform, seed: 5, late: None };
    let Given { x, gate, down } = Given::new(&case);
    let wanted = ids::<TOP_K>(&case, EXPERTS);
    let route = Route::new(case.ep(), EXPERTS, &wanted).unwrap();
    let [rows, other] = [0, 1].map(|rank| route.received(Rank::new(rank)));
    let launch = |group: &Group| {
        let (mut y, mut chosen, mut w) = (case.zeros::<bf16, HIDDEN>(), case.zeros(), case.zeros());
        let z = logits(&wanted);
        let report = told::launch(group, &x, &z, &gate, &down, &mut chosen, &mut w, &mut y);
        // Tasks before the route have run; none after it has.
        assert!(chosen.iter().eq(wanted.iter()));
        let untouched = y.iter().all(|y| y.to_vec().iter().all(|y| y.to_bits() == 0));
        assert_eq!(report.is_err(), untouched);
        report
    };
    let group = Group::new(2).time_limit(Duration::from_secs(60)).capacity_rows(rows.max(other) - 1);
    for _ in 0..3 {
        let error = launch(&group).unwrap_err();
        assert!(matches!(error, LaunchError::Capacity { rows: found, .. } if found == rows.max(other)), "{error}");
    }
    let group = group.capacity_rows(rows.max(other));
    launch(&group).unwrap();
}

#[test]
fn faulty_ids_of_the_caller_are_found_when_other_tasks_come_first() {
    let case = Case { tokens: vec![9, 4], routing: Routing::Uniform, seed: 6, late: None };
    let Given { x, gate, down } = Given::new(&case);
    let (good, w) = (ids::<TOP_K>(&case, EXPERTS), weights(&case));
    let bad = PerRank::from_fn(case.ep(), |rank| {
        let mut ids = good[rank].to_vec();
        ids[4] = if rank.id() == 1 { 77 } else { ids[4] };
        Tensor::from_vec(ids)
    });
    let group = Group::new(2).time_limit(Duration::from_secs(60));
    let fault = Route::new(case.ep(), EXPERTS, &bad).unwrap_err();
    for _ in 0..2 {
        let mut y = case.zeros();
        let error = given::launch(&group, &bad, &x, &w, &gate, &down, &mut y).unwrap_err();
        assert!(matches!(error, LaunchError::Route(found) if found == fault), "{error}, not {fault}");
        given::launch(&group, &good, &x, &w, &gate, &down, &mut y).unwrap();
    }
}

#[test]
fn texts_tell_when_the_route_is_made() {
    let graph = "\n  route: Route::of::<EXPERTS>(ep, &ids), made by the kernel after phase 2\n";
    assert!(forward::GRAPH.contains(graph), "{}", forward::GRAPH);
    let waits = "\n  the route\n    waits for ";
    assert!(
        forward::SCHEDULE.contains(waits) && forward::SCHEDULE.contains("tables of the route;"),
        "{}",
        forward::SCHEDULE
    );
    assert!(!given::SCHEDULE.contains(waits) && given::SCHEDULE.contains("tables of the route"), "{}", given::SCHEDULE);
}
