//! Small kernels on random routings: the megakernel gives the bits of the same function run sequentially.

#[path = "../kernels/coarse.rs"]
mod coarse_file;
#[path = "../kernels/deep.rs"]
mod deep_file;
#[path = "../kernels/echo.rs"]
mod echo_file;
#[path = "../kernels/elementwise.rs"]
mod elementwise_file;
#[path = "../kernels/ffn.rs"]
mod ffn_file;
#[path = "../kernels/mixed.rs"]
mod mixed_file;
#[path = "../kernels/odd.rs"]
mod odd_file;
mod random;

use coarse_file::coarse;
use deep_file::deep;
use echo_file::echo;
use elementwise_file::elementwise;
use ffn_file::ffn;
use hpmoe_runtime::prelude::*;
use mixed_file::mixed;
use odd_file::odd;
use proptest::prelude::*;
use random::{Case, cases, experts, ids, numbers, weights};

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_forward_layer_is_its_reference(case in cases(ffn::EXPERTS, ffn::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, ffn::EXPERTS, &ids::<{ ffn::TOP_K }>(&case, ffn::EXPERTS)).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let (gate, up, down) = (experts(&case, ffn::EXPERTS, 1), experts(&case, ffn::EXPERTS, 2), experts(&case, ffn::EXPERTS, 3));
        let mut expected = case.zeros();
        ffn::forward(ep, &route, &x, &w, &gate, &up, &down, &mut expected);
        let mut found = case.zeros();
        let report = ffn::forward::launch(&case.group(), &route, &x, &w, &gate, &up, &down, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }

    #[test]
    fn tokens_come_back(case in cases(echo::EXPERTS, echo::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, echo::EXPERTS, &ids::<{ echo::TOP_K }>(&case, echo::EXPERTS)).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let mut expected = case.zeros();
        echo::forward(ep, &route, &x, &w, &mut expected);
        let mut found = case.zeros();
        let report = echo::forward::launch(&case.group(), &route, &x, &w, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }

    #[test]
    fn long_contractions_tall_tiles_and_wide_rows(case in cases(deep::EXPERTS, deep::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, deep::EXPERTS, &ids::<{ deep::TOP_K }>(&case, deep::EXPERTS)).unwrap();
        let (x, z, w) = (numbers(&case), weights(&case), weights(&case));
        let (gate, up, down) = (experts(&case, deep::EXPERTS, 1), experts(&case, deep::EXPERTS, 2), experts(&case, deep::EXPERTS, 3));
        let mut expected = case.zeros();
        deep::forward(ep, &route, &x, &z, &w, &gate, &up, &down, &mut expected);
        let mut found = case.zeros();
        let report = deep::forward::launch(&case.group(), &route, &x, &z, &w, &gate, &up, &down, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }

    #[test]
    fn sizes_that_no_tile_divides(case in cases(odd::EXPERTS, odd::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, odd::EXPERTS, &ids::<{ odd::TOP_K }>(&case, odd::EXPERTS)).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let (gate, up, down) = (experts(&case, odd::EXPERTS, 1), experts(&case, odd::EXPERTS, 2), experts(&case, odd::EXPERTS, 3));
        let mut expected = case.zeros();
        odd::r#try(ep, &route, &x, &w, &gate, &up, &down, &mut expected);
        let mut found = case.zeros();
        let report = odd::r#try::launch(&case.group(), &route, &x, &w, &gate, &up, &down, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }

    #[test]
    fn pieces_fixed_tiles_and_two_results(case in cases(mixed::EXPERTS, mixed::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, mixed::EXPERTS, &ids::<{ mixed::TOP_K }>(&case, mixed::EXPERTS)).unwrap();
        let (x, w, v) = (numbers(&case), weights(&case), experts(&case, mixed::EXPERTS, 1));
        let (mut z, mut expected) = (case.zeros(), case.zeros());
        mixed::forward(ep, &route, &x, &w, &v, &mut z, &mut expected);
        let (mut other, mut found) = (case.zeros(), case.zeros());
        let report = mixed::forward::launch(&case.group(), &route, &x, &w, &v, &mut other, &mut found);
        check(&case, report, expected.iter().eq(found.iter()) && z.iter().eq(other.iter()))?;
    }

    #[test]
    fn operations_number_by_number(case in cases(elementwise::EXPERTS, elementwise::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, elementwise::EXPERTS, &ids::<{ elementwise::TOP_K }>(&case, elementwise::EXPERTS)).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let mut expected = case.zeros();
        elementwise::forward(ep, &route, &x, &w, &mut expected);
        let mut found = case.zeros();
        let report = elementwise::forward::launch(&case.group(), &route, &x, &w, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }

    #[test]
    fn tiles_that_do_not_nest_wait_for_whole_experts(case in cases(coarse::EXPERTS, coarse::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, coarse::EXPERTS, &ids::<{ coarse::TOP_K }>(&case, coarse::EXPERTS)).unwrap();
        let (x, w, k) = (numbers(&case), experts(&case, coarse::EXPERTS, 1), weights(&case));
        let mut expected = case.zeros();
        coarse::forward(ep, &route, &x, &w, &k, &mut expected);
        let mut found = case.zeros();
        let report = coarse::forward::launch(&case.group(), &route, &x, &w, &k, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }
}

fn check(case: &Case, report: Result<Report, LaunchError>, equal: bool) -> Result<(), TestCaseError> {
    let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
    prop_assert!(equal, "other bits than the reference: {case:?}");
    prop_assert_eq!(report.empty_tasks, 0);
    Ok(())
}
