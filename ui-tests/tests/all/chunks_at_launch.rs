//! Launches that choose the number of chunks: the smallest one that fits, with the same bits for all of them.

use crate::chunks::in_any_chunks::chunks_at_launch as small;
use crate::chunks::in_chosen_chunks::moe_in_chosen_chunks as layer;
use crate::chunks::in_placed_chunks::moe_in_placed_chunks as placed;
use crate::chunks::sums_in_any_chunks::sums_at_launch as sums;
use crate::gradients_in_chunks::chosen_chunks::grad_in_chosen_chunks as gradients;
use crate::random::{Case, Routing, cases, cases_on, config, experts, ids, numbers, placement, slots, tokens, weights};
use hpmoe_kernels::memory::RankSizes;
use hpmoe_runtime::CompiledKernel;
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;

/// The numbers that launches choose from.
const COUNTS: [usize; 4] = [1, 2, 4, 8];

/// Maximum number of rows that a rank receives in a chunk, for a number of chunks up to `most`, counted slot by slot.
fn fullest(route: &Route, chunks: usize, most: usize) -> usize {
    let of_chunk = |chunk: usize| {
        let mut rows = vec![0; route.ranks().count()];
        for source in route.ranks() {
            let part = route.tokens(source).div_ceil(most) * (most / chunks);
            let tokens = chunk * part..(chunk + 1) * part;
            let within = |slot: &&i32| tokens.contains(&(**slot as usize / route.top_k()));
            for expert in route.experts() {
                let pair = route.pair(source, expert);
                let sent = &route.order(source)[pair.order..pair.order + pair.rows];
                rows[expert.owner().id()] += sent.iter().filter(within).count();
            }
        }
        rows.into_iter().max().unwrap_or(0)
    };
    (0..chunks).map(of_chunk).max().unwrap_or(0)
}

/// The smallest of 1, 2 and 4 chunks that fits, if copies of an expert share the rows of each part of a rank's tokens.
pub fn least_placed(kernel: &CompiledKernel, route: &Route, capacity: usize) -> Option<usize> {
    let sizes = RankSizes::new(&kernel.tables().shape().sizes, route.ranks().count(), Some(capacity), false);
    let received = |route: &Route| route.ranks().into_iter().map(|rank| route.received(rank)).max();
    let of_chunk = |chunk, chunks| received(&route.chunk_of(chunk, chunks, sizes.chosen_chunks()));
    [1, 2, 4].into_iter().find(|&chunks| (0..chunks).all(|chunk| of_chunk(chunk, chunks) <= Some(capacity)))
}

/// Matrices of all experts, in the order of the placement.
fn matrices<const N: usize, const K: usize>(
    case: &Case,
    placement: &Placement,
    which: u64,
) -> PerRank<Experts<bf16, N, K>> {
    let alone = Case { tokens: vec![0], ..case.clone() };
    placement.place(&experts(&alone, placed::EXPERTS, which)[Rank::new(0)]).unwrap()
}

/// The smallest number of chunks that fits.
fn least(route: &Route, capacity: usize) -> Option<usize> {
    COUNTS.into_iter().find(|&chunks| fullest(route, chunks, 8) <= capacity)
}

proptest! {
    #![proptest_config(config(32))]

    /// One group launches with different numbers of chunks in a row.
    #[test]
    fn the_least_number_that_fits_has_the_bits_of_the_reference(case in cases(small::EXPERTS, small::TOKENS), share in 1..=8usize) {
        let ep = case.ep();
        let whole = Route::new(ep, small::EXPERTS, &ids::<{ small::TOP_K }>(&case, small::EXPERTS)).unwrap();
        let capacity = (fullest(&whole, 1, 8) * share).div_ceil(8);
        let group = case.group().capacity_rows(capacity);
        for other in 0..4 {
            let tokens = case.tokens.iter().map(|tokens| tokens * (8 >> other) / 8).collect();
            let case = Case { tokens, ..case.clone() };
            let route = Route::new(ep, small::EXPERTS, &ids::<{ small::TOP_K }>(&case, small::EXPERTS)).unwrap();
            let (x, weights) = (numbers(&case), slots(&case, &route));
            let (gate, down) = (experts(&case, small::EXPERTS, 1), experts(&case, small::EXPERTS, 2));
            let mut expected = case.zeros();
            small::forward(ep, &route, &x, &weights, &gate, &down, &mut expected);
            let mut found = case.zeros();
            let report = small::forward::launch(&group, &route, &x, &weights, &gate, &down, &mut found);
            match least(&route, capacity) {
                Some(chunks) => {
                    let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
                    prop_assert_eq!((report.chunks, report.chunks_at_most, report.empty_tasks), (chunks, Some(8), 0));
                    prop_assert!(expected.iter().eq(found.iter()), "{:?} in {} chunks", case, chunks);
                }
                None => {
                    let most = fullest(&route, 8, 8);
                    let is_capacity = |error: &LaunchError| matches!(error,
                        LaunchError::Capacity { rows, capacity: room, chunks: Some(8), missing, .. }
                            if (*rows, *room) == (most, capacity) && *missing > 0);
                    prop_assert!(report.as_ref().is_err_and(is_capacity), "{report:?}");
                    // The capacity that the error names is sufficient.
                    let report = small::forward::launch(&case.group().capacity_rows(most), &route, &x, &weights, &gate, &down, &mut found);
                    prop_assert_eq!(Some(report.unwrap().chunks), least(&route, most));
                    prop_assert!(expected.iter().eq(found.iter()), "{:?}", case);
                }
            }
        }
    }

    /// Copies of experts share the rows of each part of a rank's tokens.
    #[test]
    fn experts_lie_anywhere(case in cases_on(vec![1, 2, 5], placed::EXPERTS, 41), share in 1..=4usize) {
        let ep = case.ep();
        let places = placement(&case, placed::EXPERTS, 1);
        let route = Route::placed(&places, &ids::<{ placed::TOP_K }>(&case, placed::EXPERTS)).unwrap();
        let rows = ep.into_iter().map(|rank| route.received(rank)).max().unwrap();
        let capacity = (rows * share).div_ceil(4) + 8;
        let (x, weights) = (numbers(&case), weights(&case));
        let (gate, up, down) = (matrices(&case, &places, 1), matrices(&case, &places, 2), matrices(&case, &places, 3));
        let mut expected = case.zeros();
        placed::forward(ep, &route, &x, &weights, &gate, &up, &down, &mut expected);
        let mut found = case.zeros();
        let group = case.group().placed(&places).unwrap().capacity_rows(capacity);
        let report = placed::forward::launch(&group, &route, &x, &weights, &gate, &up, &down, &mut found);
        match report {
            Ok(report) => {
                prop_assert!(expected.iter().eq(found.iter()), "{:?} in {} chunks", case, report.chunks);
                prop_assert_eq!(Some(report.chunks), least_placed(&placed::forward::KERNEL, &route, capacity));
            }
            Err(error) => prop_assert!(matches!(error, LaunchError::Capacity { chunks: Some(4), .. }), "{error}"),
        }
    }
}

/// Capacities with which a launch has these numbers of chunks, as far as there are any.
fn capacities(route: &Route) -> Vec<(usize, usize)> {
    let rooms = COUNTS.map(|chunks| (chunks, fullest(route, chunks, 8)));
    rooms.into_iter().filter(|&(chunks, room)| least(route, room) == Some(chunks)).collect()
}

proptest! {
    #![proptest_config(config(24))]

    /// The matrices contain numbers before two launches add to them. The tokens give fewer tiles than cores, parts of
    /// tiles, and empty parts.
    #[test]
    fn sums_have_the_bits_of_the_reference_for_any_number(case in cases(sums::EXPERTS, sums::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, sums::EXPERTS, &ids::<{ sums::TOP_K }>(&case, sums::EXPERTS)).unwrap();
        let (x, z) = (numbers(&case), slots(&case, &route));
        let before = || (experts(&case, sums::EXPERTS, 1), experts(&case, sums::EXPERTS, 2));
        let ((mut first, mut second), mut y) = (before(), case.zeros());
        for _launch in 0..2 {
            sums::forward(ep, &route, &x, &z, &mut first, &mut second, &mut y);
        }
        for (chunks, capacity) in capacities(&route) {
            let ((mut to_first, mut to_second), mut to_y) = (before(), case.zeros());
            let group = case.group().capacity_rows(capacity);
            let report = sums::forward::launch(&group, &route, &x, &z, &mut to_first, &mut to_second, &mut to_y);
            let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
            prop_assert_eq!((report.chunks, report.empty_tasks), (chunks, 0));
            prop_assert!(first.iter().eq(to_first.iter()) && second.iter().eq(to_second.iter()), "{:?} in {} chunks", case, chunks);
            prop_assert!(y.iter().eq(to_y.iter()), "{:?}", case);
        }
    }

    /// The whole backward pass: gradients of tokens, of the router's weights, and of experts.
    #[test]
    fn gradients_have_the_bits_of_the_reference_for_any_number(case in cases_on(vec![1, 2, 4], gradients::EXPERTS, 70)) {
        let ep = case.ep();
        let route = Route::new(ep, gradients::EXPERTS, &ids::<{ gradients::TOP_K }>(&case, gradients::EXPERTS)).unwrap();
        let (x, dy, weights) = (numbers(&case), tokens(&case, 9), slots(&case, &route));
        let [gate, up] = [1, 2].map(|which| experts(&case, gradients::EXPERTS, which));
        let down = experts(&case, gradients::EXPERTS, 3);
        let results = || {
            let [dgate, dup] = [4, 5].map(|which| experts(&case, gradients::EXPERTS, which));
            (case.zeros(), PerRank::slots(ep, &route), dgate, dup, experts(&case, gradients::EXPERTS, 6))
        };
        let (mut dx, mut dweights, mut dgate, mut dup, mut ddown) = results();
        for _launch in 0..2 {
            gradients::backward(
                ep, &route, &x, &dy, &weights, &gate, &up, &down, &mut dx, &mut dweights, &mut dgate, &mut dup, &mut ddown,
            );
        }
        for (chunks, capacity) in capacities(&route) {
            let mut found = results();
            let group = case.group().capacity_rows(capacity);
            let report = gradients::backward::launch(
                &group, &route, &x, &dy, &weights, &gate, &up, &down, &mut found.0, &mut found.1, &mut found.2, &mut found.3, &mut found.4,
            );
            let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
            prop_assert_eq!(report.chunks, chunks);
            prop_assert!(dx.iter().eq(found.0.iter()) && dweights.iter().eq(found.1.iter()), "{:?} in {} chunks", case, chunks);
            let equal = dgate.iter().eq(found.2.iter()) && dup.iter().eq(found.3.iter()) && ddown.iter().eq(found.4.iter());
            prop_assert!(equal, "{:?} in {} chunks", case, chunks);
        }
    }
}

/// The copy of an expert that gets a row would depend on the number of chunks.
#[test]
fn gradients_of_copies_are_refused() {
    use crate::chunks::grad_in_placed_chunks::moe_back_in_placed_chunks::{EXPERTS, TOP_K, backward};
    let case = Case { tokens: vec![5, 4], routing: Routing::Uniform, seed: 3, late: None };
    // Each rank has half of the experts and a spare place.
    let launch = |spare: Option<usize>| {
        let half = EXPERTS / 2;
        let places = (0..half).map(Some).chain([spare]).chain((half..EXPERTS).map(Some)).chain([None]);
        let placement = Placement::new(case.ep(), EXPERTS, &places.collect::<Vec<_>>()).unwrap();
        let route = &Route::placed(&placement, &ids::<TOP_K>(&case, EXPERTS)).unwrap();
        let (x, dy, weights) = (numbers(&case), tokens(&case, 9), slots(&case, route));
        let (gate, up) = (PerRank::experts(case.ep(), route), PerRank::experts(case.ep(), route));
        let (down, dx) = (PerRank::experts(case.ep(), route), &mut case.zeros());
        let (dgate, dup) = (&mut PerRank::experts(case.ep(), route), &mut PerRank::experts(case.ep(), route));
        let (dweights, ddown) = (&mut PerRank::slots(case.ep(), route), &mut PerRank::experts(case.ep(), route));
        backward::launch(&case.group(), route, &x, &dy, &weights, &gate, &up, &down, dx, dweights, dgate, dup, ddown)
    };
    launch(None).unwrap();
    let error = launch(Some(EXPERTS - 1)).unwrap_err();
    assert!(matches!(error, LaunchError::CopiesOfSums { .. }), "{error}");
}

/// The error names the missing bytes, and a sufficient capacity.
#[test]
fn too_little_room_for_any_number_is_told() {
    let case = Case { tokens: vec![41, 17], routing: Routing::Few, seed: 3, late: None };
    let route = Route::new(case.ep(), small::EXPERTS, &ids::<{ small::TOP_K }>(&case, small::EXPERTS)).unwrap();
    let (x, weights) = (numbers(&case), slots(&case, &route));
    let (gate, down) = (experts(&case, small::EXPERTS, 1), experts(&case, small::EXPERTS, 2));
    let most = fullest(&route, 8, 8);
    let group = case.group().capacity_rows(most - 1);
    let error = small::forward::launch(&group, &route, &x, &weights, &gate, &down, &mut case.zeros()).unwrap_err();
    let needed =
        |rows| small::forward::KERNEL.memory(2, Some(rows)).map(|memory| memory.heap + memory.workspace).unwrap();
    let missing = needed(most) - needed(most - 1);
    let words = format!(
        "rank 0 would receive {most} rows in one of 8 chunks, the largest number of this kernel, but there is room for {}: raise it with \
         Group::capacity_rows({most}), which takes {missing} more bytes on each rank, or send fewer tokens",
        most - 1
    );
    assert_eq!(error.to_string(), words);
}

/// Two processes whose load becomes uneven half-way.
#[test]
#[cfg(target_os = "linux")]
fn ranks_that_are_processes_choose_the_same_number() {
    assert_eq!(crate::processes::two_ranks("chunks_at_launch::one_rank_of_two"), [true, true]);
}

/// One of these processes: no launch fails, and all have the bits of the reference.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "a process of another test"]
fn one_rank_of_two() {
    fn own<T: Clone>(ranks: Ranks, all: &PerRank<T>) -> PerRank<T> {
        PerRank::from_fn(ranks, |rank| all[rank].clone())
    }
    let group = Group::from_launcher().unwrap().expect("the variables of a launcher");
    let group = group.time_limit(std::time::Duration::from_secs(60)).capacity_rows(120);
    let ranks = group.ranks();
    let me = ranks.only().expect("one rank of two");
    let chunks = (0..6).map(|step| {
        let routing = if step < 3 { Routing::Uniform } else { Routing::Few };
        let case = Case { tokens: vec![41, 20 + step], routing, seed: step as u64, late: None };
        let ids = ids::<{ layer::TOP_K }>(&case, layer::EXPERTS);
        let route = Route::gather(&group, layer::EXPERTS, &own(ranks, &ids)).unwrap();
        let (x, weights) = (numbers(&case), weights(&case));
        let [gate, up] = [1, 2].map(|which| experts(&case, layer::EXPERTS, which));
        let down = experts(&case, layer::EXPERTS, 3);
        let (mut expected, mut found) = (case.zeros(), own(ranks, &case.zeros()));
        let whole = Route::new(case.ep(), layer::EXPERTS, &ids).unwrap();
        layer::forward(case.ep(), &whole, &x, &weights, &gate, &up, &down, &mut expected);
        let (x, weights) = (own(ranks, &x), own(ranks, &weights));
        let (gate, up, down) = (own(ranks, &gate), own(ranks, &up), own(ranks, &down));
        let report = layer::forward::launch(&group, &route, &x, &weights, &gate, &up, &down, &mut found).unwrap();
        assert!(expected[me] == found[me], "step {step}");
        assert_eq!(Some(report.chunks), least(&whole, 120), "step {step}");
        report.chunks
    });
    let chunks: Vec<usize> = chunks.collect();
    assert!(chunks[..3].iter().all(|count| *count == 1) && chunks[3..].iter().all(|count| *count > 1), "{chunks:?}");
}
