//! Placements: results have the bits of the layer without one, for any places and any number of copies of its experts.

use crate::random::{Case, Routing, cases_on, config, ids, numbers, placement, seeds, tokens, weights};
use crate::small_kernels::placed::{self, EXPERTS, HIDDEN, INTER, TOKENS, TOP_K};
use hpmoe_runtime::Argument;
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;
use support::tensors::by_slot;

/// Spare places of a rank, as in the build script.
const SPARE: usize = 2;
/// Numbers of ranks that divide the experts, or that the build script names.
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

/// The outputs of both passes.
#[derive(PartialEq)]
struct Results {
    y: PerRank<Tensor<bf16, HIDDEN>>,
    dx: PerRank<Tensor<bf16, HIDDEN>>,
    dweights: PerRank<Slots<f32, 1>>,
    dgate: PerRank<Experts<f32, INTER, HIDDEN>>,
    dup: PerRank<Experts<f32, INTER, HIDDEN>>,
    ddown: PerRank<Experts<f32, HIDDEN, INTER>>,
}

/// Runs both passes with a placement, as launches of a group or task by task.
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

/// Runs both passes of kernels that make their route, as launches of a group or task by task; also returns the digests
/// that they kept.
fn run_routed(
    case: &Case,
    placement: &Placement,
    group: Option<&Group>,
) -> Result<(Results, PerRank<Routed>), LaunchError> {
    let ep = case.ep();
    let ids = &ids::<TOP_K>(case, EXPERTS);
    let route = &Route::placed(placement, ids)?;
    let all = Weights::new(case);
    let (gate, up, down) = (
        &placement.place(&all.gate).unwrap(),
        &placement.place(&all.up).unwrap(),
        &placement.place(&all.down).unwrap(),
    );
    let (x, weights, dy) = (&numbers(case), &weights(case), &tokens(case, 9));
    let slots = &by_slot(ep, route, weights);
    let room = ep.count() * TOKENS * TOP_K.min(placement.local_experts());
    let recv = &mut PerRank::with_room(ep, room);
    let (g, u) = (&mut PerRank::with_room(ep, room), &mut PerRank::with_room(ep, room));
    let mut kept = PerRank::routed(ep, EXPERTS, TOP_K, &x.map(Tensor::row_count));
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
        placement.scope(|| {
            placed::routed(ep, ids, x, weights, gate, up, down, recv, g, u, y, &mut kept);
            placed::routed_backward(ep, &kept, dy, slots, gate, up, down, recv, g, u, dx, dweights, dgate, dup, ddown);
        });
        return Ok((results, kept));
    };
    let group = &group.placed(placement)?;
    placed::routed::launch(group, ids, x, weights, gate, up, down, recv, g, u, y, &mut kept)?;
    let chunked = &mut case.zeros();
    placed::routed_in_chunks::launch(group, ids, x, weights, gate, up, down, chunked)?;
    assert!(chunked == y, "chunks change bits");
    placed::routed_backward::launch(
        group, &kept, dy, slots, gate, up, down, recv, g, u, dx, dweights, dgate, dup, ddown,
    )?;
    Ok((results, kept))
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
        return Err("a launch has different bits than its reference".to_owned());
    }
    let (routed, kept) = run_routed(case, &placement, Some(&case.group())).map_err(|error| error.to_string())?;
    if routed != launched {
        return Err("a kernel that makes its route has different bits than one with a route of the host".to_owned());
    }
    let (reference, kept_by_reference) = run_routed(case, &placement, None).unwrap();
    if reference != routed || kept != kept_by_reference {
        return Err("the reference of a kernel that makes its route has other bits, or keeps another route".to_owned());
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

/// Shares of copies, which change the destinations of rows but not the places of experts.
fn with_shares(placement: &Placement, seed: u64) -> Placement {
    let places = placement.physical_to_logical().len() as u64;
    let shares: Vec<u32> = (0..places).map(|place| 1 + ((place * 7 + seed * 13) % 5) as u32).collect();
    placement.with_shares(&shares).unwrap()
}

/// A launch with a fixed argument block uses the placement of each launch, and keeps it with the route.
#[test]
fn a_fixed_launch_takes_another_placement_each_time() {
    let ep = Ranks::new(4);
    let case = Case { tokens: vec![17, 30, 0, 9], routing: Routing::Uniform, seed: 3, late: None };
    let first = placement(&case, EXPERTS, SPARE);
    let (ids, x, weights) = (&ids::<TOP_K>(&case, EXPERTS), &numbers::<HIDDEN>(&case), &weights::<TOP_K>(&case));
    let all = Weights::new(&case);
    let (gate, up, down) =
        (&first.place(&all.gate).unwrap(), &first.place(&all.up).unwrap(), &first.place(&all.down).unwrap());
    let room = ep.count() * TOKENS * TOP_K;
    let recv: &mut Rows<HIDDEN> = &mut PerRank::with_room(ep, room);
    let g: &mut Rows<INTER> = &mut PerRank::with_room(ep, room);
    let u: &mut Rows<INTER> = &mut PerRank::with_room(ep, room);
    let mut kept = PerRank::routed(ep, EXPERTS, TOP_K, &x.map(Tensor::row_count));
    let (y, expected) = (&mut case.zeros(), run_routed(&case, &first, None).unwrap().0.y);
    macro_rules! arguments {
        () => {
            [
                Argument::read("ids", ids),
                Argument::read("x", x),
                Argument::read("weights", weights),
                Argument::read("gate", gate),
                Argument::read("up", up),
                Argument::read("down", down),
                Argument::write("recv", recv),
                Argument::write("g", g),
                Argument::write("u", u),
                Argument::write("y", y),
                Argument::write("kept", &mut kept),
            ]
        };
    }
    let group = case.group();
    let placed = group.placed(&first).unwrap();
    let mut fixed = placed.fix(&placed::routed::KERNEL, None, &arguments!()).unwrap();
    for seed in seeds(20) {
        let next = with_shares(&first, seed);
        fixed.place(&next).unwrap();
        case.ep().into_iter().for_each(|rank| y[rank].fill(bf16::from_f32(0.0)));
        fixed.launch(&arguments!()).unwrap();
        assert!(*y == expected, "launch {seed}");
        assert_eq!(next.scope(|| Route::of::<EXPERTS>(ep, &kept)), Route::placed(&next, ids).unwrap(), "launch {seed}");
        // The route is only for experts in these places.
        let elsewhere = group.placed(&with_shares(&first, seed + 1)).unwrap();
        let refused = backward(&elsewhere, &case, &first, &all, &kept, (recv, g, u)).unwrap_err();
        assert!(matches!(refused, LaunchError::Route(RouteError::KeptPlaced { .. })), "{refused}");
        backward(&group.placed(&next).unwrap(), &case, &first, &all, &kept, (recv, g, u)).unwrap();
    }
}

type Rows<const C: usize> = PerRank<Received<bf16, C>>;

/// A backward pass with a kept route.
fn backward(
    group: &Group,
    case: &Case,
    placement: &Placement,
    all: &Weights,
    kept: &PerRank<Routed>,
    (recv, g, u): (&Rows<HIDDEN>, &Rows<INTER>, &Rows<INTER>),
) -> Result<(), LaunchError> {
    let ep = case.ep();
    let route = &Route::placed(placement, &ids::<TOP_K>(case, EXPERTS)).unwrap();
    let slots = &by_slot::<TOP_K>(ep, route, &weights(case));
    let (gate, up, down) = (
        &placement.place(&all.gate).unwrap(),
        &placement.place(&all.up).unwrap(),
        &placement.place(&all.down).unwrap(),
    );
    let (mut dx, mut dweights) = (case.zeros(), PerRank::slots(ep, route));
    let (mut dgate, mut dup, mut ddown) =
        (PerRank::experts(ep, route), PerRank::experts(ep, route), PerRank::experts(ep, route));
    let (dx, dweights, dgate, dup, ddown) = (&mut dx, &mut dweights, &mut dgate, &mut dup, &mut ddown);
    let dy = &tokens(case, 9);
    placed::routed_backward::launch(
        group, kept, dy, slots, gate, up, down, recv, g, u, dx, dweights, dgate, dup, ddown,
    )?;
    Ok(())
}

/// The error of a kernel that makes its route, for placements that don't fit.
#[test]
fn placements_that_do_not_fit_are_refused() {
    let case = Case { tokens: vec![3; 4], routing: Routing::Uniform, seed: 3, late: None };
    let refused = |placement: Placement, group: Group| {
        let placed = group.placed(&placement)?;
        let (ids, x, weights) = (&ids::<TOP_K>(&case, EXPERTS), &numbers(&case), &weights(&case));
        let fit = Placement::even(case.ep(), EXPERTS, SPARE).unwrap();
        let all = Weights::new(&case);
        let (gate, up, down) =
            (&fit.place(&all.gate).unwrap(), &fit.place(&all.up).unwrap(), &fit.place(&all.down).unwrap());
        placed::routed_in_chunks::launch(&placed, ids, x, weights, gate, up, down, &mut case.zeros()).map(|_| ())
    };
    let even = |ranks, experts, spare| Placement::even(Ranks::new(ranks), experts, spare).unwrap();
    let said = |placement| refused(placement, case.group()).unwrap_err().to_string();
    assert_eq!(
        said(even(2, EXPERTS, SPARE)),
        "the placement is for 2 ranks, but the route is for 4: make one for 4 ranks"
    );
    assert_eq!(
        said(even(4, 11, SPARE)),
        "the placement is for 11 experts, but the route is for 10: make one for 10 experts"
    );
    assert_eq!(
        said(even(4, EXPERTS, 1)),
        "there are 4 places for experts on each rank, but placed::routed_in_chunks was built with 5: use a placement with 5 places on each"
    );
    // Without a placement, experts are distributed evenly, and spare places are empty.
    assert_eq!(refused(even(4, EXPERTS, SPARE), case.group()).map_err(|error| error.to_string()), Ok(()));
}

/// The layer in int8, on numbers of ranks that divide its experts and on one that does not.
mod w8a8 {
    use super::{Case, SPARE, cases_on, config, ids, numbers, placement, weights};
    use hpmoe_runtime::prelude::*;
    use placed_w8a8::{EXPERTS, HIDDEN, INTER, TOP_K};
    use proptest::prelude::*;

    include!(concat!(env!("OUT_DIR"), "/placed_w8a8.rs"));

    const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

    /// A matrix of each logical expert.
    fn matrices<T: Element, const N: usize, const K: usize>(element: impl Fn(usize) -> T) -> Experts<T, N, K> {
        Experts::from_vec((0..EXPERTS * N * K).map(element).collect())
    }

    fn run(case: &Case, placement: &Placement, group: Option<&Group>) -> PerRank<Tensor<bf16, HIDDEN>> {
        let (ep, seed) = (case.ep(), case.seed as usize % 1000);
        let route = &Route::placed(placement, &ids::<TOP_K>(case, EXPERTS)).unwrap();
        let code = |at: usize| ((at * 7919 + seed) % 255) as u8 as i8;
        let scale = |at: usize| 0.001 * ((at * 31 + seed) % 17 + 1) as f32;
        let gate = &placement.place(&matrices::<_, INTER, HIDDEN>(code)).unwrap();
        let up = &placement.place(&matrices::<_, INTER, HIDDEN>(|at| code(at + 5))).unwrap();
        let down = &placement.place(&matrices::<_, HIDDEN, INTER>(|at| code(at + 9))).unwrap();
        let gate_scale = &placement.place(&matrices::<_, 1, INTER>(scale)).unwrap();
        let up_scale = &placement.place(&matrices::<_, 1, INTER>(|at| scale(at + 3))).unwrap();
        let down_scale = &placement.place(&matrices::<_, 1, HIDDEN>(|at| scale(at + 6))).unwrap();
        let (x, weights, y) = (&numbers(case), &weights(case), &mut case.zeros());
        if let Some(group) = group {
            let report = placed_w8a8::forward::launch(
                group, route, x, weights, gate, up, down, gate_scale, up_scale, down_scale, y,
            );
            report.unwrap_or_else(|error| panic!("{case:?}: {error}"));
        } else {
            placed_w8a8::forward(ep, route, x, weights, gate, up, down, gate_scale, up_scale, down_scale, y);
        }
        y.clone()
    }

    proptest! {
        #![proptest_config(config(20))]

        #[test]
        fn no_result_depends_on_a_placement(case in cases_on(RANKS.to_vec(), EXPERTS, 30)) {
            let placement = placement(&case, EXPERTS, SPARE);
            let expected = run(&case, &Placement::even(case.ep(), EXPERTS, 0).unwrap(), None);
            prop_assert!(run(&case, &placement, None) == expected, "the reference: {:?}", case);
            prop_assert!(run(&case, &placement, Some(&case.group())) == expected, "a launch: {:?}", case);
            prop_assert!(expected.iter().all(|y| y.to_vec().iter().all(|y| y.to_f32().is_finite())));
        }
    }
}
