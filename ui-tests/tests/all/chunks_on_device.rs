//! Kernels that make their route and choose the number of chunks: the smallest one that fits, with the same bits for
//! all of them.

use crate::chunks::placed_in_any_chunks::placed_at_launch as placed;
use crate::chunks::routed_in_any_chunks::routed_at_launch::{EXPERTS, HIDDEN, INTER, TOKENS, TOP_K, chunked};
use crate::chunks_at_launch::least_placed;
use crate::random::{Case, Routing, cases, cases_on, config, experts, ids, numbers, placement, weights};
use hpmoe_runtime::Argument;
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;
use std::time::Duration;

/// Maximum number of rows that a rank receives in a chunk, for a number of chunks, counted slot by slot.
fn fullest(ids: &PerRank<Tensor<i32, TOP_K>>, chunks: usize) -> usize {
    let ranks = ids.iter().count();
    let local = EXPERTS / ranks;
    let mut rows = vec![vec![0; chunks]; ranks];
    for ids in ids.iter() {
        let ids = ids.to_vec();
        let part = (ids.len() / TOP_K).div_ceil(8) * (8 / chunks);
        for (slot, expert) in ids.iter().enumerate().filter(|(_, expert)| **expert >= 0) {
            rows[*expert as usize / local][slot / TOP_K / part] += 1;
        }
    }
    rows.into_iter().flatten().max().unwrap_or(0)
}

/// The smallest number of chunks that fits.
fn least(ids: &PerRank<Tensor<i32, TOP_K>>, capacity: usize) -> Option<usize> {
    [1, 2, 4, 8].into_iter().find(|chunks| fullest(ids, *chunks) <= capacity)
}

/// The tensors of a launch.
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
        let other = Self::new(case);
        for rank in self.ids.ranks().here() {
            self.ids[rank].copy_from(&other.ids[rank].to_vec());
            self.x[rank].copy_from(&other.x[rank].to_vec());
            self.weights[rank].copy_from(&other.weights[rank].to_vec());
            self.y[rank].fill(bf16::from_f32(-1.0));
        }
    }

    /// The parts of one rank.
    fn of(&self, ranks: Ranks) -> Self {
        Self {
            ids: PerRank::from_fn(ranks, |r| self.ids[r].clone()),
            x: PerRank::from_fn(ranks, |r| self.x[r].clone()),
            weights: PerRank::from_fn(ranks, |r| self.weights[r].clone()),
            gate: PerRank::from_fn(ranks, |r| self.gate[r].clone()),
            down: PerRank::from_fn(ranks, |r| self.down[r].clone()),
            y: PerRank::from_fn(ranks, |r| self.y[r].clone()),
        }
    }

    fn launch(&mut self, group: &Group) -> Result<Report, LaunchError> {
        let Self { ids, x, weights, gate, down, y } = self;
        chunked::launch(group, ids, x, weights, gate, down, y)
    }

    fn arguments(&mut self) -> Vec<Argument<'_>> {
        let Self { ids, x, weights, gate, down, y } = self;
        vec![
            Argument::read("ids", ids),
            Argument::read("x", x),
            Argument::read("weights", weights),
            Argument::read("gate", gate),
            Argument::read("down", down),
            Argument::write("y", y),
        ]
    }

    /// The result of the reference for these tensors.
    fn expected(&self, case: &Case) -> PerRank<Tensor<bf16, HIDDEN>> {
        let mut expected = case.zeros();
        chunked(case.ep(), &self.ids, &self.x, &self.weights, &self.gate, &self.down, &mut expected);
        expected
    }
}

/// If no number fits, the error names the maximum number of rows for the largest number of chunks.
fn is_capacity(error: &LaunchError, ids: &PerRank<Tensor<i32, TOP_K>>, capacity: usize) -> bool {
    matches!(error, LaunchError::Capacity { rows, capacity: room, chunks: Some(8), missing, .. }
        if (*rows, *room) == (fullest(ids, 8), capacity) && *missing > 0)
}

proptest! {
    #![proptest_config(config(32))]

    /// One group launches with different numbers of chunks in a row.
    #[test]
    fn kernels_choose_the_least_number_that_fits(case in cases(EXPERTS, TOKENS), share in 1..=8usize) {
        let mut layer = Layer::new(&case);
        let capacity = (fullest(&layer.ids, 1) * share).div_ceil(8);
        let group = case.group().capacity_rows(capacity);
        for other in 0..4 {
            let tokens = case.tokens.iter().map(|tokens| tokens * (8 >> other) / 8).collect();
            let case = Case { tokens, ..case.clone() };
            layer = Layer::new(&case);
            let expected = layer.expected(&case);
            let report = layer.launch(&group);
            match least(&layer.ids, capacity) {
                Some(chunks) => {
                    let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
                    prop_assert_eq!((report.chunks, report.chunks_at_most, report.empty_tasks), (chunks, Some(8), 0));
                    prop_assert!(expected.iter().eq(layer.y.iter()), "{:?} in {} chunks", case, chunks);
                }
                None => {
                    let report = report.unwrap_err();
                    prop_assert!(is_capacity(&report, &layer.ids, capacity), "{report}");
                    // The capacity that the error names is sufficient.
                    let most = fullest(&layer.ids, 8);
                    let report = layer.launch(&case.group().capacity_rows(most)).unwrap();
                    prop_assert_eq!(Some(report.chunks), least(&layer.ids, most));
                    prop_assert!(expected.iter().eq(layer.y.iter()), "{:?}", case);
                }
            }
        }
    }

    /// Copies of experts share the rows of each part of a rank's tokens.
    #[test]
    fn experts_lie_anywhere(case in cases_on(vec![1, 2, 3], placed::EXPERTS, TOKENS), share in 1..=4usize) {
        let places = placement(&case, placed::EXPERTS, 1);
        let ids = ids::<{ placed::TOP_K }>(&case, placed::EXPERTS);
        let route = Route::placed(&places, &ids).unwrap();
        let rows = case.ep().into_iter().map(|rank| route.received(rank)).max().unwrap();
        let capacity = (rows * share).div_ceil(4) + 8;
        let (x, weights) = (numbers(&case), weights(&case));
        let alone = Case { tokens: vec![0], ..case.clone() };
        let of_all = |which| experts(&alone, placed::EXPERTS, which);
        let gate = places.place(&of_all(1)[Rank::new(0)]).unwrap();
        let down = places.place(&experts(&alone, placed::EXPERTS, 2)[Rank::new(0)]).unwrap();
        let mut expected = case.zeros();
        places.scope(|| placed::chunked(case.ep(), &ids, &x, &weights, &gate, &down, &mut expected));
        let mut found = case.zeros();
        let group = case.group().placed(&places).unwrap().capacity_rows(capacity);
        match placed::chunked::launch(&group, &ids, &x, &weights, &gate, &down, &mut found) {
            Ok(report) => {
                prop_assert!(expected.iter().eq(found.iter()), "{:?} in {} chunks", case, report.chunks);
                prop_assert_eq!(Some(report.chunks), least_placed(&placed::chunked::KERNEL, &route, capacity));
            }
            Err(error) => prop_assert!(matches!(error, LaunchError::Capacity { chunks: Some(4), .. }), "{error}"),
        }
    }
}

/// Cases that need different numbers of chunks in turn.
fn turns(number: u64) -> Case {
    let routing = [Routing::Uniform, Routing::Favourite(number as usize % EXPERTS), Routing::Few][number as usize % 3];
    Case { tokens: vec![17, 0, TOKENS, 1], routing, seed: number << 8, late: Some(3) }
}

/// Launches of one argument block, each of which chooses its number.
#[test]
fn each_launch_of_one_argument_block_chooses() {
    let first = turns(0);
    let group = Group::new(4).time_limit(Duration::from_secs(60)).find_races(true).capacity_rows(60);
    let group = group.delay(3, Duration::from_micros(300));
    let mut layer = Layer::new(&first);
    let mut fixed = group.fix(&chunked::KERNEL, None, &layer.arguments()).unwrap();
    let mut found = [0; 5];
    for number in 0..60 {
        layer.refill(&turns(number));
        let least = least(&layer.ids, 60);
        found[least.map_or(4, |chunks| chunks.ilog2() as usize)] += 1;
        match (fixed.launch(&layer.arguments()), least) {
            (Ok(report), Some(chunks)) => {
                assert_eq!(report.chunks, chunks, "launch {number}");
                assert!(layer.expected(&first).iter().eq(layer.y.iter()), "launch {number}");
            }
            (Err(error), None) => {
                assert!(is_capacity(&error, &layer.ids, 60), "{error}");
                assert!(layer.y.iter().all(|y| y.to_vec().iter().all(|y| y.to_f32() == -1.0)), "nothing is written");
            }
            (other, least) => panic!("launch {number}: {other:?}, not {least:?}"),
        }
    }
    assert!(found.iter().filter(|count| **count > 0).count() > 2, "{found:?}");
}

/// The error names the missing bytes, and a sufficient capacity.
#[test]
fn too_little_room_for_any_number_is_told() {
    let case = Case { tokens: vec![40, 17], routing: Routing::Few, seed: 3, late: None };
    let mut layer = Layer::new(&case);
    let most = fullest(&layer.ids, 8);
    let error = layer.launch(&case.group().capacity_rows(most - 1)).unwrap_err();
    let needed = |rows| chunked::KERNEL.memory(2, Some(rows)).map(|memory| memory.heap + memory.workspace).unwrap();
    let words = format!(
        "would receive {most} rows in one of 8 chunks, the largest number of this kernel, but there is room for {}: raise it with \
         Group::capacity_rows({most}), which takes {} more bytes on each rank, or send fewer tokens",
        most - 1,
        needed(most) - needed(most - 1)
    );
    assert!(error.to_string().ends_with(&words), "{error}");
}

/// Two processes whose load becomes uneven half-way.
#[test]
#[cfg(target_os = "linux")]
fn ranks_that_are_processes_choose_the_same_number() {
    assert_eq!(crate::processes::two_ranks("chunks_on_device::one_rank_of_two"), [true, true]);
}

/// One of these processes.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "a process of another test"]
fn one_rank_of_two() {
    let group = Group::from_launcher().unwrap().expect("the variables of a launcher");
    let group = group.time_limit(Duration::from_secs(60)).capacity_rows(100);
    let ranks = group.ranks();
    let me = ranks.only().expect("one rank of two");
    let chunks = (0..6).map(|step| {
        let routing = if step < 3 { Routing::Uniform } else { Routing::Few };
        let case = Case { tokens: vec![40, 20 + step], routing, seed: step as u64, late: None };
        let all = Layer::new(&case);
        let mut own = all.of(ranks);
        let report = own.launch(&group).unwrap();
        assert!(all.expected(&case)[me] == own.y[me], "step {step}");
        assert_eq!(Some(report.chunks), least(&all.ids, 100), "step {step}");
        report.chunks
    });
    let chunks: Vec<usize> = chunks.collect();
    assert!(chunks[..3].iter().all(|count| *count == 1) && chunks[3..].iter().all(|count| *count > 1), "{chunks:?}");
}
