//! Kernels that make their route: they give the bits of a host-made route for any routing, and its errors.

#[cfg(target_os = "linux")]
use crate::processes;
use crate::random::{Case, Routing, cases, config, experts, ids, numbers, weights};
use crate::small_kernels::routed::{EXPERTS, INTER, TILE_M, TOKENS, TOP_K, chunked, forward, hosted};
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;
use std::time::Duration;

/// Room for the rows of any routing.
fn lossless(ranks: usize) -> usize {
    ranks * TOKENS * TOP_K.min(EXPERTS / ranks)
}

/// The rows of each rank that a route has, from a tensor with room for more.
fn kept(route: &Route, rows: &PerRank<Received<bf16, INTER>>) -> Vec<Vec<bf16>> {
    route.ranks().into_iter().map(|rank| rows[rank].to_vec()[..route.received(rank) * INTER].to_vec()).collect()
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn a_kernel_that_makes_its_route_has_the_bits_of_the_host(case in cases(EXPERTS, TOKENS)) {
        let ep = case.ep();
        let ids = ids::<TOP_K>(&case, EXPERTS);
        let route = Route::new(ep, EXPERTS, &ids).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let (gate, down) = (experts(&case, EXPERTS, 1), experts(&case, EXPERTS, 2));
        let room = || PerRank::with_room(ep, lossless(ep.count()));
        let (mut y, mut g) = (case.zeros(), room());
        forward(ep, &ids, &x, &w, &gate, &down, &mut g, &mut y);
        let (mut found, mut found_g) = (case.zeros(), room());
        let report = forward::launch(&case.group(), &ids, &x, &w, &gate, &down, &mut found_g, &mut found);
        let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
        let (mut host, mut host_g) = (case.zeros(), PerRank::ragged(ep, &route));
        let of_host = hosted::launch(&case.group(), &route, &x, &w, &gate, &down, &mut host_g, &mut host);
        let of_host = of_host.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
        prop_assert!(y.iter().eq(found.iter()) && host.iter().eq(found.iter()), "{:?}", case);
        prop_assert!(kept(&route, &g) == kept(&route, &found_g), "{:?}", case);
        prop_assert!(kept(&route, &host_g) == kept(&route, &found_g), "{:?}", case);
        prop_assert_eq!((report.empty_tasks, report.tasks), (0, of_host.tasks));
    }

    #[test]
    fn a_kernel_makes_a_route_of_chunks(case in cases(EXPERTS, TOKENS)) {
        let ep = case.ep();
        let ids = ids::<TOP_K>(&case, EXPERTS);
        let (x, w) = (numbers(&case), weights(&case));
        let (gate, down) = (experts(&case, EXPERTS, 1), experts(&case, EXPERTS, 2));
        let mut y = case.zeros();
        chunked(ep, &ids, &x, &w, &gate, &down, &mut y);
        let mut found = case.zeros();
        let report = chunked::launch(&case.group(), &ids, &x, &w, &gate, &down, &mut found);
        let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
        prop_assert!(y.iter().eq(found.iter()), "{:?}", case);
        prop_assert_eq!(report.empty_tasks, 0);
    }
}

/// A case with tokens on some ranks, and its ids.
struct Faulty {
    case: Case,
    ids: PerRank<Tensor<i32, TOP_K>>,
}

impl Faulty {
    fn new(tokens: &[usize]) -> Self {
        let case = Case { tokens: tokens.to_vec(), routing: Routing::Uniform, seed: 3, late: None };
        let ids = ids(&case, EXPERTS);
        Self { case, ids }
    }

    /// These ids with another id in one place.
    fn with(&self, rank: usize, slot: usize, id: i32) -> PerRank<Tensor<i32, TOP_K>> {
        let spoiled = |of: Rank| {
            let mut ids = self.ids[of].to_vec();
            if of.id() == rank {
                ids[slot] = id;
            }
            Tensor::from_vec(ids)
        };
        PerRank::from_fn(self.case.ep(), spoiled)
    }

    fn launch(&self, group: &Group, ids: &PerRank<Tensor<i32, TOP_K>>, room: usize) -> Result<Report, LaunchError> {
        let (case, ep) = (&self.case, self.case.ep());
        let (x, w) = (numbers(case), weights(case));
        let (gate, down) = (experts(case, EXPERTS, 1), experts(case, EXPERTS, 2));
        let (mut y, mut g) = (case.zeros(), PerRank::with_room(ep, room));
        let report = forward::launch(group, ids, &x, &w, &gate, &down, &mut g, &mut y);
        let untouched = y.iter().all(|y| y.to_vec().iter().all(|y| y.to_bits() == 0));
        assert!(report.is_ok() || untouched, "a launch without a route writes nothing");
        if report.is_ok() {
            let (mut expected, mut expected_g) = (case.zeros(), PerRank::with_room(ep, room));
            forward(ep, ids, &x, &w, &gate, &down, &mut expected_g, &mut expected);
            assert!(expected.iter().eq(y.iter()));
        }
        report
    }
}

fn group(ranks: usize) -> Group {
    Group::new(ranks).time_limit(Duration::from_secs(60))
}

#[test]
fn faulty_ids_are_the_error_that_a_route_of_the_host_has() {
    let faulty = Faulty::new(&[9, 0, 40, 2]);
    let group = group(4);
    for (rank, slot, id) in [(0, 0, 8), (2, 119, -2), (2, 60, i32::MAX), (3, 5, i32::MIN), (0, 26, -7)] {
        let ids = faulty.with(rank, slot, id);
        let expected = Route::new(faulty.case.ep(), EXPERTS, &ids).unwrap_err();
        let error = faulty.launch(&group, &ids, lossless(4)).unwrap_err();
        assert!(matches!(error, LaunchError::Route(found) if found == expected), "{error}, not {expected}");
        // The group stays usable.
        faulty.launch(&group, &faulty.ids, lossless(4)).unwrap();
    }
    let first = faulty.ids[Rank::new(2)].to_vec()[30];
    let ids = faulty.with(2, 32, first);
    let expected = Route::new(faulty.case.ep(), EXPERTS, &ids).unwrap_err();
    assert!(matches!(expected, RouteError::Twice { token: 10, first: 0, second: 2, .. }), "{expected}");
    let error = faulty.launch(&group, &ids, lossless(4)).unwrap_err();
    assert!(matches!(error, LaunchError::Route(found) if found == expected), "{error}, not {expected}");
    faulty.launch(&group, &faulty.ids, lossless(4)).unwrap();
}

#[test]
fn the_first_rank_with_a_fault_is_named() {
    let faulty = Faulty::new(&[5, 6]);
    let two = |of: Rank| {
        let mut ids = faulty.ids[of].to_vec();
        ids[3 * of.id() + 4] = 99;
        Tensor::from_vec(ids)
    };
    let error = faulty.launch(&group(2), &PerRank::from_fn(faulty.case.ep(), two), lossless(2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "topk_ids of rank 0, row 1, column 1 is 99, but experts are numbered from 0 to 7, and -1 names none: check the router"
    );
}

#[test]
fn too_little_room_is_found_before_a_row_is_sent() {
    let faulty = Faulty::new(&[40, 40]);
    let route = Route::new(faulty.case.ep(), EXPERTS, &faulty.ids).unwrap();
    let [rows, other] = [0, 1].map(|rank| route.received(Rank::new(rank)));
    let most = rows.max(other);
    let tight = group(2).capacity_rows(most - 1);
    let error = faulty.launch(&tight, &faulty.ids, most - 1).unwrap_err();
    let rank = usize::from(rows < most);
    let bytes = |rows| forward::KERNEL.memory(2, Some(rows)).map(|needed| needed.heap + needed.workspace).unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "rank {rank} would receive {most} rows, but there is room for {}: raise it with Group::capacity_rows({most}), which takes \
             {} more bytes on each rank, or send fewer tokens",
            most - 1,
            bytes(most) - bytes(most - 1)
        )
    );
    let enough = tight.capacity_rows(most);
    faulty.launch(&enough, &faulty.ids, most).unwrap();
}

#[test]
fn what_does_not_fit_is_refused_before_the_launch() {
    let faulty = Faulty::new(&[4, 4]);
    let error = faulty.launch(&group(2), &faulty.ids, lossless(2) - 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`g` of rank 0 has 239 rows, but a kernel that makes its route has room for 240: make the tensor with PerRank::with_room, for \
         the rows that each rank has room for"
    );
    let many = Faulty::new(&[TOKENS + 1, 0]);
    let error = many.launch(&group(2), &many.ids, lossless(2)).unwrap_err();
    assert!(matches!(error, LaunchError::Tokens { rank: 0, tokens: 41, limit: 40, .. }), "{error}");
    assert_eq!(TILE_M, 8);
}

#[test]
#[should_panic(expected = "topk_ids of rank 1, row 0, column 2 is -3, but experts are numbered from 0 to 7")]
fn the_reference_panics_where_a_launch_fails() {
    let faulty = Faulty::new(&[1, 1]);
    let (case, ids) = (&faulty.case, faulty.with(1, 2, -3));
    let (gate, down) = (experts(case, EXPERTS, 1), experts(case, EXPERTS, 2));
    let (mut y, mut g) = (case.zeros(), PerRank::with_room(case.ep(), 6));
    forward(case.ep(), &ids, &numbers(case), &weights(case), &gate, &down, &mut g, &mut y);
}

#[test]
fn texts_tell_who_makes_the_route() {
    assert!(
        forward::GRAPH.contains("\n  route: Route::of::<EXPERTS>(ep, ids), made by the kernel\n"),
        "{}",
        forward::GRAPH
    );
    assert!(forward::SCHEDULE.contains(", after the tables of the route\n"), "{}", forward::SCHEDULE);
    assert!(forward::ASCENDC.contains("Work<Program, VectorCore, KernelRoute<NEEDS_"), "{}", forward::ASCENDC);
    assert!(!hosted::ASCENDC.contains("KernelRoute") && !hosted::SCHEDULE.contains("tables of the route"));
}

/// Two processes, each with one rank, agree on the bits and on the error.
#[test]
#[cfg(target_os = "linux")]
fn ranks_that_are_processes_make_the_same_route() {
    assert_eq!(processes::two_ranks("routed::one_rank_of_two"), [true, true]);
}

/// One of these processes.
#[test]
#[ignore = "a process of another test"]
fn one_rank_of_two() {
    let group =
        Group::from_launcher().unwrap().expect("the variables of a launcher").time_limit(Duration::from_secs(60));
    let Some(me) = group.ranks().only() else { panic!("one rank of two") };
    let faulty = Faulty::new(&[17, 40]);
    let (case, ep) = (&faulty.case, faulty.case.ep());
    let (x, w) = (numbers(case), weights(case));
    let (gate, down) = (experts(case, EXPERTS, 1), experts(case, EXPERTS, 2));
    let (mut expected, mut g) = (case.zeros(), PerRank::with_room(ep, lossless(2)));
    forward(ep, &faulty.ids, &x, &w, &gate, &down, &mut g, &mut expected);
    let here = group.ranks();
    let launch = |ids: &PerRank<Tensor<i32, TOP_K>>| {
        let ids = PerRank::from_fn(here, |r| Tensor::from_vec(ids[r].to_vec()));
        let x = PerRank::from_fn(here, |r| Tensor::from_vec(x[r].to_vec()));
        let w = PerRank::from_fn(here, |r| Tensor::from_vec(w[r].to_vec()));
        let gate = PerRank::from_fn(here, |r| Experts::from_vec(gate[r].to_vec()));
        let down = PerRank::from_fn(here, |r| Experts::from_vec(down[r].to_vec()));
        let mut y = PerRank::from_fn(here, |r| Tensor::zeros(case.tokens[r.id()]));
        let mut g = PerRank::with_room(here, lossless(2));
        forward::launch(&group, &ids, &x, &w, &gate, &down, &mut g, &mut y).map(|_| y[me].to_vec())
    };
    for slot in [4, 50] {
        assert_eq!(launch(&faulty.ids).unwrap(), expected[me].to_vec());
        // The fault is on rank 1, and only rank 1 knows the id.
        let ids = faulty.with(1, slot, 77);
        let fault = Route::new(ep, EXPERTS, &ids).unwrap_err();
        let error = launch(&ids).unwrap_err();
        assert!(matches!(error, LaunchError::Route(found) if found == fault), "{error}, not {fault}");
    }
    assert_eq!(launch(&faulty.ids).unwrap(), expected[me].to_vec());
}
