//! Tokens cut into chunks: the same bits for any number of chunks and any routing.

use crate::random::{Case, Routing, cases, config, experts, ids, numbers, slots};
use crate::small_kernels::{chunks, sums};
use hpmoe_runtime::prelude::*;
use many::many_sums;
use proptest::prelude::*;

macro_rules! counts {
    ($($name:ident),*) => {$(
        #[allow(dead_code, reason = "its main function")]
        pub mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
        }
    )*};
}

// Each module checks a bundled layer against its oracle, on all numbers of ranks.
counts!(
    in_1_chunk,
    in_2_chunks,
    in_3_chunks,
    in_4_chunks,
    in_7_chunks,
    in_8_chunks,
    in_chosen_chunks,
    in_placed_chunks,
    in_any_chunks,
    grad_in_placed_chunks,
    sums_in_any_chunks,
    routed_in_any_chunks,
    placed_in_any_chunks,
    kept_in_any_chunks,
    kept_placed_in_any_chunks
);

/// Launches a kernel whose chunks add to the caller's tensors, and compares all results with its reference.
macro_rules! added {
    ($kernel:ident, $case:expr) => {{
        let (case, ep) = (&$case, $case.ep());
        let ids = ids::<{ $kernel::TOP_K }>(case, $kernel::EXPERTS);
        let route = Route::new(ep, $kernel::EXPERTS, &ids).unwrap();
        let (x, z) = (numbers(case), slots(case, &route));
        let before = || (experts(case, $kernel::EXPERTS, 1), experts(case, $kernel::EXPERTS, 2));
        let ((mut first, mut second), mut y) = (before(), case.zeros());
        // The group launches twice, so everything is added twice.
        for _launch in 0..2 {
            $kernel::forward(ep, &route, &x, &z, &mut first, &mut second, &mut y);
        }
        let ((mut to_first, mut to_second), mut to_y) = (before(), case.zeros());
        let report = $kernel::forward::launch(&case.group(), &route, &x, &z, &mut to_first, &mut to_second, &mut to_y);
        let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
        prop_assert!(first.iter().eq(to_first.iter()) && second.iter().eq(to_second.iter()), "{:?}", case);
        prop_assert!(y.iter().eq(to_y.iter()), "{:?}", case);
        report
    }};
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn chunks_are_their_reference(case in cases(chunks::EXPERTS, chunks::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, chunks::EXPERTS, &ids::<{ chunks::TOP_K }>(&case, chunks::EXPERTS)).unwrap();
        let (x, weights) = (numbers(&case), slots(&case, &route));
        let (gate, down) = (experts(&case, chunks::EXPERTS, 1), experts(&case, chunks::EXPERTS, 2));
        let mut expected = case.zeros();
        chunks::forward(ep, &route, &x, &weights, &gate, &down, &mut expected);
        let mut found = case.zeros();
        let report = chunks::forward::launch(&case.group(), &route, &x, &weights, &gate, &down, &mut found);
        let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
        prop_assert!(expected.iter().eq(found.iter()), "{:?}", case);
        prop_assert_eq!(report.empty_tasks, 0);
    }

    #[test]
    fn chunks_have_their_part_of_what_the_caller_gives(case in cases(chunks::EXPERTS, chunks::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, chunks::EXPERTS, &ids::<{ chunks::TOP_K }>(&case, chunks::EXPERTS)).unwrap();
        let (x, stacked) = (numbers(&case), experts(&case, chunks::EXPERTS, 1));
        let (mut expected, mut expected_sums) = (case.zeros(), case.zeros());
        chunks::apart(ep, &route, &x, &stacked, &mut expected, &mut expected_sums);
        let (mut found, mut found_sums) = (case.zeros(), case.zeros());
        let report = chunks::apart::launch(&case.group(), &route, &x, &stacked, &mut found, &mut found_sums);
        report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
        prop_assert!(expected.iter().eq(found.iter()), "{:?}", case);
        prop_assert!(expected_sums.iter().eq(found_sums.iter()), "{:?}", case);
    }

    /// The caller's tensors contain numbers, so that the order of adding three terms shows.
    #[test]
    fn chunks_add_one_after_the_other(case in cases(sums::EXPERTS, sums::TOKENS)) {
        let report = added!(sums, case);
        prop_assert_eq!(report.empty_tasks, 0);
    }
}

mod many {
    include!(concat!(env!("OUT_DIR"), "/many_sums.rs"));
}

proptest! {
    #![proptest_config(config(12))]

    /// Tiles that add have the same numbers in each chunk, so cores can't look for theirs among those of several experts.
    #[test]
    fn chunks_add_to_the_matrices_of_many_experts(case in cases(many_sums::EXPERTS, many_sums::TOKENS)) {
        added!(many_sums, case);
    }
}

/// Room for exactly a chunk's rows is sufficient; one row less is not.
#[test]
fn there_is_room_for_two_chunks() {
    let case = Case { tokens: vec![41, 17], routing: Routing::Few, seed: 3, late: None };
    let route = Route::new(case.ep(), chunks::EXPERTS, &ids::<{ chunks::TOP_K }>(&case, chunks::EXPERTS)).unwrap();
    let (x, weights) = (numbers(&case), slots(&case, &route));
    let (gate, down) = (experts(&case, chunks::EXPERTS, 1), experts(&case, chunks::EXPERTS, 2));
    let rows = |route: Route| case.ep().into_iter().map(|rank| route.received(rank)).max().unwrap();
    let most = route.chunks::<{ chunks::CHUNKS }>().map(rows).max().unwrap();
    let launch = |rows: usize| {
        let mut y = case.zeros();
        chunks::forward::launch(&case.group().capacity_rows(rows), &route, &x, &weights, &gate, &down, &mut y)
    };
    let report = launch(most).unwrap();
    let words = launch(most - 1).unwrap_err().to_string();
    assert!(words.contains(&format!("would receive {most} rows, but there is room for {}", most - 1)), "{words}");
    let whole = launch(rows(route.clone())).unwrap();
    assert!(report.workspace_bytes < whole.workspace_bytes);
}
