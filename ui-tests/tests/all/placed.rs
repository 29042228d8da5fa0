//! Placements: results have the bits of the layer without one, wherever its experts lie and however many copies of them there are.

use crate::random::{Case, cases_on, config, ids, numbers, placement, tokens, weights};
use crate::small_kernels::placed::{self, EXPERTS, HIDDEN, INTER, TOP_K};
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;
use support::tensors::by_slot;

/// Places of a rank beyond its share, as the build script has them.
const SPARE: usize = 2;
/// Numbers of ranks: those that divide the experts, and those that the build script names.
const RANKS: [usize; 5] = [1, 2, 4, 5, 7];

/// The experts of all ranks, each in its own matrix.
struct Weights {
    gate: Experts<bf16, INTER, HIDDEN>,
    up: Experts<bf16, INTER, HIDDEN>,
    down: Experts<bf16, HIDDEN, INTER>,
}

impl Weights {
    fn new(case: &Case) -> Self {
        let alone = Case { tokens: vec![0], ..case.clone() };
        let rank = Rank::new(0);
        Self {
            gate: crate::random::experts(&alone, EXPERTS, 1)[rank].clone(),
            up: crate::random::experts(&alone, EXPERTS, 2)[rank].clone(),
            down: crate::random::experts(&alone, EXPERTS, 3)[rank].clone(),
        }
    }
}

/// What both passes give.
#[derive(PartialEq)]
struct Results {
    y: PerRank<Tensor<bf16, HIDDEN>>,
    dx: PerRank<Tensor<bf16, HIDDEN>>,
    dweights: PerRank<Slots<f32, 1>>,
    dgate: PerRank<Experts<f32, INTER, HIDDEN>>,
    dup: PerRank<Experts<f32, INTER, HIDDEN>>,
    ddown: PerRank<Experts<f32, HIDDEN, INTER>>,
}

/// Runs both passes with a placement, by launches in a group or one task after another.
fn run(case: &Case, placement: &Placement, group: Option<&Group>) -> Result<Results, LaunchError> {
    let ep = case.ep();
    let route = &Route::placed(placement, &ids::<TOP_K>(case, EXPERTS))?;
    let all = Weights::new(case);
    let (gate, up, down) = (
        &placement.place(&all.gate).unwrap(),
        &placement.place(&all.up).unwrap(),
        &placement.place(&all.down).unwrap(),
    );
    let (x, weights, dy) = (&numbers(case), &weights(case), &tokens(case, 9));
    let slots = &by_slot(ep, route, weights);
    let recv = &mut PerRank::symmetric(ep, route);
    let (g, u) = (&mut PerRank::ragged(ep, route), &mut PerRank::ragged(ep, route));
    let mut results = Results {
        y: case.zeros(),
        dx: case.zeros(),
        dweights: PerRank::slots(ep, route),
        dgate: PerRank::experts(ep, route),
        dup: PerRank::experts(ep, route),
        ddown: PerRank::experts(ep, route),
    };
    let Results { y, dx, dweights, dgate, dup, ddown } = &mut results;
    let Some(group) = group else {
        placed::forward(ep, route, x, weights, gate, up, down, recv, g, u, y);
        placed::backward(ep, route, dy, slots, gate, up, down, recv, g, u, dx, dweights, dgate, dup, ddown);
        return Ok(results);
    };
    placed::forward::launch(group, route, x, weights, gate, up, down, recv, g, u, y)?;
    let chunked = &mut case.zeros();
    placed::in_chunks::launch(group, route, x, weights, gate, up, down, chunked)?;
    assert!(chunked == y, "chunks change bits");
    placed::backward::launch(group, route, dy, slots, gate, up, down, recv, g, u, dx, dweights, dgate, dup, ddown)?;
    Ok(results)
}

/// The gradients of experts with one physical expert, by logical expert.
fn of_lone<const N: usize, const K: usize>(
    placement: &Placement,
    lone: &[bool],
    gradients: &PerRank<Experts<f32, N, K>>,
) -> Vec<Vec<u32>> {
    let sum = placement.sum(gradients).unwrap().to_vec();
    let experts = sum.chunks(N * K).zip(lone).filter(|(_, lone)| **lone);
    experts.map(|(matrix, _)| matrix.iter().map(|value| value.to_bits()).collect()).collect()
}

fn check(case: &Case) -> Result<(), String> {
    let placement = placement(case, EXPERTS, SPARE);
    let plain = Placement::even(case.ep(), EXPERTS, 0).unwrap();
    let launched = run(case, &placement, Some(&case.group())).map_err(|error| error.to_string())?;
    let placed = run(case, &placement, None).unwrap();
    if launched != placed {
        return Err("a launch has other bits than its reference".to_owned());
    }
    let expected = run(case, &plain, None).unwrap();
    if launched.y != expected.y
        || launched.dx != expected.dx
        || launched.dweights.to_bits() != expected.dweights.to_bits()
    {
        return Err("the placement changes bits of y, dx or dweights".to_owned());
    }
    let lone: Vec<bool> =
        (0..EXPERTS).map(|expert| placement.copies(LogicalExpert::new(expert)).count() == 1).collect();
    let same = of_lone(&placement, &lone, &launched.dgate) == of_lone(&plain, &lone, &expected.dgate)
        && of_lone(&placement, &lone, &launched.dup) == of_lone(&plain, &lone, &expected.dup)
        && of_lone(&placement, &lone, &launched.ddown) == of_lone(&plain, &lone, &expected.ddown);
    if same { Ok(()) } else { Err("the placement changes gradients of experts without copies".to_owned()) }
}

trait Bits {
    fn to_bits(&self) -> Vec<u32>;
}

impl Bits for PerRank<Slots<f32, 1>> {
    fn to_bits(&self) -> Vec<u32> {
        self.iter().flat_map(|slots| slots.to_vec()).map(f32::to_bits).collect()
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn no_result_depends_on_a_placement(case in cases_on(RANKS.to_vec(), EXPERTS, 30)) {
        check(&case).map_err(|problem| TestCaseError::fail(format!("{case:?}: {problem}")))?;
    }
}
