//! Tests of launches without a valid route: all ranks find the same fault, before anything is sent.

use hpmoe_kernels::{Rank, Route, RouteError};

use super::case::{Case, Draw, placement};
use super::choosing::choosing;
use super::launch::{CaseKernel, Ended, FAULT_COUNT, KEPT_HEAD, Kept, UNROUTED_BEFORE, run};
use super::{cases, counts_of, done, left};
use crate::abi::{
    HPMOE_COUNTS, HPMOE_GAVE_UP, HPMOE_KEPT, HPMOE_ROUTE_APART, HPMOE_ROUTE_CAPACITY, HPMOE_ROUTE_ID, HPMOE_ROUTE_KEPT,
    HPMOE_ROUTE_PLACED, HPMOE_ROUTE_TWICE, HPMOE_STOPPED, HPMOE_UNROUTED,
};
use crate::layout::RouteChunks;

#[test]
fn all_ranks_find_the_same_faulty_id() {
    for seed in 0..cases().end / 4 {
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
        let kernel = CaseKernel::new(&case);
        let mut counts = counts_of(&case, &kernel, &route);
        let code = FAULT_COUNT + (2 * slot) as i32 + i32::from(kind == HPMOE_ROUTE_TWICE);
        let word = draw.below(case.pairs());
        counts[faulty.id()][word] = code;
        // The next rank has a fault, too, and so has another core of the same rank.
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
            refused(&kernel, &ended, seed);
        }
    }
}

/// Checks that a fault is found in any of a rank's counts.
#[test]
fn a_fault_in_any_count_is_found() {
    for experts in [1, 2, 3, 21, 22, 43, 44, 64, 65, 342, 682] {
        for word in [0, experts / 2, experts - 1] {
            let ids = vec![vec![0], vec![(experts - 1) as i32], vec![]];
            let first = Case::in_a_row(1, 3);
            let case = Case { ranks: 3, experts: 3 * experts, top_k: 1, chunks: 1, once: false, ids, ..first };
            let route = case.route().expect("the ids make a route");
            let kernel = CaseKernel::new(&case);
            let mut counts = counts_of(&case, &kernel, &route);
            for at in [word, experts + word, 2 * experts + word] {
                let (slot, kind) = [(0, HPMOE_ROUTE_ID), (5, HPMOE_ROUTE_ID), (0, HPMOE_ROUTE_TWICE)][at % 3];
                counts[2][at] = FAULT_COUNT + 2 * slot + i32::from(kind == HPMOE_ROUTE_TWICE);
                let ended = run(&case, &kernel, &route, Rank::new(0), &counts, at as u64);
                left(&ended.outcome, at as u64);
                let found = (ended.fault().group, ended.fault().item, ended.fault().column);
                assert_eq!(found, (kind, 2, slot as u32), "count {at} of {}", 3 * experts);
                counts[2][at] = 0;
            }
        }
    }
}

/// Checks that a repeated id is found in any two slots of a token.
#[test]
fn an_id_is_found_twice_at_any_distance() {
    for top_k in [2, 3, 4, 5, 8, 9] {
        for second in 1..top_k {
            for first in 0..second {
                let tokens = 3;
                let mut ids: Vec<i32> = (0..tokens * top_k).map(|slot| (slot % top_k + slot / top_k) as i32).collect();
                ids[top_k + second] = ids[top_k + first];
                let all = Case::in_a_row(1, 3);
                let case = Case { ranks: 1, experts: 12, top_k, chunks: 1, once: false, ids: vec![ids.clone()], ..all };
                let good = Case { ids: vec![vec![]], ..Case::in_a_row(1, 3) };
                let route = Case { ranks: 1, experts: 12, top_k, chunks: 1, once: false, ..good }.route();
                let kernel = CaseKernel::new(&case);
                let what = (top_k * 100 + first * 10 + second) as u64;
                let ended = run(
                    &case,
                    &kernel,
                    &route.expect("a route without tokens is valid"),
                    Rank::new(0),
                    &[vec![0; 12]],
                    what,
                );
                left(&ended.outcome, what);
                let fault = ended.fault();
                let found = (fault.group, fault.item, fault.column as usize, fault.index as usize, fault.need);
                let expected = (HPMOE_ROUTE_TWICE, 0, top_k + second, top_k + first, ids[top_k + first]);
                assert_eq!(found, expected, "slots {first} and {second} of {top_k}");
            }
        }
    }
}

/// The route of a case, its counts, and the rows that each rank receives.
fn received(case: &Case, kept: Kept) -> (Route, Vec<Vec<i32>>, Vec<usize>) {
    let route = case.route().expect("the ids make a route");
    let ample = CaseKernel::with_kept(case, kept);
    let tables = ample.counted();
    let chunks = RouteChunks::new(&tables, &route, &ample.sizes);
    let rows = route.ranks().into_iter().map(|rank| chunks.received(rank)).collect();
    let counts = counts_of(case, &ample, &route);
    (route, counts, rows)
}

#[test]
fn all_ranks_find_the_same_lack_of_room() {
    for seed in 0..cases().end / 20 {
        let case = Case::new(seed);
        let (route, counts, rows) = received(&case, Kept::No);
        let most = rows.iter().copied().max().unwrap_or(0);
        let rank = Rank::new(Draw(seed).below(case.ranks));
        let enough = CaseKernel::new(&Case { capacity: Some(most), ..case.clone() });
        let ended = run(&case, &enough, &route, rank, &counts, seed);
        left(&ended.outcome, seed);
        done(&case, rank, &enough, &ended, &format!("case {seed}"));
        if most == 0 {
            continue;
        }
        // If several ranks have too many rows, the fullest one is named.
        for capacity in [most - 1, most / 2] {
            let scarce = CaseKernel::new(&Case { capacity: Some(capacity), ..case.clone() });
            let ended = run(&case, &scarce, &route, rank, &counts, seed);
            left(&ended.outcome, seed);
            let first = rows.iter().position(|&rows| rows == most);
            let found = (ended.fault().group, Some(ended.fault().item as usize), ended.fault().column as usize);
            assert_eq!(found, (HPMOE_ROUTE_CAPACITY, first, most), "case {seed}");
            refused(&scarce, &ended, seed);
        }
    }
}

/// The words of a kept route's head: index, valid value, and whether a kernel compares the word.
fn head_words(case: &Case) -> [(usize, i32, bool); KEPT_HEAD] {
    let sizes = [case.ranks, 0, case.experts, case.top_k, 0, 0].map(|size| size as i32);
    let group_slots = case.groups.map_or(0, |groups| case.top_k / groups) as i32;
    std::array::from_fn(|word| match word {
        0 => (word, HPMOE_KEPT as i32, true),
        1 => (word, 0, false),
        2..=6 => (word, sizes[word - 2], true),
        7 => (word, group_slots, case.groups.is_some()),
        9 => (word, case.at_most.map_or(0, |most| most as i32), true),
        _ => (word, 0, true),
    })
}

/// Checks that all ranks name the same rank and the same word if the head of a rank's kept route does not fit the
/// launch.
#[test]
fn all_ranks_find_the_same_other_head() {
    let taking = |seed: u64| {
        let case = if seed % 8 < 6 { Case::new(seed) } else { choosing(seed) };
        Some((seed, case))
            .filter(|(_, case)| case.chunks == 1 && !case.once && case.ranks < 65 && case.placement.is_none())
    };
    for (seed, case) in (0..cases().end / 2).filter_map(taking) {
        let mut draw = Draw(seed + 1);
        let route = case.route().expect("the ids make a route");
        let rank = Rank::new(draw.below(case.ranks));
        let mut words = head_words(&case);
        (words[3].1, words[6].1) = (rank.id() as i32, route.tokens(rank) as i32);
        // Another number of chunks is as likely as any other word.
        let (word, own, compared) = if seed % 8 == 7 { words[9] } else { words[seed as usize % KEPT_HEAD] };
        let other = own + [1, -1][draw.below(2)];
        let mut kernel = CaseKernel::with_kept(&case, Kept::Takes);
        kernel.other_word = Some((word, other));
        let told = vec![vec![0]; case.ranks];
        let ended = run(&case, &kernel, &route, rank, &told, seed);
        left(&ended.outcome, seed);
        // The word that the rank sends to others: a fault, or the number of the launch that kept the route.
        let says = if compared {
            FAULT_COUNT + word as i32
        } else if word == 1 {
            other.rem_euclid(FAULT_COUNT)
        } else {
            0
        };
        assert!(ended.sent.iter().all(|sent| *sent == [says]), "case {seed}, word {word}: {:?}", ended.sent[0]);
        let fault = ended.fault();
        let found = (fault.group, fault.item as usize, fault.column as usize);
        if compared {
            assert_eq!(found, (HPMOE_ROUTE_KEPT, rank.id(), word), "case {seed}");
            assert_eq!((fault.need, fault.have), (other, own), "case {seed}, word {word}");
            refused(&kernel, &ended, seed);
        } else if word == 1 && case.ranks > 1 {
            // No other rank has a route that this launch kept.
            assert_eq!(found.0, HPMOE_ROUTE_APART, "case {seed}");
            assert_eq!(found.1, if rank.id() == 0 { 1 } else { rank.id() }, "case {seed}");
            refused(&kernel, &ended, seed);
        } else {
            done(&case, rank, &kernel, &ended, &format!("case {seed}, word {word}"));
        }
        // The same fault on another rank, which comes after a rank with another launch's route and before a rank with
        // another fault.
        if case.ranks > 3 {
            kernel.other_word = None;
            let (me, other) = ((rank.id() + 1) % case.ranks, 1 + draw.below(case.ranks - 2));
            let mut told = vec![vec![0]; case.ranks];
            told[other] = vec![FAULT_COUNT + word as i32];
            told[other + 1] = vec![FAULT_COUNT];
            told[other - 1] = vec![7];
            if [other - 1, other, other + 1].contains(&me) {
                continue;
            }
            let ended = run(&case, &kernel, &route, Rank::new(me), &told, seed);
            left(&ended.outcome, seed);
            let fault = ended.fault();
            let found = (fault.group, fault.item as usize, fault.column as usize);
            assert_eq!(found, (HPMOE_ROUTE_KEPT, other, word), "case {seed}: {:?}", ended.states());
            refused(&kernel, &ended, seed);
            // Without the fault, some ranks have routes of different launches than the first rank.
            told[other] = vec![0];
            told[other + 1] = vec![0];
            let ended = run(&case, &kernel, &route, Rank::new(me), &told, seed);
            let fault = ended.fault();
            let apart = if other == 1 { 1 } else { other - 1 };
            assert_eq!((fault.group, fault.item as usize), (HPMOE_ROUTE_APART, apart), "case {seed}");
        }
    }
}

/// Checks that all ranks find, before a row is sent, which rank has another placement.
#[test]
fn all_ranks_find_the_same_other_placement() {
    let mut found = 0;
    for seed in 0..cases().end / 10 {
        let mut case = Case::placed(seed);
        let mut draw = Draw(seed);
        let other = placement(&mut draw, case.ranks, case.experts, case.spare);
        if case.ranks < 3 || Some(&other) == case.placement.as_ref() {
            continue;
        }
        let rank = Rank::new(draw.below(case.ranks));
        let with_other = (rank.id() + 1 + draw.below(case.ranks - 1)) % case.ranks;
        case.other_placement = Some((with_other, other));
        let (route, counts, _) = received(&case, Kept::No);
        let kernel = CaseKernel::new(&case);
        let ended = run(&case, &kernel, &route, rank, &counts, seed);
        left(&ended.outcome, seed);
        let first = if with_other == 0 { 1 } else { with_other };
        let fault = (ended.fault().group, ended.fault().item as usize);
        assert_eq!(fault, (HPMOE_ROUTE_PLACED, first), "case {seed}, {rank}, rank {with_other} has another placement");
        refused(&kernel, &ended, seed);
        found += 1;
    }
    assert!(found > 0);
}

/// Checks that a launch without a valid route invalidates the route that was kept in the same memory.
#[test]
fn a_refused_route_is_not_kept() {
    for seed in 0..cases().end / 4 {
        let case = if seed.is_multiple_of(4) { choosing(seed) } else { Case::new(seed) };
        if case.once {
            continue;
        }
        let (route, counts, rows) = received(&case, Kept::Keeps);
        let most = rows.iter().copied().max().unwrap_or(0);
        let rank = Rank::new(Draw(seed).below(case.ranks));
        if most == 0 {
            continue;
        }
        let case = Case { capacity: Some(most - 1), ..case };
        let kernel = CaseKernel::with_kept(&case, Kept::Keeps);
        let ended = run(&case, &kernel, &route, rank, &counts, seed);
        refused(&kernel, &ended, seed);
        let (name, expected, kept) = ended.tables.last().expect("the kept route comes last");
        assert_eq!((*name, kept), ("kept route", expected), "case {seed}");
    }
}

/// Checks that cores give up and name the rank if one count of that rank never arrives.
#[test]
fn a_rank_that_sends_no_counts_is_named() {
    const RANK: Rank = Rank::new(1);
    let missing = |late: usize, kept: Kept| {
        let seed = late as u64;
        let case = Case { ranks: 6, experts: 12, chunks: 1, once: false, ..Case::in_a_row(seed, 1) };
        let ids = (0..6).map(|rank| (0..4 * case.top_k).map(|i| ((rank + i) % 12) as i32).collect()).collect();
        let case = Case { ids, ..case };
        let route = case.route().expect("the ids make a route");
        let mut kernel = CaseKernel::with_kept(&case, kept);
        kernel.time_limit = 100_000_000;
        let mut counts = if kept == Kept::No { counts_of(&case, &kernel, &route) } else { vec![vec![0]; 6] };
        // The sign of two launches before.
        let word = Draw(seed).below(counts[0].len());
        counts[late][word] = -counts[late][word] - 2;
        let ended = run(&case, &kernel, &route, RANK, &counts, seed);
        left(&ended.outcome, seed);
        assert!(ended.states().contains(&HPMOE_GAVE_UP), "rank {late}: {:?}", ended.states());
        let fault = ended.fault();
        let told = (fault.counter, fault.index as usize, fault.need, fault.have);
        assert_eq!(told, (HPMOE_COUNTS, late, 1, 0), "{RANK} waits for rank {late}");
        // Earlier waits: for the rank that puts to this one last, and perhaps for its own counts.
        let waits = if late == RANK.id() + 1 { 1..2 } else { 2..4 };
        assert!(waits.contains(&fault.waits), "rank {late}: {waits:?} {}", fault.waits);
    };
    // Each of these takes as long as cores wait.
    std::thread::scope(|scope| {
        for (late, kept) in [0, 2, 3, 4, 5].map(|late| (late, Kept::No)).into_iter().chain([(4, Kept::Takes)]) {
            scope.spawn(move || missing(late, kept));
        }
    });
}

/// Checks that the first vector core reports that there is no route, and that each other vector core reports the same or was
/// stopped while it waited. All matrix cores were stopped. A core that reports it counts one more launch without a route.
fn refused(kernel: &CaseKernel, ended: &Ended, seed: u64) {
    let states = ended.states();
    let (matrix, vector) = states.split_at(states.len() / 3);
    assert!(matrix.iter().all(|state| *state == HPMOE_STOPPED), "case {seed}: {states:?}");
    assert_eq!(vector[0], HPMOE_UNROUTED, "case {seed}: {states:?}");
    let told = |state: &u32| [HPMOE_UNROUTED, HPMOE_STOPPED].contains(state);
    assert!(vector.iter().all(told), "case {seed}: {states:?}");
    for record in &ended.records {
        let count = UNROUTED_BEFORE + u32::from(record.state == HPMOE_UNROUTED);
        assert_eq!(record.unrouted, count, "case {seed}: {states:?}");
        assert_eq!(record.phase as usize, kernel.tables.phases.len(), "case {seed}: {states:?}");
    }
}
