//! Backward passes on random groups and routings: all tokens to one expert, single tokens, and ranks and experts
//! without tokens.

use crate::random::{Case, Routing, cases, config, experts, full_ids, ids, numbers, weights};
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;
use support::tensors::Tensors;

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

            include!(concat!(env!("OUT_DIR"), "/", $file, ".rs"));

            /// The difference from the reference, or the error; `None` if there is neither.
            pub fn check($case: &Case) -> Result<(), String> {
                let (layer, dy) = super::layer($case);
                let weights = by_slot(layer.ep, &layer.route, &layer.weights);
                let $step = Step { layer, dy, weights };
                $check
            }
        }
    };
}

/// A layer in two forms: slots are empty, or go to experts that contribute nothing, because their down matrices are
/// zero. Such an expert k is for column k.
fn with_nothing(case: &Case) -> [(Tensors<HIDDEN, INTER, TOP_K>, PerRank<Tensor<bf16, HIDDEN>>); 2] {
    let case = Case { routing: Routing::Uniform, ..case.clone() };
    let others = full_ids::<TOP_K>(&case, EXPERTS - TOP_K);
    let route = |nothing: fn(usize) -> i32| {
        let of_rank = |ids: &Tensor<i32, TOP_K>| {
            let id = |(slot, id): (usize, i32)| match (slot * 7919 + case.seed as usize % 1009) % 5 {
                0 | 2 => nothing(slot % TOP_K),
                _ => id + TOP_K as i32,
            };
            Tensor::<i32, TOP_K>::from_vec(ids.to_vec().into_iter().enumerate().map(id).collect())
        };
        Route::new(case.ep(), EXPERTS, &others.map(of_rank)).unwrap()
    };
    [route(|_| -1), route(|k| k as i32)].map(|route| {
        let (mut layer, dy) = layer(&case);
        let local = route.local_experts();
        layer.down = PerRank::from_fn(layer.ep, |rank| {
            let mut down = layer.down[rank].to_vec();
            let nothing = TOP_K.saturating_sub(rank.id() * local).min(local);
            down[..nothing * HIDDEN * INTER].fill(bf16::ZERO);
            Experts::from_vec(down)
        });
        (Tensors { route, ..layer }, dy)
    })
}

fn good(what: &str, equal: bool, report: &Report) -> Result<(), String> {
    match (equal, report.empty_tasks) {
        (false, _) => Err(format!("{what}: different bits than the reference")),
        (true, 0) => Ok(()),
        (true, empty) => Err(format!("{what}: {empty} empty tasks")),
    }
}

pass!(train, "train_qwen3_ragged", |case, step| {
    let words = |error: LaunchError| error.to_string();
    let (saved, report) = step.launch_forward(&case.group()).map_err(words)?;
    super::good("forward", saved == step.forward(), &report)?;
    let [empty, nothing] = super::with_nothing(case).map(|(layer, dy)| {
        let weights = by_slot(layer.ep, &layer.route, &layer.weights);
        Step { layer, dy, weights }
    });
    let [empty_saved, nothing_saved] = [&empty, &nothing].map(Step::forward);
    Choice::ALL.into_iter().try_for_each(|choice| {
        let (found, report) = step.launch_backward(&case.group(), &saved, choice).map_err(words)?;
        super::good(&format!("{choice:?}"), found == step.backward(&saved, choice), &report)?;
        let [found, expected] = [(&empty, &empty_saved), (&nothing, &nothing_saved)].map(|(step, saved)| {
            (saved.y.iter().flat_map(Tensor::to_f32).collect(), step.backward(saved, choice).numbers())
        });
        super::worth_nothing(&empty.layer.route, found, expected)
    })
});

/// Checks that empty slots have the same effect as experts that contribute nothing: outputs and gradients are equal,
/// except the gradients of these experts. This computes the meaning of empty slots in another way.
fn worth_nothing(
    route: &Route,
    (y, found): (Vec<f32>, [Vec<f32>; 4]),
    (expected_y, expected): (Vec<f32>, [Vec<f32>; 4]),
) -> Result<(), String> {
    let down = TOP_K * HIDDEN * INTER;
    let equal = y == expected_y && found[..3] == expected[..3] && found[3][down..] == expected[3][down..];
    let slots = |rank| {
        let empty = route.empty_slots(rank);
        (0..route.tokens(rank) * TOP_K).map(move |slot| empty.get(slot) == Some(&true))
    };
    let gradients = found[1].iter().zip(route.ranks().into_iter().flat_map(slots)).filter(|(_, empty)| *empty);
    let zero = gradients.map(|(weight, _)| weight.to_bits()).all(|bits| bits == 0);
    if equal && zero { Ok(()) } else { Err(format!("empty slots: equal {equal}, gradients of weights +0 {zero}")) }
}

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
