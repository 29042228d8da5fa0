//! Compares the tables that a kernel makes of a route (`include/hpmoe/routing`) with the host's, word by word.

mod case;
mod choosing;
mod faults;
mod launch;
mod limits;

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use hpmoe_kernels::{Rank, Route};

use crate::abi::HPMOE_DONE;
use crate::backend::host::{MemoryRegion, Outcome};
use crate::layout::RouteChunks;
use crate::memory::LineMemory;
use case::{Case, Draw};
use choosing::choosing;
use launch::{CaseKernel, Ended, Kept, heap_region, run};

/// Number of cases, unless `HPMOE_ROUTES` is set.
const CASES: u64 = 500;

fn cases() -> std::ops::Range<u64> {
    let count = std::env::var("HPMOE_ROUTES").map_or(CASES, |count| count.parse().expect("HPMOE_ROUTES is a number"));
    0..count
}

/// The counts that each rank sends.
fn counts_of(case: &Case, kernel: &CaseKernel, route: &Route) -> Vec<Vec<i32>> {
    let tables = kernel.counted();
    let chunks = RouteChunks::new(&tables, route, &kernel.sizes);
    route.ranks().into_iter().map(|rank| launch::counts(case, &chunks, rank)).collect()
}

/// The ranks of a case whose launches are compared. These are one or two ranks, because a case has up to 256.
fn compared(case: &Case, draw: &mut Draw) -> Vec<Rank> {
    let mut ranks = vec![Rank::new(draw.below(case.ranks))];
    if case.experts < 32 {
        ranks.push(Rank::new(draw.below(case.ranks)));
    }
    ranks.dedup();
    ranks
}

fn left(outcome: &Outcome, seed: u64) {
    assert!(matches!(outcome, Outcome::Left(_)), "case {seed}: {outcome:?}");
}

fn compare(case: &Case, seed: u64) {
    let mut draw = Draw(seed);
    let route = case.route().expect("the ids make a route");
    let kernel = CaseKernel::new(case);
    let counts = counts_of(case, &kernel, &route);
    for rank in compared(case, &mut draw) {
        let ended = run(case, &kernel, &route, rank, &counts, seed);
        left(&ended.outcome, seed);
        done(case, rank, &kernel, &ended, &format!("case {seed}, {rank}"));
        for (peer, sent) in ended.sent.iter().enumerate() {
            assert_eq!(sent, &counts[rank.id()], "case {seed}: counts of {rank} for rank {peer}");
        }
        alike(&ended, &format!("case {seed}, {rank}"));
        let chosen = if kernel.sizes.chooses() { kernel.chunks(&route) as u32 } else { 0 };
        assert!(ended.records.iter().all(|record| record.chunks == chosen), "case {seed}: {chosen} chunks");
    }
}

/// Checks that all cores of a rank finished with a route, that the route was the last thing that they waited for, and
/// that the kernel reads ids exactly if a slot of the rank is empty.
fn done(case: &Case, rank: Rank, kernel: &CaseKernel, ended: &Ended, what: &str) {
    assert!(ended.states().iter().all(|state| *state == HPMOE_DONE), "{what}: {:?}", ended.states());
    let looks = case.ids[rank.id()].iter().any(|id| *id < 0);
    for record in &ended.records {
        assert_eq!((record.phase as usize, record.have != 0), (kernel.tables.phases.len(), looks), "{what}");
    }
}

/// Checks that every table equals the host's.
fn alike(ended: &Ended, what: &str) {
    for (name, expected, made) in &ended.tables {
        if expected != made {
            let word =
                |bytes: &[u8], at: usize| bytes.get(4 * at..4 * at + 4).map_or(0, bytemuck::pod_read_unaligned::<i32>);
            let at = (0..).find(|&at| word(expected, at) != word(made, at)).expect("the two tables differ");
            let (made, expected) = (word(made, at), word(expected, at));
            panic!("{what}: word {at} of `{name}` is {made}, but the host makes {expected}");
        }
    }
}

/// Compares the tables of all cases that `of_seed` makes.
fn compare_all(of_seed: impl Fn(u64) -> Case + Sync) {
    // More than there are cores, because a launch sometimes sleeps.
    const THREADS: usize = 4;
    let next = AtomicU64::new(cases().start);
    let some = || {
        let taken = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| cases().contains(seed));
        std::iter::from_fn(taken).for_each(|seed| compare(&of_seed(seed), seed));
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(some))));
}

#[test]
fn device_tables_are_those_of_the_host() {
    compare_all(Case::new);
}

/// Compares tables for placements with experts on random ranks, some of them in several places.
#[test]
fn device_tables_of_a_placement_are_those_of_the_host() {
    compare_all(Case::placed);
}

/// Compares tables of launches that choose the smallest number of chunks that fits, with and without a placement.
#[test]
fn device_tables_of_chosen_chunks_are_those_of_the_host() {
    let found = [const { AtomicU64::new(0) }; 4];
    compare_all(|seed| {
        let case = choosing(seed);
        let chunks = CaseKernel::new(&case).chunks(&case.route().expect("the ids make a route"));
        found[chunks.ilog2() as usize].fetch_add(1, Ordering::Relaxed);
        case
    });
    let found = found.map(AtomicU64::into_inner);
    assert!(cases().end < CASES || found.iter().all(|found| *found > 10), "1, 2, 4, 8 chunks: {found:?}");
}

/// Checks that kept routes equal the host's word by word, and that tables made from a kept route equal those made from
/// ids.
#[test]
fn kept_routes_are_those_of_the_host() {
    let mut found = [0; 4];
    // Launches that choose have room for some number of chunks or, in some cases, for any routing in one chunk.
    let any = |case: Case, seed: u64| {
        let most = case.ranks * case.tokens * case.top_k;
        Case { capacity: case.capacity.map(|some| if seed.is_multiple_of(4) { most } else { some }), ..case }
    };
    let all = |seed: u64| [Case::new(seed), Case::placed(seed), any(choosing(seed), seed)].map(|case| (seed, case));
    for (seed, case) in (0..cases().end / 5).flat_map(all).filter(|(_, case)| !case.once) {
        let route = case.route().expect("the ids make a route");
        let rank = Rank::new(Draw(seed).below(case.ranks));
        if case.at_most.is_some() {
            found[CaseKernel::with_kept(&case, Kept::Keeps).chunks(&route).ilog2() as usize] += 1;
        }
        for kept in [Kept::Keeps, Kept::Takes] {
            let kernel = CaseKernel::with_kept(&case, kept);
            // Ranks that take the host's kept route tell each other that no launch kept it. With a placement, they
            // exchange counts again.
            let counts = match kept {
                Kept::Takes if case.placement.is_none() => vec![vec![0]; case.ranks],
                _ => counts_of(&case, &kernel, &route),
            };
            let ended = run(&case, &kernel, &route, rank, &counts, seed);
            left(&ended.outcome, seed);
            done(&case, rank, &kernel, &ended, &format!("case {seed}, {kept:?}, {rank}"));
            assert!(ended.sent.iter().all(|sent| *sent == counts[rank.id()]), "case {seed}, {kept:?}");
            alike(&ended, &format!("case {seed}, {kept:?}, {rank}"));
        }
    }
    assert!(cases().end < CASES || found.iter().all(|found| *found > 0), "1, 2, 4, 8 chunks: {found:?}");
}

/// Checks that ranks exchange counts correctly launch after launch, in the same memory and with other tokens each time.
#[test]
fn ranks_exchange_counts_launch_after_launch() {
    for seed in 0..cases().end / 100 {
        let first = Case::in_a_row(seed, 1);
        let kernel = CaseKernel::new(&first);
        let mut heaps: Vec<LineMemory> = (0..first.ranks).map(|_| LineMemory::zeroed(kernel.plan.heap)).collect();
        let peers: Vec<u64> = heaps.iter_mut().map(LineMemory::address).collect();
        let regions: Vec<MemoryRegion> =
            (0..).map(Rank::new).zip(&mut heaps).map(|(rank, heap)| heap_region(heap, rank)).collect();
        for number in 1..=8 {
            let case = Case::in_a_row(seed, number);
            let route = case.route().expect("the ids make a route");
            let stop = AtomicI32::new(0);
            let of_rank = |rank: Rank| {
                // Each rank starts at another time.
                std::thread::sleep(Duration::from_micros(
                    (seed * 7919 + number as u64 * 31 + rank.id() as u64) % 3 * 200,
                ));
                let seed = seed * 100 + number as u64;
                let ended = launch::launch(&case, &kernel, &route, rank, &peers, regions.clone(), seed, &stop);
                left(&ended.outcome, seed);
                alike(&ended, &format!("case {seed}, launch {number}, {rank}"));
            };
            std::thread::scope(|scope| {
                for rank in route.ranks() {
                    let of_rank = &of_rank;
                    scope.spawn(move || of_rank(rank));
                }
            });
        }
    }
}
