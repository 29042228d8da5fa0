//! Group-limited routers: exact room for the rows, and an error on all ranks if ids belong to other groups.

use crate::random::{Case, Routing, cases, config, experts, numbers};
use crate::small_kernels::kept::{
    EXPERTS, GROUPS, HIDDEN, INTER, TOKENS, TOP_K, forward, grouped, grouped_backward, hosted, hosted_backward,
};
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;
use std::time::Duration;

const GROUP: usize = EXPERTS / GROUPS;
const OF_GROUP: usize = TOP_K / GROUPS;

/// Two different experts of each group, depending on the seed; in every other case, some slots are empty.
fn ids(case: &Case) -> PerRank<Tensor<i32, TOP_K>> {
    PerRank::from_fn(case.ep(), |rank| {
        let tokens = case.tokens[rank.id()];
        let id = |token: usize, k: usize| {
            let turn =
                (case.seed as usize % 8191 + token * 37 + rank.id() * 11 + k / OF_GROUP * 5) % (GROUP * (GROUP - 1));
            let (first, step) = (turn % GROUP, turn / GROUP + 1);
            let expert = k / OF_GROUP * GROUP + (first + k % OF_GROUP * step) % GROUP;
            let empty = case.seed % 2 == 1 && (token * 31 + k * 7).is_multiple_of(9);
            if empty { -1 } else { expert as i32 }
        };
        Tensor::from_vec((0..tokens).flat_map(|token| (0..TOP_K).map(move |k| id(token, k))).collect())
    })
}

/// Maximum number of rows of a rank: its share of the slots of all tokens, or all of its experts for each token.
fn room(ranks: usize) -> usize {
    ranks * TOKENS * (GROUPS.div_ceil(ranks) * OF_GROUP.min(EXPERTS / ranks))
}

struct Made {
    recv: PerRank<Received<bf16, HIDDEN>>,
    g: PerRank<Received<bf16, INTER>>,
    y: PerRank<Tensor<bf16, HIDDEN>>,
    routed: PerRank<Routed>,
}

impl Made {
    fn new(case: &Case, room: usize) -> Self {
        let (ep, tokens) = (case.ep(), PerRank::from_fn(case.ep(), |rank| case.tokens[rank.id()]));
        let (recv, g) = (PerRank::with_room(ep, room), PerRank::with_room(ep, room));
        Self { recv, g, y: case.zeros(), routed: PerRank::routed(ep, EXPERTS, TOP_K, &tokens) }
    }
}

proptest! {
    #![proptest_config(config(6))]

    #[test]
    fn groups_have_exact_room_and_the_bits_of_any_route(case in cases(EXPERTS, TOKENS)) {
        let failed = |error: LaunchError| TestCaseError::fail(format!("{case:?}: {error}"));
        let (ep, ids, x) = (case.ep(), ids(&case), numbers(&case));
        let (gate, down) = (experts(&case, EXPERTS, 1), experts(&case, EXPERTS, 2));
        let dy = numbers(&Case { seed: !case.seed, ..case.clone() });
        let local = EXPERTS / ep.count();
        let memory = grouped::KERNEL.memory(ep.count(), None).unwrap();
        prop_assert_eq!(memory.received_rows, room(ep.count()));
        prop_assert!(memory.received_rows <= forward::KERNEL.memory(ep.count(), None).unwrap().received_rows);
        let Made { mut recv, mut g, mut y, mut routed } = Made::new(&case, room(ep.count()));
        grouped::launch(&case.group(), &ids, &x, &gate, &down, &mut recv, &mut g, &mut y, &mut routed)
            .map_err(failed)?;
        let gradients = || {
            let dgate = PerRank::from_fn(ep, |_| Experts::<f32, INTER, HIDDEN>::zeros(local));
            (case.zeros(), dgate, PerRank::from_fn(ep, |_| Experts::<f32, HIDDEN, INTER>::zeros(local)))
        };
        let (mut dx, mut dgate, mut ddown) = gradients();
        let back = &case.group();
        grouped_backward::launch(back, &routed, &dy, &gate, &down, &recv, &g, &mut dx, &mut dgate, &mut ddown)
            .map_err(failed)?;
        // The same with a route that the host makes from ids in any order.
        let route = Route::new(ep, EXPERTS, &ids).unwrap();
        let (mut host_recv, mut host_g) = (PerRank::ragged(ep, &route), PerRank::ragged(ep, &route));
        let mut host_y = case.zeros();
        hosted(ep, &route, &x, &gate, &down, &mut host_recv, &mut host_g, &mut host_y);
        let (mut host_dx, mut host_dgate, mut host_ddown) = gradients();
        hosted_backward(
            ep, &route, &dy, &gate, &down, &host_recv, &host_g, &mut host_dx, &mut host_dgate, &mut host_ddown,
        );
        prop_assert!(y == host_y && dx == host_dx, "{:?}", case);
        prop_assert!(dgate == host_dgate && ddown == host_ddown, "{:?}", case);
    }
}

#[test]
fn an_id_of_another_group_is_the_error_of_all_ranks() {
    let case = Case { tokens: vec![9, 40], routing: Routing::Uniform, seed: 4, late: None };
    let group = Group::new(2).time_limit(Duration::from_secs(60));
    let (gate, down) = (experts(&case, EXPERTS, 1), experts(&case, EXPERTS, 2));
    let (x, good) = (numbers(&case), ids(&case));
    let launch = |ids: &PerRank<Tensor<i32, TOP_K>>| {
        let Made { mut recv, mut g, mut y, mut routed } = Made::new(&case, room(2));
        let report = grouped::launch(&group, ids, &x, &gate, &down, &mut recv, &mut g, &mut y, &mut routed);
        let untouched = y.iter().all(|y| y.to_vec().iter().all(|y| y.to_bits() == 0));
        assert!(report.is_ok() || untouched, "a launch without a route writes nothing");
        report.map(|_| y)
    };
    // An expert of the other group, to which the token does not go yet.
    let elsewhere = |rank: usize, slot: usize| {
        let ids = good[Rank::new(rank)].to_vec();
        let (token, other) = (slot / TOP_K * TOP_K, 1 - slot % TOP_K / OF_GROUP);
        let mut experts = (other * GROUP..(other + 1) * GROUP).map(|id| id as i32);
        experts.find(|id| !ids[token..token + TOP_K].contains(id)).expect("a group has more experts than a token takes")
    };
    let with = |rank: usize, slot: usize, id: i32| {
        PerRank::from_fn(case.ep(), |of| {
            let mut ids = good[of].to_vec();
            if of.id() == rank {
                ids[slot] = id;
            }
            Tensor::from_vec(ids)
        })
    };
    let expected = launch(&good).unwrap();
    for (rank, slot) in [(0, 0), (1, 159), (1, 82), (0, 21)] {
        let ids = with(rank, slot, elsewhere(rank, slot));
        let fault = Route::new(case.ep(), EXPERTS, &ids).unwrap().grouped(GROUPS).unwrap_err();
        let error = launch(&ids).unwrap_err();
        assert!(matches!(error, LaunchError::Route(found) if found == fault), "{error}, not {fault}");
        assert!(launch(&good).unwrap() == expected, "the group goes on");
    }
    let id = elsewhere(1, 159);
    let error = launch(&with(1, 159, id)).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "topk_ids of rank 1, row 39, column 3 is {id}, but this column is for a group whose experts are 4 to 7: check the router"
        )
    );
    let error = launch(&with(0, 5, 8)).unwrap_err();
    assert!(matches!(error, LaunchError::Route(RouteError::Id { id: 8, .. })), "{error}");
}

/// A kernel with groups does not accept a kept route without groups, but a kernel without groups accepts one with
/// groups.
#[test]
fn routes_of_groups_are_kept_as_such() {
    let case = Case { tokens: vec![9, 14], routing: Routing::Uniform, seed: 4, late: None };
    let group = Group::new(2).time_limit(Duration::from_secs(60));
    let (x, ids) = (numbers(&case), ids(&case));
    let (gate, down) = (experts(&case, EXPERTS, 1), experts(&case, EXPERTS, 2));
    let Made { mut recv, mut g, mut y, mut routed } = Made::new(&case, room(2));
    // Both kernels have the same capacity.
    let narrow = Group::new(2).capacity_rows(room(2));
    forward::launch(&narrow, &ids, &x, &gate, &down, &mut recv, &mut g, &mut y, &mut routed).unwrap();
    let dgate = || PerRank::from_fn(case.ep(), |_| Experts::<f32, INTER, HIDDEN>::zeros(EXPERTS / 2));
    let ddown = || PerRank::from_fn(case.ep(), |_| Experts::<f32, HIDDEN, INTER>::zeros(EXPERTS / 2));
    let (mut dx, mut dgate, mut ddown) = (case.zeros(), dgate(), ddown());
    let error = grouped_backward::launch(&group, &routed, &y, &gate, &down, &recv, &g, &mut dx, &mut dgate, &mut ddown)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the route kept in `routed` of rank 0 is for 0 ids of a group, not for 2: pass a route that a launch with the same ranks, experts and tokens has kept"
    );
}
