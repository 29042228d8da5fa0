//! Fixed launches: one argument block, launched up to a hundred times with other data in the same tensors.

#[cfg(target_os = "linux")]
use crate::processes;
use crate::random::{Case, Routing, experts, ids, numbers, seeds, weights};
use crate::small_kernels::routed::{EXPERTS, HIDDEN, INTER, TOKENS, TOP_K, chunked, forward, hosted};
use hpmoe_runtime::Argument;
use hpmoe_runtime::prelude::*;
use std::time::Duration;

/// Number of tokens of a group's ranks.
const TOKENS_OF: [&[usize]; 3] = [&[TOKENS], &[9, TOKENS], &[17, 0, TOKENS, 1]];

/// The data of a launch: each launch has other ids, some of which are empty slots.
fn case(tokens: &[usize], number: u64) -> Case {
    let routing = [Routing::Uniform, Routing::Favourite(number as usize % EXPERTS), Routing::Few][number as usize % 3];
    let gaps = [0, 4, 0, 6, 5, 7][number as usize / 3 % 6];
    Case { tokens: tokens.to_vec(), routing, seed: number << 8 | gaps << 5, late: Some(tokens.len() - 1) }
}

/// In each launch, one rank is late.
fn group(tokens: &[usize]) -> Group {
    let group = Group::new(tokens.len()).time_limit(Duration::from_secs(60)).find_races(true);
    group.delay(tokens.len() - 1, Duration::from_micros(300))
}

/// The tensors of all launches.
struct Layer {
    ids: PerRank<Tensor<i32, TOP_K>>,
    x: PerRank<Tensor<bf16, HIDDEN>>,
    weights: PerRank<Tensor<f32, TOP_K>>,
    gate: PerRank<Experts<bf16, INTER, HIDDEN>>,
    down: PerRank<Experts<bf16, HIDDEN, INTER>>,
    y: PerRank<Tensor<bf16, HIDDEN>>,
}

impl Layer {
    fn new(case: &Case) -> Self {
        Self {
            ids: ids(case, EXPERTS),
            x: numbers(case),
            weights: weights(case),
            gate: experts(case, EXPERTS, 1),
            down: experts(case, EXPERTS, 2),
            y: case.zeros(),
        }
    }

    /// Writes other numbers to the same memory.
    fn refill(&mut self, case: &Case) {
        let (ids, x, weights) = (ids::<TOP_K>(case, EXPERTS), numbers::<HIDDEN>(case), weights::<TOP_K>(case));
        for rank in case.ep() {
            self.ids[rank].copy_from(&ids[rank].to_vec());
            self.x[rank].copy_from(&x[rank].to_vec());
            self.weights[rank].copy_from(&weights[rank].to_vec());
            self.y[rank].fill(bf16::from_f32(-1.0));
        }
    }

    /// The parts of some ranks.
    fn of(&self, ranks: Ranks) -> Self {
        Self {
            ids: PerRank::from_fn(ranks, |r| self.ids[r].clone()),
            x: PerRank::from_fn(ranks, |r| self.x[r].clone()),
            weights: PerRank::from_fn(ranks, |r| self.weights[r].clone()),
            gate: PerRank::from_fn(ranks, |r| Experts::from_vec(self.gate[r].to_vec())),
            down: PerRank::from_fn(ranks, |r| Experts::from_vec(self.down[r].to_vec())),
            y: PerRank::from_fn(ranks, |r| self.y[r].clone()),
        }
    }

    /// The arguments of a kernel that makes its route, or of one whose route the host makes.
    fn arguments<'a>(
        &'a mut self,
        g: Option<&'a mut PerRank<Received<bf16, INTER>>>,
        hosted: bool,
    ) -> Vec<Argument<'a>> {
        let ids = (!hosted).then(|| Argument::read("ids", &self.ids));
        let read = [
            Argument::read("x", &self.x),
            Argument::read("weights", &self.weights),
            Argument::read("gate", &self.gate),
            Argument::read("down", &self.down),
        ];
        let g = g.map(|g| Argument::write("g", g));
        ids.into_iter().chain(read).chain(g).chain([Argument::write("y", &mut self.y)]).collect()
    }
}

#[test]
fn all_launches_of_one_argument_block_have_a_route_each() {
    for tokens in TOKENS_OF {
        let first = case(tokens, 0);
        let (ep, group, mut layer) = (first.ep(), group(tokens), Layer::new(&first));
        let room = || PerRank::with_room(ep, tokens.len() * TOKENS * TOP_K.min(EXPERTS / tokens.len()));
        let (mut g, mut expected_g) = (room(), room());
        let mut fixed = group.fix(&forward::KERNEL, None, &layer.arguments(Some(&mut g), false)).unwrap();
        for number in seeds(100) {
            layer.refill(&case(tokens, number));
            let report = fixed.launch(&layer.arguments(Some(&mut g), false));
            let report = report.unwrap_or_else(|error| panic!("launch {number} of {tokens:?}: {error}"));
            assert_eq!(report.launches, 1);
            let Layer { ids, x, weights, gate, down, y } = &layer;
            let mut expected = first.zeros();
            forward(ep, ids, x, weights, gate, down, &mut expected_g, &mut expected);
            assert!(expected.iter().eq(y.iter()), "launch {number} of {tokens:?}");
        }
    }
}

#[test]
fn chunks_are_routed_by_each_launch_of_one_argument_block() {
    let tokens = TOKENS_OF[2];
    let first = case(tokens, 0);
    let (ep, group, mut layer) = (first.ep(), group(tokens), Layer::new(&first));
    let mut fixed = group.fix(&chunked::KERNEL, None, &layer.arguments(None, false)).unwrap();
    for number in seeds(100) {
        layer.refill(&case(tokens, number));
        fixed.launch(&layer.arguments(None, false)).unwrap();
        let Layer { ids, x, weights, gate, down, y } = &layer;
        let mut expected = first.zeros();
        chunked(ep, ids, x, weights, gate, down, &mut expected);
        assert!(expected.iter().eq(y.iter()), "launch {number}");
    }
}

/// If the host makes the route, all launches of a block have the same route.
#[test]
fn a_route_of_the_host_is_fixed_with_the_argument_block() {
    let tokens = TOKENS_OF[1];
    let first = case(tokens, 1);
    let (ep, group, mut layer) = (first.ep(), group(tokens), Layer::new(&first));
    let route = Route::new(ep, EXPERTS, &layer.ids).unwrap();
    let (mut g, mut expected_g) = (PerRank::ragged(ep, &route), PerRank::ragged(ep, &route));
    let mut fixed = group.fix(&hosted::KERNEL, Some(&route), &layer.arguments(Some(&mut g), true)).unwrap();
    for number in 0..30 {
        layer.refill(&case(tokens, number));
        fixed.launch(&layer.arguments(Some(&mut g), true)).unwrap();
        let Layer { x, weights, gate, down, y, .. } = &layer;
        let mut expected = first.zeros();
        hosted(ep, &route, x, weights, gate, down, &mut expected_g, &mut expected);
        assert!(expected.iter().eq(y.iter()) && expected_g.iter().eq(g.iter()), "launch {number}");
    }
}

/// Launches of a block, of another block of the same kernel, and ordinary launches alternate. Ids without a valid route
/// end a launch, and the next one runs.
#[test]
fn fixed_launches_take_turns_with_others() {
    let tokens = TOKENS_OF[2];
    let first = case(tokens, 0);
    let (ep, group) = (first.ep(), group(tokens));
    let mut layers = [Layer::new(&first), Layer::new(&first)];
    let mut fixed =
        layers.each_mut().map(|layer| group.fix(&chunked::KERNEL, None, &layer.arguments(None, false)).unwrap());
    for number in 0..24 {
        let which = number as usize / 3 % 2;
        let (layer, fixed) = (&mut layers[which], &mut fixed[which]);
        layer.refill(&case(tokens, number));
        if number % 5 == 4 {
            let mut ids = layer.ids[Rank::new(2)].to_vec();
            ids[7] = 99;
            layer.ids[Rank::new(2)].copy_from(&ids);
            let fault = Route::new(ep, EXPERTS, &layer.ids).unwrap_err();
            let error = fixed.launch(&layer.arguments(None, false)).unwrap_err();
            assert!(matches!(error, LaunchError::Route(found) if found == fault), "{error}");
            assert!(layer.y.iter().all(|y| y.to_vec().iter().all(|y| y.to_f32() == -1.0)), "nothing is written");
            continue;
        }
        let Layer { ids, x, weights, gate, down, y } = layer;
        let mut expected = first.zeros();
        chunked(ep, ids, x, weights, gate, down, &mut expected);
        if number % 3 == 2 {
            chunked::launch(&group, ids, x, weights, gate, down, y).unwrap();
        } else {
            fixed.launch(&layer.arguments(None, false)).unwrap();
        }
        assert!(expected.iter().eq(layer.y.iter()), "launch {number}");
    }
}

#[test]
fn a_fixed_launch_refuses_other_tensors_and_ends_with_its_group() {
    let tokens = TOKENS_OF[1];
    let first = case(tokens, 0);
    let group = group(tokens).time_limit(Duration::from_nanos(40)).delay(1, Duration::from_millis(50));
    let (mut layer, mut other) = (Layer::new(&first), Layer::new(&first));
    let mut fixed = group.fix(&chunked::KERNEL, None, &layer.arguments(None, false)).unwrap();
    let error = fixed.launch(&other.arguments(None, false)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`ids` has a different address or number of rows than when the launch was fixed: pass the same tensor with other data in it, or call \
         Group::fix for this one"
    );
    let error = fixed.launch(&layer.arguments(None, true)).unwrap_err().to_string();
    assert!(error.starts_with("routed::chunked takes 6 tensors, but got 5"), "{error}");
    assert!(fixed.wait().unwrap().is_none() && !group.is_broken());
    // A launch that was given up breaks the group: its counters are wrong for other launches.
    let error = fixed.launch(&layer.arguments(None, false)).unwrap_err();
    assert!(matches!(error, LaunchError::Stuck(_)), "{error}");
    assert!(matches!(fixed.launch(&layer.arguments(None, false)), Err(LaunchError::Broken)) && group.is_broken());
    assert!(matches!(group.fix(&chunked::KERNEL, None, &layer.arguments(None, false)), Err(LaunchError::Broken)));
}

/// Two processes, each with one rank.
#[test]
#[cfg(target_os = "linux")]
fn ranks_that_are_processes_have_a_block_each() {
    assert_eq!(processes::two_ranks("replay::one_rank_of_two"), [true, true]);
}

/// One of these processes.
#[test]
#[ignore = "a process of another test"]
fn one_rank_of_two() {
    let group = Group::from_launcher().unwrap().expect("the variables of a launcher");
    let group = group.time_limit(Duration::from_secs(60)).delay(1, Duration::from_micros(300));
    let Some(me) = group.ranks().only() else { panic!("one rank of two") };
    let tokens = TOKENS_OF[1];
    let first = case(tokens, 0);
    let mut all = Layer::new(&first);
    let mut own = all.of(group.ranks());
    let mut fixed = group.fix(&chunked::KERNEL, None, &own.arguments(None, false)).unwrap();
    for number in seeds(20) {
        all.refill(&case(tokens, number));
        own.ids[me].copy_from(&all.ids[me].to_vec());
        own.x[me].copy_from(&all.x[me].to_vec());
        own.weights[me].copy_from(&all.weights[me].to_vec());
        fixed.launch(&own.arguments(None, false)).unwrap();
        let Layer { ids, x, weights, gate, down, .. } = &all;
        let mut expected = first.zeros();
        chunked(first.ep(), ids, x, weights, gate, down, &mut expected);
        assert!(expected[me] == own.y[me], "launch {number}");
    }
}
