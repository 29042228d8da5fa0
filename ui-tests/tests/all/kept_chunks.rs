//! Backward passes in chunks with the route that the forward pass has kept: each launch chooses its number of chunks.

use crate::chunks::kept_in_any_chunks::kept_at_launch::{self as chosen, EXPERTS, HIDDEN, INTER, TOKENS, TOP_K};
use crate::chunks::kept_placed_in_any_chunks::kept_placed_at_launch as placed;
use crate::random::{Case, Routing, cases, cases_on, config, experts, ids, numbers, placement};
use crate::small_kernels::kept_chunks as constant;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{Argument, ArgumentError};
use proptest::prelude::*;
use std::time::Duration;

/// Number of chunks of each kernel: the maximum that launches choose from, or the constant.
const CHUNKS: usize = 8;

type Tokens = PerRank<Tensor<bf16, HIDDEN>>;

/// Maximum number of rows of a chunk that a rank receives, for a number of chunks, counted slot by slot.
fn fullest(ids: &PerRank<Tensor<i32, TOP_K>>, chunks: usize) -> usize {
    let local = EXPERTS / ids.ranks().count();
    let mut rows = vec![vec![0; chunks]; ids.ranks().count()];
    for ids in ids.iter().map(Tensor::to_vec) {
        let part = (ids.len() / TOP_K).div_ceil(CHUNKS) * (CHUNKS / chunks);
        for (slot, expert) in ids.iter().enumerate().filter(|(_, expert)| **expert >= 0) {
            rows[*expert as usize / local][slot / TOP_K / part] += 1;
        }
    }
    rows.into_iter().flatten().max().unwrap_or(0)
}

/// The least number of chunks that fits.
fn least(ids: &PerRank<Tensor<i32, TOP_K>>, capacity: usize) -> Option<usize> {
    [1, 2, 4, CHUNKS].into_iter().find(|chunks| fullest(ids, *chunks) <= capacity)
}

struct Layer {
    ids: PerRank<Tensor<i32, TOP_K>>,
    x: Tokens,
    gate: PerRank<Experts<bf16, INTER, HIDDEN>>,
    down: PerRank<Experts<bf16, HIDDEN, INTER>>,
    dy: Tokens,
}

/// The results of both passes.
struct Made {
    y: Tokens,
    routed: PerRank<Routed>,
    dx: Tokens,
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

    /// The parts of some ranks.
    fn of(&self, ranks: Ranks) -> Self {
        Self {
            ids: PerRank::from_fn(ranks, |r| self.ids[r].clone()),
            x: PerRank::from_fn(ranks, |r| self.x[r].clone()),
            gate: PerRank::from_fn(ranks, |r| self.gate[r].clone()),
            down: PerRank::from_fn(ranks, |r| self.down[r].clone()),
            dy: PerRank::from_fn(ranks, |r| self.dy[r].clone()),
        }
    }

    /// Other numbers in the same memory.
    fn refill(&mut self, case: &Case) {
        let other = Self::new(case);
        for rank in self.ep() {
            self.ids[rank].copy_from(&other.ids[rank].to_vec());
            self.x[rank].copy_from(&other.x[rank].to_vec());
            self.dy[rank].copy_from(&other.dy[rank].to_vec());
        }
    }

    fn room_in(&self, chunks: usize) -> Made {
        let tokens = self.x.map(Tensor::row_count);
        let zeros = || self.x.map(|x| Tensor::zeros(x.row_count()));
        Made { y: zeros(), routed: PerRank::routed_in_chunks(self.ep(), EXPERTS, TOP_K, chunks, &tokens), dx: zeros() }
    }

    fn room(&self) -> Made {
        self.room_in(CHUNKS)
    }

    fn reference(&self) -> Made {
        let Self { ids, x, gate, down, dy } = self;
        let mut made = self.room();
        chosen::forward(self.ep(), ids, x, gate, down, &mut made.y, &mut made.routed);
        chosen::backward(self.ep(), &made.routed, dy, gate, down, &mut made.dx);
        made
    }

    fn forward(&self, group: &Group, made: &mut Made) -> Result<Report, LaunchError> {
        let Self { ids, x, gate, down, .. } = self;
        chosen::forward::launch(group, ids, x, gate, down, &mut made.y, &mut made.routed)
    }

    fn backward(&self, group: &Group, made: &mut Made) -> Result<Report, LaunchError> {
        let Self { gate, down, dy, .. } = self;
        chosen::backward::launch(group, &made.routed, dy, gate, down, &mut made.dx)
    }
}

/// Gradients of tokens and weights.
struct Gradients {
    dx: Tokens,
    dgate: PerRank<Experts<f32, INTER, HIDDEN>>,
}

impl Gradients {
    fn room(layer: &Layer) -> Self {
        let local = EXPERTS / layer.ep().count();
        let dgate = PerRank::from_fn(layer.ep(), |_| Experts::zeros(local));
        Self { dx: layer.room().dx, dgate }
    }

    fn reference(layer: &Layer) -> Self {
        let Layer { ids, x, dy, gate, down } = layer;
        let mut made = Self::room(layer);
        chosen::backward_of_ids(layer.ep(), ids, x, dy, down, gate, &mut made.dx, &mut made.dgate);
        made
    }

    /// By ids, or by the route that a launch has kept.
    fn launch(
        &mut self,
        layer: &Layer,
        group: &Group,
        routed: Option<&PerRank<Routed>>,
    ) -> Result<Report, LaunchError> {
        let Layer { ids, x, dy, gate, down } = layer;
        match routed {
            None => chosen::backward_of_ids::launch(group, ids, x, dy, down, gate, &mut self.dx, &mut self.dgate),
            Some(routed) => {
                chosen::backward_of_weights::launch(group, routed, x, dy, down, gate, &mut self.dx, &mut self.dgate)
            }
        }
    }
}

/// Whether an error names the maximum number of rows for the largest number of chunks, because none fits.
fn is_capacity(error: &LaunchError, ids: &PerRank<Tensor<i32, TOP_K>>, capacity: usize) -> bool {
    matches!(error, LaunchError::Capacity { rows, capacity: room, chunks: Some(CHUNKS), .. }
        if (*rows, *room) == (fullest(ids, CHUNKS), capacity))
}

proptest! {
    #![proptest_config(config(24))]

    /// Both passes have the bits of the reference, each in the least number of chunks that fits its own room.
    #[test]
    fn each_pass_chooses_its_number_of_chunks(case in cases(EXPERTS, TOKENS), shares in (1..=9usize, 1..=9usize)) {
        let failed = |error: LaunchError| TestCaseError::fail(format!("{case:?}: {error}"));
        let layer = Layer::new(&case);
        let expected = layer.reference();
        let most = fullest(&layer.ids, 1);
        // With nine shares there is room for any routing in one chunk.
        let room = |share: usize| if share == 9 { CHUNKS * CHUNKS * TOKENS * TOP_K } else { (most * share).div_ceil(8) };
        let [ahead, back] = [shares.0, shares.1].map(room);
        let [least_ahead, least_back] = [ahead, back].map(|capacity| least(&layer.ids, capacity));
        let mut made = layer.room();
        match (layer.forward(&case.group().capacity_rows(ahead), &mut made), least_ahead) {
            (Ok(report), Some(chunks)) => {
                prop_assert_eq!((report.chunks, report.chunks_at_most), (chunks, Some(CHUNKS)));
                prop_assert!(made.routed == expected.routed && made.y == expected.y, "{:?} in {} chunks", case, chunks);
            }
            (Err(error), None) => {
                prop_assert!(is_capacity(&error, &layer.ids, ahead), "{error}");
                let error = layer.backward(&case.group().capacity_rows(back), &mut made).unwrap_err();
                prop_assert!(matches!(error, LaunchError::Route(RouteError::NotKept { .. })), "{error}");
                layer.forward(&case.group().capacity_rows(most), &mut made).map_err(failed)?;
            }
            (found, least) => return Err(TestCaseError::fail(format!("{case:?}: {found:?}, not {least:?}"))),
        }
        let group = case.group().capacity_rows(back);
        match (layer.backward(&group, &mut made), least_back) {
            (Ok(report), Some(chunks)) => {
                prop_assert_eq!((report.chunks, report.empty_tasks), (chunks, 0));
                prop_assert!(made.dx == expected.dx, "{:?} in {} chunks", case, chunks);
            }
            (Err(error), None) => {
                prop_assert!(is_capacity(&error, &layer.ids, back), "{error}");
                prop_assert!(made.dx == layer.room().dx, "nothing is written");
                layer.backward(&case.group().capacity_rows(fullest(&layer.ids, CHUNKS)), &mut made).map_err(failed)?;
                prop_assert!(made.dx == expected.dx, "{:?}", case);
            }
            (found, least) => return Err(TestCaseError::fail(format!("{case:?}: {found:?}, not {least:?}"))),
        }
        // A route that the host has kept.
        let mut of_host = layer.room();
        Route::new(case.ep(), EXPERTS, &layer.ids).unwrap().keep(&mut of_host.routed);
        prop_assert!(of_host.routed == expected.routed);
        let report = layer.backward(&case.group().capacity_rows(most), &mut of_host).map_err(failed)?;
        prop_assert_eq!(report.chunks, 1);
        prop_assert!(of_host.dx == expected.dx, "{:?}", case);
    }

    /// Weight gradients add up by parts of the tokens, which the kernel finds in the counts that it has.
    #[test]
    fn weight_gradients_have_the_bits_of_the_reference(case in cases(EXPERTS, TOKENS), share in 1..=9usize, keeps: bool) {
        let layer = Layer::new(&case);
        let expected = Gradients::reference(&layer);
        let most = fullest(&layer.ids, 1);
        // With nine shares there is room for any routing in one chunk.
        let capacity = if share == 9 { CHUNKS * CHUNKS * TOKENS * TOP_K } else { (most * share).div_ceil(8) };
        let kept = keeps.then(|| layer.reference().routed);
        let (group, mut found) = (case.group().capacity_rows(capacity).repeat(1), Gradients::room(&layer));
        match (found.launch(&layer, &group, kept.as_ref()), least(&layer.ids, capacity)) {
            (Ok(report), Some(chunks)) => {
                prop_assert_eq!((report.chunks, report.empty_tasks), (chunks, 0));
                prop_assert!(found.dx == expected.dx, "{:?} in {} chunks", case, chunks);
                prop_assert!(found.dgate == expected.dgate, "{:?} in {} chunks", case, chunks);
            }
            (Err(error), None) => prop_assert!(is_capacity(&error, &layer.ids, capacity), "{error}"),
            (found, least) => return Err(TestCaseError::fail(format!("{case:?}: {found:?}, not {least:?}"))),
        }
    }

    /// Kernels with a constant number of chunks keep the routes of those that choose from as many.
    #[test]
    fn a_constant_number_of_chunks_keeps_the_same(case in cases(EXPERTS, TOKENS)) {
        let failed = |error: LaunchError| TestCaseError::fail(format!("{case:?}: {error}"));
        let layer = Layer::new(&case);
        let Layer { ids, x, gate, down, dy, .. } = &layer;
        let (expected, mut made, group) = (layer.reference(), layer.room(), case.group());
        let report = constant::forward::launch(&group, ids, x, gate, down, &mut made.y, &mut made.routed).map_err(failed)?;
        prop_assert_eq!(report.chunks, CHUNKS);
        prop_assert!(made.routed == expected.routed && made.y == expected.y, "{:?}", case);
        layer.backward(&group, &mut made).map_err(failed)?;
        prop_assert!(made.dx == expected.dx, "{:?}", case);
        let mut made = layer.room();
        layer.forward(&group, &mut made).map_err(failed)?;
        constant::backward::launch(&group, &made.routed, dy, gate, down, &mut made.dx).map_err(failed)?;
        prop_assert!(made.dx == expected.dx, "{:?}", case);
    }

    /// Copies of experts share the rows of each part of a rank's tokens, alike in both passes.
    #[test]
    fn experts_lie_anywhere(case in cases_on(vec![1, 2, 3], placed::EXPERTS, TOKENS), shares in (2..=4usize, 2..=4usize)) {
        let places = placement(&case, placed::EXPERTS, 1);
        let ids = ids::<{ placed::TOP_K }>(&case, placed::EXPERTS);
        let rows = Route::placed(&places, &ids).unwrap();
        let rows = case.ep().into_iter().map(|rank| rows.received(rank)).max().unwrap();
        let group = |share: usize| case.group().placed(&places).unwrap().capacity_rows((rows * share).div_ceil(4) + 8);
        let (x, dy): (Tokens, Tokens) = (numbers(&case), numbers(&Case { seed: !case.seed, ..case.clone() }));
        let alone = Case { tokens: vec![0], ..case.clone() };
        let gate = places.place(&experts(&alone, placed::EXPERTS, 1)[Rank::new(0)]).unwrap();
        let down = places.place(&experts(&alone, placed::EXPERTS, 2)[Rank::new(0)]).unwrap();
        let room = || PerRank::routed_in_chunks(case.ep(), placed::EXPERTS, TOP_K, 4, &x.map(Tensor::row_count));
        let (mut expected, mut expected_back, mut kept) = (case.zeros(), case.zeros(), room());
        places.scope(|| {
            placed::forward(case.ep(), &ids, &x, &gate, &down, &mut expected, &mut kept);
            placed::backward(case.ep(), &kept, &dy, &gate, &down, &mut expected_back);
        });
        let (mut found, mut found_back, mut routed) = (case.zeros(), case.zeros(), room());
        let too_full = |error: &LaunchError| matches!(error, LaunchError::Capacity { chunks: Some(4), .. });
        match placed::forward::launch(&group(shares.0), &ids, &x, &gate, &down, &mut found, &mut routed) {
            Ok(report) => {
                prop_assert!(expected == found, "{:?} in {} chunks", case, report.chunks);
                prop_assert!(kept == routed, "{:?} in {} chunks", case, report.chunks);
            }
            Err(error) => {
                prop_assert!(too_full(&error), "{error}");
                routed = kept;
            }
        }
        match placed::backward::launch(&group(shares.1), &routed, &dy, &gate, &down, &mut found_back) {
            Ok(report) => prop_assert!(expected_back == found_back, "{:?} in {} chunks", case, report.chunks),
            Err(error) => prop_assert!(too_full(&error), "{error}"),
        }
    }
}

/// A place to spare on each rank holds no expert, or a copy, which sums by parts can't have.
#[test]
fn weight_gradients_have_no_copies() {
    let case = Case { tokens: vec![11, 14], routing: Routing::Uniform, seed: 5, late: None };
    let ep = case.ep();
    let (ids, x): (_, Tokens) = (ids::<TOP_K>(&case, EXPERTS), numbers(&case));
    let dy: Tokens = numbers(&Case { seed: !case.seed, ..case.clone() });
    let alone = Case { tokens: vec![0], ..case.clone() };
    let launch = |places: &Placement| {
        let gate = places.place(&experts::<bf16, INTER, HIDDEN>(&alone, EXPERTS, 1)[Rank::new(0)]).unwrap();
        let down = places.place(&experts::<bf16, HIDDEN, INTER>(&alone, EXPERTS, 2)[Rank::new(0)]).unwrap();
        let zeros = || PerRank::from_fn(ep, |_| Experts::<f32, INTER, HIDDEN>::zeros(EXPERTS / 2 + 1));
        let (mut dx, mut dgate, mut expected, mut expected_dgate) = (case.zeros(), zeros(), case.zeros(), zeros());
        places.scope(|| {
            placed::backward_of_ids(ep, &ids, &x, &dy, &down, &gate, &mut expected, &mut expected_dgate);
        });
        let group = case.group().repeat(1).placed(places).unwrap();
        placed::backward_of_ids::launch(&group, &ids, &x, &dy, &down, &gate, &mut dx, &mut dgate)?;
        assert!(dx == expected && dgate == expected_dgate);
        Ok::<(), LaunchError>(())
    };
    launch(&Placement::even(ep, EXPERTS, 1).unwrap()).unwrap();
    let copy = [Some(5), Some(1), None, Some(4), Some(3), Some(2), Some(0), Some(5)];
    let error = launch(&Placement::new(ep, EXPERTS, &copy).unwrap()).unwrap_err();
    assert!(matches!(error, LaunchError::CopiesOfSums { .. }), "{error}");
}

/// Cases of which other numbers of chunks fit, by turns.
fn turns(number: u64) -> Case {
    let routing = [Routing::Uniform, Routing::Favourite(number as usize % EXPERTS), Routing::Few][number as usize % 3];
    Case { tokens: vec![17, 0, TOKENS], routing, seed: number << 8, late: Some(2) }
}

fn ahead<'a>(layer: &'a Layer, made: &'a mut Made) -> Vec<Argument<'a>> {
    vec![
        Argument::read("ids", &layer.ids),
        Argument::read("x", &layer.x),
        Argument::read("gate", &layer.gate),
        Argument::read("down", &layer.down),
        Argument::write("y", &mut made.y),
        Argument::write("routed", &mut made.routed),
    ]
}

fn back<'a>(layer: &'a Layer, made: &'a mut Made) -> Vec<Argument<'a>> {
    vec![
        Argument::read("routed", &made.routed),
        Argument::read("dy", &layer.dy),
        Argument::read("gate", &layer.gate),
        Argument::read("down", &layer.down),
        Argument::write("dx", &mut made.dx),
    ]
}

/// Two argument blocks in turn, as captured graphs have them, whose load changes from launch to launch.
#[test]
fn fixed_launches_hand_on_their_routes() {
    let group = |rows| {
        let group = Group::new(3).time_limit(Duration::from_secs(60)).find_races(true).capacity_rows(rows);
        group.delay(2, Duration::from_micros(300))
    };
    let (rooms, mut layer) = ([75, 22], Layer::new(&turns(0)));
    let (first_group, second_group) = (group(rooms[0]), group(rooms[1]));
    let mut made = layer.room();
    let mut first = first_group.fix(&chosen::forward::KERNEL, None, &ahead(&layer, &mut made)).unwrap();
    let mut second = second_group.fix(&chosen::backward::KERNEL, None, &back(&layer, &mut made)).unwrap();
    let mut found = [[0; 5]; 2];
    for number in 0..40 {
        layer.refill(&turns(number));
        let expected = layer.reference();
        let wanted = rooms.map(|room| least(&layer.ids, room));
        for (found, wanted) in found.iter_mut().zip(wanted) {
            found[wanted.map_or(4, |chunks| chunks.ilog2() as usize)] += 1;
        }
        match (first.launch(&ahead(&layer, &mut made)), wanted[0]) {
            (Ok(report), Some(chunks)) => {
                assert_eq!(report.chunks, chunks, "launch {number}");
                assert!(made.routed == expected.routed && made.y == expected.y, "launch {number}");
            }
            (Err(error), None) => {
                assert!(is_capacity(&error, &layer.ids, rooms[0]), "{error}");
                continue;
            }
            (other, least) => panic!("launch {number}: {other:?}, not {least:?}"),
        }
        match (second.launch(&back(&layer, &mut made)), wanted[1]) {
            (Ok(report), Some(chunks)) => {
                assert_eq!(report.chunks, chunks, "launch {number}");
                assert!(made.dx == expected.dx, "launch {number}");
            }
            (Err(error), None) => assert!(is_capacity(&error, &layer.ids, rooms[1]), "{error}"),
            (other, least) => panic!("launch {number}: {other:?}, not {least:?}"),
        }
    }
    assert!((0..4).all(|choice| found.iter().any(|found| found[choice] > 0)), "{found:?}");
    assert!(found.iter().all(|found| found.iter().filter(|count| **count > 0).count() > 1), "{found:?}");
}

/// Routes of kernels with other numbers of chunks, or without chunks.
#[test]
fn routes_in_another_number_of_chunks_are_refused() {
    let layer = Layer::new(&Case { tokens: vec![9, 14], routing: Routing::Uniform, seed: 7, late: None });
    let group = Group::new(2).time_limit(Duration::from_secs(60));
    for (chunks, words) in [(1, "1 chunk"), (4, "4 chunks"), (16, "16 chunks")] {
        let mut made = layer.room_in(chunks);
        let error = layer.forward(&group, &mut made).unwrap_err();
        let text = format!(
            "`routed` of rank 0 is for a route in {words}, but this kernel counts rows in 8 chunks: give it as many words as \
             PerRank::routed_in_chunks does, and build the kernels of both passes with the same number of chunks"
        );
        assert_eq!(error.to_string(), text);
        Route::new(layer.ep(), EXPERTS, &layer.ids).unwrap().keep(&mut made.routed);
        let error = layer.backward(&group, &mut made).unwrap_err();
        assert!(
            matches!(error, LaunchError::Argument(ArgumentError::KeptChunks { got, wanted: CHUNKS, .. }) if got == chunks),
            "{error}"
        );
    }
    // The group goes on.
    let mut made = layer.room();
    layer.forward(&group, &mut made).unwrap();
    layer.backward(&group, &mut made).unwrap();
    assert!(made.dx == layer.reference().dx);
}

/// Two processes whose passes have room for other numbers of chunks.
#[test]
#[cfg(target_os = "linux")]
fn ranks_that_are_processes_hand_on_their_routes() {
    assert_eq!(crate::processes::two_ranks("kept_chunks::one_rank_of_two"), [true, true]);
}

/// One of these processes.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "a process of another test"]
fn one_rank_of_two() {
    let group = Group::from_launcher().unwrap().expect("the variables of a launcher");
    let group = group.time_limit(Duration::from_secs(60)).capacity_rows(70);
    let ranks = group.ranks();
    let me = ranks.only().expect("one rank of two");
    let chunks = (0..4).map(|step| {
        let routing = if step < 2 { Routing::Uniform } else { Routing::Few };
        let case = Case { tokens: vec![40, 20 + step], routing, seed: step as u64, late: None };
        let all = Layer::new(&case);
        let (own, expected) = (all.of(ranks), all.reference());
        let mut made = own.room();
        let ahead = own.forward(&group, &mut made).unwrap().chunks;
        assert!(expected.y[me] == made.y[me] && expected.routed[me] == made.routed[me], "step {step}");
        let back = own.backward(&group, &mut made).unwrap().chunks;
        assert!(expected.dx[me] == made.dx[me], "step {step}");
        assert_eq!((Some(ahead), ahead), (least(&all.ids, 70), back), "step {step}");
        ahead
    });
    let chunks: Vec<usize> = chunks.collect();
    assert!(chunks.iter().any(|count| *count != chunks[0]), "{chunks:?}");
}
