//! Tests with the largest routes that a kernel makes: exactly at the device library's limits.

use super::case::{Case, Draw};
use super::launch::{CaseKernel, Kept, run};
use super::{alike, counts_of, done};
use crate::abi::{HPMOE_BLOCKS, HPMOE_ONCE_TILES, HPMOE_ROW_TILES, HPMOE_SENDS, HPMOE_SENDS_ONCE};
use crate::backend::host::Outcome;
use crate::tables::SpaceTable;
use hpmoe_kernels::route::ExpertOrder;
use hpmoe_kernels::{RAGGED, Rank, Route};

/// A case of these sizes, with `tokens` tokens on each rank.
fn case(ranks: usize, experts: usize, chunks: usize, tokens: usize, spaces: usize) -> Case {
    let ids = |rank: usize| (0..tokens).map(move |token| ((rank * 7 + token * 5) % experts) as i32).collect();
    let kinds = [
        SpaceTable { kind: HPMOE_ROW_TILES, height: 1 },
        SpaceTable { kind: HPMOE_ROW_TILES, height: 8 },
        SpaceTable { kind: HPMOE_ROW_TILES, height: RAGGED as u32 },
        SpaceTable { kind: HPMOE_SENDS, height: 4 },
        SpaceTable { kind: HPMOE_SENDS, height: 1 },
        SpaceTable { kind: HPMOE_BLOCKS, height: 1 },
        SpaceTable { kind: HPMOE_ROW_TILES, height: 2 },
    ];
    Case {
        ranks,
        experts,
        top_k: 1,
        chunks,
        tokens,
        ids: (0..ranks).map(ids).collect(),
        spaces: kinds.into_iter().cycle().take(spaces).collect(),
        order: ExpertOrder::Number,
        once: false,
        groups: None,
        ..Case::in_a_row(1, 3)
    }
}

fn launched(case: &Case, kernel: &CaseKernel, route: &Route, counts: &[Vec<i32>]) -> Outcome {
    let rank = Rank::new(Draw(case.ranks as u64).below(case.ranks));
    run(case, kernel, route, rank, counts, 5).outcome
}

/// Checks that the largest case works, and that the larger one breaks the rule `rule`.
fn at_most(largest: &Case, larger: &Case, rule: &str) {
    for (case, broken) in [(largest, false), (larger, true)] {
        let route = case.route().expect("the ids make a route");
        let kernel = CaseKernel::new(case);
        let counts = counts_of(case, &kernel, &route);
        let rank = Rank::new(Draw(case.ranks as u64).below(case.ranks));
        let ended = run(case, &kernel, &route, rank, &counts, 5);
        if broken {
            let breaks =
                |outcome: &Outcome| matches!(outcome, Outcome::BrokenRule { message, .. } if message.contains(rule));
            assert!(breaks(&ended.outcome), "{rule}: {:?}", ended.outcome);
        } else {
            done(case, rank, &kernel, &ended, rule);
            alike(&ended, rule);
        }
    }
}

#[test]
fn routes_have_so_many_pairs() {
    // So many pairs that only the counts of two ranks fit into UB at a time.
    at_most(&case(16, 2048, 1, 9, 7), &case(3, 2049, 1, 9, 7), "pairs <= MOST_PAIRS");
    // And more experts per core than it has room to keep slots of.
    at_most(&Case { cores: 2, ..case(16, 2048, 1, 9, 7) }, &case(3, 2049, 1, 9, 7), "pairs <= MOST_PAIRS");
    at_most(&case(256, 2048, 1, 2, 7), &case(3, 2049, 1, 9, 7), "pairs <= MOST_PAIRS");
}

#[test]
fn routes_have_so_many_chunks() {
    // So many chunks that only the counts of eight ranks fit into UB at a time.
    at_most(&case(32, 32, 64, 70, 7), &case(3, 30, 65, 70, 7), "chunks <= MOST_ROUTE_CHUNKS");
    at_most(&case(4, 32, 64, 70, 7), &case(3, 30, 65, 70, 7), "chunks <= MOST_ROUTE_CHUNKS");
}

#[test]
fn launches_need_nothing_that_their_kernel_has_no_code_for() {
    let plain = || case(3, 9, 1, 20, 7);
    let fits = |case: &Case, kept: Kept, rule: Option<&str>| {
        let route = case.route().expect("the ids make a route");
        let mut kernel = CaseKernel::with_kept(case, kept);
        kernel.bare = true;
        let counts = counts_of(case, &kernel, &route);
        match (launched(case, &kernel, &route, &counts), rule) {
            (Outcome::Left(_), None) => {}
            (Outcome::BrokenRule { message, .. }, Some(rule)) if message.contains(rule) => {}
            (outcome, _) => panic!("{rule:?}: {outcome:?}"),
        }
    };
    fits(&plain(), Kept::No, None);
    let needs = "Fits(core)";
    fits(&case(3, 9, 2, 20, 7), Kept::No, Some(needs));
    fits(&Case { once: true, ..plain() }, Kept::No, Some(needs));
    fits(&Case { groups: Some(1), ..plain() }, Kept::No, Some(needs));
    fits(&plain(), Kept::Keeps, Some(needs));
    fits(&plain(), Kept::Takes, Some(needs));
    for order in [ExpertOrder::Load, ExpertOrder::Mixed, ExpertOrder::LightestFirst] {
        fits(&Case { order, ..plain() }, Kept::No, Some("NeedsOf(order)"));
    }
}

#[test]
fn routes_have_so_many_spaces() {
    at_most(&case(2, 8, 1, 20, 64), &case(2, 8, 1, 20, 65), "spaces <= MOST_ROUTE_SPACES");
}

#[test]
fn experts_have_so_many_tiles_in_the_order_of_their_rows() {
    at_most(&case(1, 1, 1, 2048, 7), &case(1, 1, 1, 2049, 7), "tiles <= MOST_ROUTE_TILES");
}

/// A case of two ranks with 32 experts, in which the experts of a token are far apart.
fn spread(top_k: usize, tokens: usize, chunks: usize, once: bool) -> Case {
    let experts = 32;
    let id = |rank: usize, slot: usize| ((slot / top_k * 7 + slot % top_k * 5 + rank) % experts) as i32;
    let ids = |rank| (0..tokens * top_k).map(|slot| id(rank, slot)).collect();
    let mut case = Case { top_k, once, ids: (0..2).map(ids).collect(), ..case(2, experts, chunks, tokens, 7) };
    case.tokens = tokens;
    if once {
        case.spaces.push(SpaceTable { kind: HPMOE_SENDS_ONCE, height: 16 });
        case.spaces.push(SpaceTable { kind: HPMOE_ONCE_TILES, height: 8 });
    }
    case
}

/// Checks that each rank of a case makes the same tables as the host.
fn has_tables_of_host(case: &Case, kept: Kept, name: &str) {
    let route = case.route().expect("the ids make a route");
    let kernel = CaseKernel::with_kept(case, kept);
    // Ranks that take a kept route exchange no counts.
    let counts = match kept {
        Kept::Takes => vec![vec![0]; case.ranks],
        Kept::No | Kept::Keeps => counts_of(case, &kernel, &route),
    };
    for rank in route.ranks() {
        let ended = run(case, &kernel, &route, rank, &counts, 9);
        done(case, rank, &kernel, &ended, name);
        alike(&ended, &format!("{name}, {rank}"));
    }
}

/// Checks cases with so many slots that a core keeps none of them on chip, and processes them in several blocks: with
/// one part, two parts, and chunks.
#[test]
fn slots_that_are_not_kept_are_picked_again() {
    for (once, chunks) in [(false, 1), (true, 1), (false, 3)] {
        has_tables_of_host(&spread(16, 1200, chunks, once), Kept::No, &format!("{chunks} chunks, {once}"));
    }
}

/// Checks a case of nine experts on six cores: five cores count experts, the fifth only one, and the sixth none.
#[test]
fn cores_behind_those_that_count_have_no_experts() {
    for (once, chunks) in [(true, 1), (false, 3)] {
        for tokens in [7, 30] {
            let case = Case { cores: 6, once, ..case(3, 9, chunks, tokens, 7) };
            has_tables_of_host(&case, Kept::No, &format!("{chunks} chunks, {tokens} tokens"));
        }
    }
}

/// Checks that a block of slots ends at the end of a token, even if more slots would fit.
#[test]
fn tokens_are_sent_once_whatever_block_of_slots_they_are_in() {
    for top_k in [5, 12] {
        has_tables_of_host(&spread(top_k, 2500 / top_k, 1, true), Kept::No, &format!("{top_k} slots of a token"));
    }
}

/// Checks the order of slots by expert in chunks: for slots that a core reads again, and for runs longer than one copy.
#[test]
fn kept_slots_of_chunks_are_those_of_the_host() {
    let mut long = case(1, 2, 2, 20_000, 7);
    long.spaces[0].height = 8;
    for (case, name) in [(spread(16, 1200, 3, false), "picked again"), (long, "long runs")] {
        for kept in [Kept::Keeps, Kept::Takes] {
            has_tables_of_host(&case, kept, &format!("{name}, {kept:?}"));
        }
    }
}
