//! Backward passes on random groups and routings: tokens of all ranks to one expert, single tokens, ranks and experts without any.

use crate::random::{Case, cases, config, experts, ids, numbers, weights};
use crate::support::tensors::Tensors;
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;

const HIDDEN: usize = 96;
const INTER: usize = 48;
const EXPERTS: usize = 12;
const TOP_K: usize = 3;

/// A layer with random numbers, and the gradient of its output.
fn layer(case: &Case) -> (Tensors<HIDDEN, INTER, TOP_K>, PerRank<Tensor<bf16, HIDDEN>>) {
    let ep = case.ep();
    let layer = Tensors {
        ep,
        route: Route::new(ep, EXPERTS, &ids::<TOP_K>(case, EXPERTS)).unwrap(),
        x: numbers(case),
        weights: weights(case),
        gate: experts(case, EXPERTS, 1),
        up: experts(case, EXPERTS, 2),
        down: experts(case, EXPERTS, 3),
    };
    (layer, numbers(&Case { seed: !case.seed, ..case.clone() }))
}

macro_rules! pass {
    ($module:ident, $file:literal, |$case:ident, $step:ident| $check:block) => {
        #[allow(dead_code, reason = "the example also prints")]
        mod $module {
            use crate::random::Case;
            use crate::support;

            include!(concat!(env!("OUT_DIR"), "/", $file, ".rs"));

            /// What differs from the reference, or goes wrong, if anything.
            pub fn check($case: &Case) -> Result<(), String> {
                let (layer, dy) = super::layer($case);
                let weights = by_slot(layer.ep, &layer.route, &layer.weights);
                let $step = Step { layer, dy, weights };
                $check
            }
        }
    };
}

fn good(what: &str, equal: bool, report: &Report) -> Result<(), String> {
    match (equal, report.empty_tasks) {
        (false, _) => Err(format!("{what}: other bits than the reference")),
        (true, 0) => Ok(()),
        (true, empty) => Err(format!("{what}: {empty} empty tasks")),
    }
}

pass!(train, "train_qwen3_ragged", |case, step| {
    let words = |error: LaunchError| error.to_string();
    let (saved, report) = step.launch_forward(&case.group()).map_err(words)?;
    super::good("forward", saved == step.forward(), &report)?;
    Choice::ALL.into_iter().try_for_each(|choice| {
        let (found, report) = step.launch_backward(&case.group(), &saved, choice).map_err(words)?;
        super::good(&format!("{choice:?}"), found == step.backward(&saved, choice), &report)
    })
});

pass!(chunks, "grad_in_5_chunks", |case, step| {
    // Each launch adds to the gradients.
    let (found, report) = step.launch(&case.group().repeat(1)).map_err(|error| error.to_string())?;
    super::good("in chunks", found == step.reference(), &report)
});

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn whatever_was_saved(case in cases(EXPERTS, 40)) {
        train::check(&case).map_err(|problem| TestCaseError::fail(format!("{case:?}: {problem}")))?;
    }

    #[test]
    fn in_chunks(case in cases(EXPERTS, 40)) {
        chunks::check(&case).map_err(|problem| TestCaseError::fail(format!("{case:?}: {problem}")))?;
    }
}
