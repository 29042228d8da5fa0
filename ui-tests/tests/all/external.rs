//! Hand-written operators give the bits of the bodies that they replace, or approximate them within their promise.

use crate::random::{Case, cases, config, experts, full_ids, numbers, weights};
use crate::small_kernels::external;
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn a_layer_of_operators_is_its_reference(case in cases(external::EXPERTS, external::TOKENS)) {
        let ep = case.ep();
        let route = route(&case);
        let (x, w) = (numbers(&case), weights(&case));
        let (gate, down) = (experts(&case, external::EXPERTS, 1), experts(&case, external::EXPERTS, 3));
        let up = experts(&case, external::EXPERTS, 2);
        let mut expected = case.zeros();
        external::forward(ep, &route, &x, &w, &gate, &up, &down, &mut expected);
        let mut found = case.zeros();
        let report = external::forward::launch(&case.group(), &route, &x, &w, &gate, &up, &down, &mut found);
        let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
        prop_assert!(expected.iter().eq(found.iter()), "different bits than the reference: {case:?}");
        prop_assert_eq!((report.tolerance("y"), report.empty_tasks), (0.0, 0));
    }

    #[test]
    fn results_are_as_near_as_an_operator_promises(case in cases(external::EXPERTS, external::TOKENS)) {
        let ep = case.ep();
        let route = route(&case);
        let (x, w) = (numbers(&case), weights(&case));
        let (mut expected, mut found) = (case.zeros(), case.zeros());
        let (mut rows, mut received) = (PerRank::symmetric(ep, &route), PerRank::symmetric(ep, &route));
        external::softened(ep, &route, &x, &w, &mut rows, &mut expected);
        let report = external::softened::launch(&case.group(), &route, &x, &w, &mut received, &mut found);
        let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
        // No result that an operator approximates has reached this tensor.
        prop_assert!(rows.iter().eq(received.iter()), "different rows than the reference: {case:?}");
        prop_assert_eq!((report.tolerance("received"), report.tolerance("y")), (0.0, 1e-2));
        let values = |tensors: &PerRank<Tensor<bf16, { external::HIDDEN }>>| -> Vec<f32> {
            tensors.iter().flat_map(|part| part.to_vec()).map(f32::from).collect()
        };
        let (expected, found) = (values(&expected), values(&found));
        let largest = expected.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        for (a, b) in expected.iter().zip(&found) {
            // The comparison includes one more rounding of the result.
            prop_assert!((a - b).abs() <= (1e-2 + 1.0 / 256.0) * largest, "{} and {}: {:?}", a, b, case);
        }
        // The operator itself ran: its bits differ from the body's.
        let many = expected.iter().filter(|value| **value != 0.0).count() > 1000;
        prop_assert!(!many || expected != found, "the body ran: {:?}", case);
    }
}

fn route(case: &Case) -> Route {
    Route::new(case.ep(), external::EXPERTS, &full_ids::<{ external::TOP_K }>(case, external::EXPERTS)).unwrap()
}

#[test]
fn an_operator_that_uses_more_than_it_declares_is_refused() {
    let group = Group::new(1);
    let (ep, tokens) = (group.ranks(), 40);
    let x = PerRank::from_fn(ep, |_| Tensor::from_f32(&vec![1.0; tokens * external::HIDDEN]));
    let ids = PerRank::from_fn(ep, |_| Tensor::<i32, { external::TOP_K }>::from_vec([0, 1].repeat(tokens)));
    let route = Route::new(ep, external::EXPERTS, &ids).unwrap();
    let mut y = PerRank::from_fn(ep, |_| Tensor::zeros(tokens));
    let error = external::overflowing::launch(&group, &route, &x, &mut y).unwrap_err().to_string();
    for part in [
        "Cast at ",
        "soften.h",
        "of UB, of which the external operator `soften` has 4096 from address 0 on",
        "`ub = ..`",
    ] {
        assert!(error.contains(part), "{part} is missing in\n{error}");
    }
}

#[test]
fn texts_and_reports_tell_who_computes_what() {
    let code = external::forward::ASCENDC;
    assert!(
        code.contains("constexpr float SHARE [[maybe_unused]] = 0.3f;")
            && code.contains("constexpr uint32_t TILE_M [[maybe_unused]] = 32;"),
        "{code}"
    );
    for part in [
        "#include \"kernels/ops/gemm.h\"",
        "HPMOE_OPERATOR_BEGINS(\"ops::project\", 16384, 65536, 65536, 4096);",
        "::ops::project<128>(x, w, y);",
        "// swiglu by kernels/ops/swiglu.h  ",
    ] {
        assert!(code.contains(part), "{part} is missing in\n{code}");
    }
    // On the host, the body of a device-only operator runs.
    assert!(!code.contains("ops/combine.h") && code.contains("WeightedSum("), "{code}");
    let operators = external::forward::KERNEL.tables().externals;
    let listed: Vec<_> = operators.iter().map(|table| (table.task, table.file, table.device_only)).collect();
    assert!(listed.contains(&("swiglu", "kernels/ops/swiglu.h", false)), "{listed:?}");
    assert!(listed.contains(&("combine", "kernels/ops/combine.h", true)), "{listed:?}");
    let summary = external::forward::summary(1).unwrap();
    assert!(summary.contains("operators     project_k128 by kernels/ops/gemm.h"), "{summary}");
}
