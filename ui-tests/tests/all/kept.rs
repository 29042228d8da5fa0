//! Backward passes with the route that the forward pass has kept: they give the bits of a host-made route, launch after
//! launch, and report kept routes that don't fit the launch.

#[cfg(target_os = "linux")]
use crate::processes;
use crate::random::{Case, Routing, cases, config, experts, ids, numbers};
use crate::small_kernels::kept::{EXPERTS, HIDDEN, INTER, TOKENS, TOP_K, backward, forward, hosted, hosted_backward};
use hpmoe_runtime::Argument;
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;
use std::time::Duration;

type Rows<const C: usize> = PerRank<Received<bf16, C>>;

/// Tokens, experts, and the gradient of the output.
struct Layer {
    ids: PerRank<Tensor<i32, TOP_K>>,
    x: PerRank<Tensor<bf16, HIDDEN>>,
    gate: PerRank<Experts<bf16, INTER, HIDDEN>>,
    down: PerRank<Experts<bf16, HIDDEN, INTER>>,
    dy: PerRank<Tensor<bf16, HIDDEN>>,
}

/// The outputs of a forward pass.
struct Forward {
    recv: Rows<HIDDEN>,
    g: Rows<INTER>,
    y: PerRank<Tensor<bf16, HIDDEN>>,
    routed: PerRank<Routed>,
}

#[derive(PartialEq)]
struct Gradients {
    dx: PerRank<Tensor<bf16, HIDDEN>>,
    dgate: PerRank<Experts<f32, INTER, HIDDEN>>,
    ddown: PerRank<Experts<f32, HIDDEN, INTER>>,
}

impl Layer {
    fn new(case: &Case) -> Self {
        Self {
            ids: ids(case, EXPERTS),
            x: numbers(case),
            gate: experts(case, EXPERTS, 1),
            down: experts(case, EXPERTS, 2),
            dy: numbers(&Case { seed: !case.seed, ..case.clone() }),
        }
    }

    fn ep(&self) -> Ranks {
        self.x.ranks()
    }

    /// Room for the outputs of launches and of the reference.
    fn room(&self) -> Forward {
        let ranks = self.ep().count();
        let room = ranks * TOKENS * TOP_K.min(EXPERTS / ranks);
        self.forward_with(PerRank::with_room(self.ep(), room), PerRank::with_room(self.ep(), room))
    }

    fn forward_with(&self, recv: Rows<HIDDEN>, g: Rows<INTER>) -> Forward {
        let tokens = self.x.map(Tensor::row_count);
        let y = self.x.map(|x| Tensor::zeros(x.row_count()));
        Forward { recv, g, y, routed: PerRank::routed(self.ep(), EXPERTS, TOP_K, &tokens) }
    }

    fn gradients(&self) -> Gradients {
        let dx = self.x.map(|x| Tensor::zeros(x.row_count()));
        let local = EXPERTS / self.ep().count();
        Gradients {
            dx,
            dgate: PerRank::from_fn(self.ep(), |_| Experts::zeros(local)),
            ddown: PerRank::from_fn(self.ep(), |_| Experts::zeros(local)),
        }
    }

    /// The parts of some ranks.
    #[cfg(target_os = "linux")]
    fn of(&self, ranks: Ranks) -> Self {
        Self {
            ids: PerRank::from_fn(ranks, |r| self.ids[r].clone()),
            x: PerRank::from_fn(ranks, |r| self.x[r].clone()),
            gate: PerRank::from_fn(ranks, |r| Experts::from_vec(self.gate[r].to_vec())),
            down: PerRank::from_fn(ranks, |r| Experts::from_vec(self.down[r].to_vec())),
            dy: PerRank::from_fn(ranks, |r| self.dy[r].clone()),
        }
    }

    /// Both passes of the reference.
    fn reference(&self) -> (Forward, Gradients) {
        let (mut made, mut found) = (self.room(), self.gradients());
        let Self { ids, x, gate, down, dy } = self;
        let ep = self.ep();
        forward(ep, ids, x, gate, down, &mut made.recv, &mut made.g, &mut made.y, &mut made.routed);
        let Gradients { dx, dgate, ddown } = &mut found;
        backward(ep, &made.routed, dy, gate, down, &made.recv, &made.g, dx, dgate, ddown);
        (made, found)
    }

    fn launch_forward(&self, group: &Group, made: &mut Forward) -> Result<Report, LaunchError> {
        let Self { ids, x, gate, down, .. } = self;
        let Forward { recv, g, y, routed } = made;
        forward::launch(group, ids, x, gate, down, recv, g, y, routed)
    }

    fn launch_backward(&self, group: &Group, made: &Forward) -> Result<(Gradients, Report), LaunchError> {
        let Self { gate, down, dy, .. } = self;
        let mut found = self.gradients();
        let Gradients { dx, dgate, ddown } = &mut found;
        let Forward { recv, g, routed, .. } = made;
        let report = backward::launch(group, routed, dy, gate, down, recv, g, dx, dgate, ddown)?;
        Ok((found, report))
    }
}

fn group(ranks: usize) -> Group {
    Group::new(ranks).time_limit(Duration::from_secs(60))
}

proptest! {
    #![proptest_config(config(8))]

    #[test]
    fn gradients_by_a_kept_route_have_the_bits_of_a_route_of_the_host(case in cases(EXPERTS, TOKENS)) {
        let failed = |error: LaunchError| TestCaseError::fail(format!("{case:?}: {error}"));
        let layer = Layer::new(&case);
        let (ep, route) = (case.ep(), Route::new(case.ep(), EXPERTS, &layer.ids).unwrap());
        let (made, expected) = layer.reference();
        let mut found = layer.room();
        layer.launch_forward(&case.group(), &mut found).map_err(failed)?;
        prop_assert!(found.routed == made.routed && found.y == made.y, "{:?}", case);
        prop_assert_eq!(Route::of::<EXPERTS>(ep, &found.routed), route.clone());
        for (rank, source) in ep.into_iter().flat_map(|rank| ep.into_iter().map(move |source| (rank, source))) {
            let rows: Vec<usize> = route.experts().map(|expert| route.pair(source, expert).rows).collect();
            prop_assert_eq!(found.routed[rank].rows_from(source), Some(rows), "{} as {} knows it", source, rank);
        }
        let (gradients, report) = layer.launch_backward(&case.group(), &found).map_err(failed)?;
        prop_assert!(gradients == expected, "{:?}", case);
        // The same passes with a host-made route.
        let Layer { x, gate, down, dy, .. } = &layer;
        let mut host = layer.forward_with(PerRank::ragged(ep, &route), PerRank::ragged(ep, &route));
        let Forward { recv, g, y, .. } = &mut host;
        hosted::launch(&case.group(), &route, x, gate, down, recv, g, y).map_err(failed)?;
        let mut of_host = layer.gradients();
        let Gradients { dx, dgate, ddown } = &mut of_host;
        let of = hosted_backward::launch(&case.group(), &route, dy, gate, down, &host.recv, &host.g, dx, dgate, ddown);
        prop_assert!(of_host == gradients && host.y == found.y, "{:?}", case);
        prop_assert_eq!((report.empty_tasks, report.tasks), (0, of.map_err(failed)?.tasks));
        // A route that the host has kept works, too.
        route.keep(&mut found.routed);
        let (gradients, _) = layer.launch_backward(&case.group(), &found).map_err(failed)?;
        prop_assert!(gradients == expected, "{:?}", case);
    }
}

fn layer_of(tokens: &[usize], seed: u64) -> Layer {
    Layer::new(&Case { tokens: tokens.to_vec(), routing: Routing::Uniform, seed, late: None })
}

/// A route that no launch of this shape has kept is an error on all ranks before a row is sent, and the group stays
/// usable.
#[test]
fn what_is_no_route_of_the_launch_is_refused() {
    let (group, tokens) = (group(2), [9, 14]);
    let layer = layer_of(&tokens, 7);
    let (mut made, mut other) = (layer.room(), layer.room());
    let error = layer.launch_backward(&group, &made).err().expect("nothing was kept");
    assert_eq!(
        error.to_string(),
        "`routed` of rank 0 has no route: launch a taskflow first that keeps its route there, by `route.keep(routed);`"
    );
    layer.launch_forward(&group, &mut made).unwrap();
    let (expected, _) = layer.launch_backward(&group, &made).unwrap();
    // Two launches with the same tokens; each rank's kept route is from another one.
    layer.launch_forward(&group, &mut other).unwrap();
    std::mem::swap(&mut made.routed[Rank::new(1)], &mut other.routed[Rank::new(1)]);
    let error = layer.launch_backward(&group, &made).err().expect("they are of different launches");
    assert_eq!(
        error.to_string(),
        "the route in `routed` of rank 1 was kept by a different launch than the route of rank 0: pass what one launch has kept on all ranks"
    );
    std::mem::swap(&mut made.routed[Rank::new(1)], &mut other.routed[Rank::new(1)]);
    // The ranks' parts are swapped; they have the same number of words if both ranks have the same number of tokens.
    let even = layer_of(&[11, 11], 3);
    let mut turned = even.room();
    even.launch_forward(&group, &mut turned).unwrap();
    let parts = [1, 0].map(|rank| turned.routed[Rank::new(rank)].clone());
    turned.routed = PerRank::from_vec(parts.to_vec());
    let error = even.launch_backward(&group, &turned).err().expect("they are of other ranks");
    assert_eq!(
        error.to_string(),
        "the route kept in `routed` of rank 0 is for rank 1, not for 0: pass a route that a launch with the same ranks, experts and tokens has kept"
    );
    // Room for other tokens, or for other ranks.
    let mut small = layer.room();
    small.routed = PerRank::routed(layer.ep(), EXPERTS, TOP_K, &PerRank::from_vec(vec![9, 8]));
    let error = layer.launch_forward(&group, &mut small).unwrap_err().to_string();
    assert!(
        error.contains("`routed` of rank 1 has ") && error.contains("make the tensor with PerRank::routed"),
        "{error}"
    );
    let (found, _) = layer.launch_backward(&group, &made).unwrap();
    assert!(found == expected, "the group goes on");
}

/// A forward pass without a valid route keeps none.
#[test]
fn a_launch_without_a_route_keeps_none() {
    let (group, mut layer) = (group(2), layer_of(&[5, 6], 1));
    let mut made = layer.room();
    layer.launch_forward(&group, &mut made).unwrap();
    let good = layer.ids[Rank::new(1)].to_vec();
    let mut ids = good.clone();
    ids[4] = 99;
    layer.ids[Rank::new(1)].copy_from(&ids);
    let error = layer.launch_forward(&group, &mut made).unwrap_err();
    assert!(matches!(error, LaunchError::Route(RouteError::Id { id: 99, .. })), "{error}");
    let error = layer.launch_backward(&group, &made).err().expect("the last launch has kept none");
    assert!(matches!(error, LaunchError::Route(RouteError::NotKept { rank }) if rank.id() == 0), "{error}");
    // Too little room for its rows.
    layer.ids[Rank::new(1)].copy_from(&good);
    layer.launch_forward(&group, &mut made).unwrap();
    assert!(layer.launch_backward(&group, &made).unwrap().0 == layer.reference().1);
}

/// Two argument blocks alternate, with other data each time, like captured graphs.
#[test]
fn fixed_launches_hand_on_their_routes() {
    for tokens in [&[17][..], &[9, TOKENS], &[17, 0, TOKENS, 1]] {
        let case = |number: u64| Case {
            tokens: tokens.to_vec(),
            routing: [Routing::Uniform, Routing::Few][number as usize % 2],
            seed: number << 8 | [0, 4, 6, 7][number as usize / 2 % 4] << 5,
            late: Some(tokens.len() - 1),
        };
        let group = group(tokens.len()).find_races(true).delay(tokens.len() - 1, Duration::from_micros(300));
        let mut layer = Layer::new(&case(0));
        let (mut made, mut found) = (layer.room(), layer.gradients());
        fn ahead<'a>(layer: &'a Layer, made: &'a mut Forward) -> Vec<Argument<'a>> {
            vec![
                Argument::read("ids", &layer.ids),
                Argument::read("x", &layer.x),
                Argument::read("gate", &layer.gate),
                Argument::read("down", &layer.down),
                Argument::write("recv", &mut made.recv),
                Argument::write("g", &mut made.g),
                Argument::write("y", &mut made.y),
                Argument::write("routed", &mut made.routed),
            ]
        }
        fn back<'a>(layer: &'a Layer, made: &'a Forward, found: &'a mut Gradients) -> Vec<Argument<'a>> {
            vec![
                Argument::read("routed", &made.routed),
                Argument::read("dy", &layer.dy),
                Argument::read("gate", &layer.gate),
                Argument::read("down", &layer.down),
                Argument::read("recv", &made.recv),
                Argument::read("g", &made.g),
                Argument::write("dx", &mut found.dx),
                Argument::write("dgate", &mut found.dgate),
                Argument::write("ddown", &mut found.ddown),
            ]
        }
        let mut first = group.fix(&forward::KERNEL, None, &ahead(&layer, &mut made)).unwrap();
        let mut second = group.fix(&backward::KERNEL, None, &back(&layer, &made, &mut found)).unwrap();
        for number in 0..8 {
            let fresh = Layer::new(&case(number));
            for rank in layer.ep() {
                layer.ids[rank].copy_from(&fresh.ids[rank].to_vec());
                layer.x[rank].copy_from(&fresh.x[rank].to_vec());
                layer.dy[rank].copy_from(&fresh.dy[rank].to_vec());
            }
            first.launch(&ahead(&layer, &mut made)).unwrap();
            second.launch(&back(&layer, &made, &mut found)).unwrap();
            let (expected_forward, expected) = layer.reference();
            assert!(expected_forward.routed == made.routed, "launch {number} of {tokens:?}");
            assert!(expected == found, "launch {number} of {tokens:?}");
        }
    }
}

/// Two processes, each with one rank.
#[test]
#[cfg(target_os = "linux")]
fn ranks_that_are_processes_hand_on_their_routes() {
    assert_eq!(processes::two_ranks("kept::one_rank_of_two"), [true, true]);
}

/// One of these processes.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "a process of another test"]
fn one_rank_of_two() {
    let group = Group::from_launcher().unwrap().expect("the variables of a launcher");
    let group = group.time_limit(Duration::from_secs(60));
    let Some(me) = group.ranks().only() else { panic!("one rank of two") };
    let all = layer_of(&[9, 23], 5);
    let (expected_forward, expected) = all.reference();
    let own = all.of(group.ranks());
    let mut made = own.room();
    own.launch_forward(&group, &mut made).unwrap();
    let kept = made.routed[me].clone();
    own.launch_forward(&group, &mut made).unwrap();
    let (found, _) = own.launch_backward(&group, &made).unwrap();
    assert!(expected_forward.routed[me] == made.routed[me] && expected.dx[me] == found.dx[me]);
    assert!(expected.dgate[me] == found.dgate[me] && expected.ddown[me] == found.ddown[me]);
    // One rank passes the route that it kept in the launch before.
    if me.id() == 1 {
        made.routed[me] = kept;
    }
    let error = own.launch_backward(&group, &made).err().expect("they are of different launches");
    assert!(matches!(error, LaunchError::Route(RouteError::KeptApart { rank }) if rank.id() == 1), "{error}");
}
