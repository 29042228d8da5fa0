//! The tables that a kernel makes of a route, `include/hpmoe/routing`, are those that the host makes, number by number.

mod case;
mod launch;

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use hpmoe_kernels::{Rank, Route, RouteError};

use crate::abi::{
    HPMOE_COUNTS, HPMOE_DONE, HPMOE_GAVE_UP, HPMOE_ROUTE_CAPACITY, HPMOE_ROUTE_ID, HPMOE_ROUTE_TWICE, HPMOE_STOPPED,
    HPMOE_UNROUTED,
};
use crate::backend::host::{MemoryRegion, Outcome};
use crate::layout::RouteChunks;
use crate::memory::LineMemory;
use case::{Case, Draw};
use launch::{CaseKernel, Ended, FAULT_COUNT, Kept, UNROUTED_BEFORE, heap_region, run};

/// Number of cases, unless `HPMOE_ROUTES` says another.
const CASES: u64 = 500;

fn cases() -> std::ops::Range<u64> {
    let count = std::env::var("HPMOE_ROUTES").map_or(CASES, |count| count.parse().expect("HPMOE_ROUTES is a number"));
    0..count
}

/// What every rank but `rank` has counted; with a fault, the counts of the faulty one are that fault.
fn counts_of(case: &Case, kernel: &CaseKernel, route: &Route) -> Vec<Vec<i32>> {
    let chunks = RouteChunks::new(&kernel.tables, route, kernel.sizes.capacity);
    route.ranks().into_iter().map(|rank| launch::counts(case, &chunks, rank)).collect()
}

/// The ranks of a case whose launches are compared: not all, because one case has up to 256.
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
    let kernel = CaseKernel::new(case, None);
    let counts = counts_of(case, &kernel, &route);
    for rank in compared(case, &mut draw) {
        let ended = run(case, &kernel, &route, rank, &counts, seed);
        left(&ended.outcome, seed);
        assert!(ended.states().iter().all(|state| *state == HPMOE_DONE), "case {seed}, {rank}: {:?}", ended.states());
        for (peer, sent) in ended.sent.iter().enumerate() {
            assert_eq!(sent, &counts[rank.id()], "case {seed}: counts of {rank} for rank {peer}");
        }
        alike(&ended, &format!("case {seed}, {rank}"));
    }
}

/// Every table is what the host makes.
fn alike(ended: &Ended, what: &str) {
    for (name, expected, made) in &ended.tables {
        if expected != made {
            let word =
                |bytes: &[u8], at: usize| bytes.get(4 * at..4 * at + 4).map_or(0, bytemuck::pod_read_unaligned::<i32>);
            let at = (0..).find(|&at| word(expected, at) != word(made, at)).expect("they differ");
            let (made, expected) = (word(made, at), word(expected, at));
            panic!("{what}: word {at} of `{name}` is {made}, but the host makes {expected}");
        }
    }
}

#[test]
fn device_tables_are_those_of_the_host() {
    // More than there are cores: a launch now and then sleeps.
    const THREADS: usize = 4;
    let next = AtomicU64::new(cases().start);
    let some = || {
        let taken = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| cases().contains(seed));
        std::iter::from_fn(taken).for_each(|seed| compare(&Case::new(seed), seed));
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(some))));
}

/// Kept routes are those of the host, word by word, and what is made of the host's is what is made of ids.
#[test]
fn kept_routes_are_those_of_the_host() {
    let kept =
        |seed: &u64| Some(Case::new(*seed)).filter(|case| case.chunks == 1 && !case.once).map(|case| (*seed, case));
    for (seed, case) in (0..cases().end / 5).filter_map(|seed| kept(&seed)) {
        let route = case.route().expect("the ids make a route");
        let rank = Rank::new(Draw(seed).below(case.ranks));
        for kept in [Kept::Keeps, Kept::Takes] {
            let kernel = CaseKernel::with_kept(&case, None, kept);
            // Ranks that take what the host has kept tell each other that no launch has.
            let counts = match kept {
                Kept::Takes => vec![vec![0]; case.ranks],
                _ => counts_of(&case, &kernel, &route),
            };
            let ended = run(&case, &kernel, &route, rank, &counts, seed);
            left(&ended.outcome, seed);
            assert!(
                ended.states().iter().all(|state| *state == HPMOE_DONE),
                "case {seed}, {kept:?}: {:?}",
                ended.states()
            );
            assert!(ended.sent.iter().all(|sent| *sent == counts[rank.id()]), "case {seed}, {kept:?}");
            alike(&ended, &format!("case {seed}, {kept:?}, {rank}"));
        }
    }
}

#[test]
fn all_ranks_find_the_same_faulty_id() {
    for seed in 0..cases().end / 20 {
        let mut draw = Draw(seed + 1);
        let mut case = Case::new(seed);
        let route = case.route().expect("the ids make a route");
        let Some(faulty) = case.spoil(&mut draw) else { continue };
        let (kind, slot) = match case.route() {
            Ok(_) => continue,
            Err(RouteError::Id { rank, token, k, .. }) if rank == faulty => (HPMOE_ROUTE_ID, token * case.top_k + k),
            Err(RouteError::Group { rank, token, k, .. }) if rank == faulty => (HPMOE_ROUTE_ID, token * case.top_k + k),
            Err(RouteError::Twice { rank, token, second, .. }) if rank == faulty => {
                (HPMOE_ROUTE_TWICE, token * case.top_k + second)
            }
            Err(error) => panic!("case {seed}: {error}"),
        };
        let kernel = CaseKernel::new(&case, None);
        let mut counts = counts_of(&case, &kernel, &route);
        let code = FAULT_COUNT + (2 * slot) as i32 + i32::from(kind == HPMOE_ROUTE_TWICE);
        let word = draw.below(case.pairs());
        counts[faulty.id()][word] = code;
        // A later rank has a fault, too, and a later one of the same rank's cores.
        if faulty.id() + 1 < case.ranks {
            counts[faulty.id() + 1][0] = FAULT_COUNT;
        }
        if word > 0 {
            counts[faulty.id()][0] = code + 1;
        }
        for rank in [faulty, Rank::new(draw.below(case.ranks))] {
            let other = (rank != faulty).then_some(()).is_some();
            if rank.id() == faulty.id() + 1 {
                continue;
            }
            let ended = run(&case, &kernel, &route, rank, &counts, seed);
            left(&ended.outcome, seed);
            let found = (ended.fault().group, ended.fault().item as usize, ended.fault().column as usize);
            assert_eq!(found, (kind, faulty.id(), slot), "case {seed}, {rank}, other {other}");
            if rank == faulty {
                let (ids, token) = (&case.ids[faulty.id()], slot / case.top_k * case.top_k);
                let first = (token..).find(|&other| ids[other] == ids[slot]);
                assert_eq!((ended.fault().need, Some(ended.fault().index as usize)), (ids[slot], first), "case {seed}");
            }
            refused(&ended, seed);
        }
    }
}

#[test]
fn all_ranks_find_the_same_lack_of_room() {
    for seed in 0..cases().end / 20 {
        let case = Case::new(seed);
        let route = case.route().expect("the ids make a route");
        let ample = CaseKernel::new(&case, None);
        let chunks = RouteChunks::new(&ample.tables, &route, ample.sizes.capacity);
        let most = route.ranks().into_iter().map(|rank| chunks.received(rank)).max().unwrap_or(0);
        let counts = counts_of(&case, &ample, &route);
        let rank = Rank::new(Draw(seed).below(case.ranks));
        let enough = CaseKernel::new(&case, Some(most));
        let ended = run(&case, &enough, &route, rank, &counts, seed);
        left(&ended.outcome, seed);
        assert!(ended.states().iter().all(|state| *state == HPMOE_DONE), "case {seed}: {:?}", ended.states());
        if most == 0 {
            continue;
        }
        let scarce = CaseKernel::new(&case, Some(most - 1));
        let ended = run(&case, &scarce, &route, rank, &counts, seed);
        left(&ended.outcome, seed);
        let first = route.ranks().into_iter().position(|rank| chunks.received(rank) == most);
        let found = (ended.fault().group, Some(ended.fault().item as usize), ended.fault().column as usize);
        assert_eq!(found, (HPMOE_ROUTE_CAPACITY, first, most), "case {seed}");
        refused(&ended, seed);
    }
}

/// Ranks tell each other, launch after launch in the same memory, with other tokens each time.
#[test]
fn ranks_exchange_counts_launch_after_launch() {
    for seed in 0..cases().end / 100 {
        let first = Case::in_a_row(seed, 1);
        let kernel = CaseKernel::new(&first, None);
        let mut heaps: Vec<LineMemory> = (0..first.ranks).map(|_| LineMemory::zeroed(kernel.plan.heap)).collect();
        let peers: Vec<u64> = heaps.iter_mut().map(LineMemory::address).collect();
        let regions: Vec<MemoryRegion> =
            (0..).map(Rank::new).zip(&mut heaps).map(|(rank, heap)| heap_region(heap, rank)).collect();
        for number in 1..=8 {
            let case = Case::in_a_row(seed, number);
            let route = case.route().expect("the ids make a route");
            let stop = AtomicI32::new(0);
            let of_rank = |rank: Rank| {
                // Each rank begins when it will.
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

/// Where some count of one rank never comes, cores give up, and say whose.
#[test]
fn a_rank_that_sends_no_counts_is_named() {
    for seed in 1..4 {
        let case = Case { ranks: 6, experts: 12, chunks: 1, once: false, ..Case::in_a_row(seed, 1) };
        let ids = (0..6).map(|rank| (0..4 * case.top_k).map(|i| ((rank + i) % 12) as i32).collect()).collect();
        let case = Case { ids, ..case };
        let route = case.route().expect("the ids make a route");
        let mut kernel = CaseKernel::new(&case, None);
        kernel.time_limit = 100_000_000;
        let mut counts = counts_of(&case, &kernel, &route);
        let (rank, late) = (Rank::new(seed as usize % 6), (seed as usize % 6 + 1 + seed as usize % 5) % 6);
        // With the sign that it has two launches earlier.
        let word = Draw(seed).below(case.pairs());
        counts[late][word] = -counts[late][word] - 2;
        let ended = run(&case, &kernel, &route, rank, &counts, seed);
        left(&ended.outcome, seed);
        assert!(ended.states().contains(&HPMOE_GAVE_UP), "case {seed}: {:?}", ended.states());
        let told = (ended.fault().counter, ended.fault().index as usize);
        assert_eq!(told, (HPMOE_COUNTS, late), "case {seed}: {rank} waits for rank {late}");
    }
}

/// The first vector core says that there is no route; the other cores know it, or are told while they wait. Who knows it counts one more
/// launch without a route.
fn refused(ended: &Ended, seed: u64) {
    let states = ended.states();
    let (matrix, vector) = states.split_at(states.len() / 3);
    assert!(matrix.iter().all(|state| *state == HPMOE_STOPPED), "case {seed}: {states:?}");
    assert_eq!(vector[0], HPMOE_UNROUTED, "case {seed}: {states:?}");
    let told = |state: &u32| [HPMOE_UNROUTED, HPMOE_STOPPED].contains(state);
    assert!(vector.iter().all(told), "case {seed}: {states:?}");
    for record in &ended.records {
        let count = UNROUTED_BEFORE + u32::from(record.state == HPMOE_UNROUTED);
        assert_eq!(record.unrouted, count, "case {seed}: {states:?}");
    }
}
