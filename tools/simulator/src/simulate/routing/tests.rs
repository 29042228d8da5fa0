//! Routings that are drawn, given by tokens or by counts.

use super::*;

const fn sizes(ranks: u32, experts: u32, top_k: u32, tokens: u32) -> RoutingSizes {
    RoutingSizes { ranks, experts, top_k, tokens }
}

#[test]
fn balanced_is_even_where_numbers_allow() {
    let routing = Routing::balanced(sizes(8, 64, 8, 4096));
    assert!((0..8).all(|source| (0..64).all(|expert| routing.rows(source, expert) == 512)));
    assert_eq!((routing.tokens(3), routing.received_rows(5)), (4096, 32_768));
    let odd = Routing::balanced(sizes(4, 8, 3, 5));
    assert!((0..4).all(|rank| odd.tokens(rank) == 5));
    let most = (0..8).map(|expert| odd.expert_rows(expert)).max().unwrap();
    assert!(most <= 8, "{most} of 60 rows for one of 8 experts");
}

#[test]
fn zipf_depends_on_the_seed_alone() {
    let seeded = |seed| Routing::zipf(sizes(4, 32, 4, 500), 1.2, seed);
    assert_eq!(seeded(1), seeded(1));
    assert_ne!(seeded(1), seeded(2));
    assert!((0..4).all(|rank| seeded(1).tokens(rank) == 500));
    let hottest = (0..32).map(|expert| seeded(1).expert_rows(expert)).max().unwrap();
    assert!(hottest > 1500, "{hottest}");
}

/// Unlikely experts would take up to 2^30 draws each, so the test would not end if each were waited for.
#[test]
fn a_token_soon_has_its_experts_even_if_few_are_likely() {
    let [tokens, most] = [40, 16];
    for (exponent, top_k) in [10.0, 1000.0, f64::MAX].into_iter().flat_map(|exponent| [(exponent, 4), (exponent, most)])
    {
        for drawn in [Routing::zipf, Routing::drifting] {
            let routing = drawn(sizes(2, most, top_k, tokens), exponent, 5);
            assert_eq!(routing, drawn(sizes(2, most, top_k, tokens), exponent, 5));
            for source in 0..2 {
                let rows: Vec<u32> = (0..most).map(|expert| routing.rows(source, expert)).collect();
                // A token can't have an expert twice.
                assert!(rows.iter().all(|&rows| rows <= tokens), "{rows:?}");
                assert_eq!(rows.iter().sum::<u32>(), top_k * tokens);
            }
        }
    }
}

/// With this exponent, the second expert of most tokens is drawn from the remaining experts.
#[test]
fn remaining_experts_are_drawn_by_their_weights() {
    let (exponent, tokens) = (10.0, 40_000);
    let routing = Routing::zipf(sizes(1, 4, 2, tokens), exponent, 1);
    let mut rows: Vec<u32> = (0..4).map(|expert| routing.rows(0, expert)).collect();
    rows.sort_unstable_by(|a, b| b.cmp(a));
    let weights = [2.0, 3.0, 4.0].map(|place: f64| place.powf(-exponent));
    for (&rows, weight) in rows[1..].iter().zip(weights) {
        let expected = f64::from(tokens) * weight / weights.iter().sum::<f64>();
        assert!((f64::from(rows) - expected).abs() < 5.0 * expected.sqrt(), "{rows} rows, not {expected:.0}");
    }
}

#[test]
fn a_drift_favours_each_expert_for_a_while() {
    let drifting = |seed| Routing::drifting(sizes(4, 32, 4, 800), 1.2, seed);
    assert_eq!(drifting(1), drifting(1));
    assert_ne!(drifting(1), drifting(2));
    let routing = drifting(1);
    assert!((0..4).all(|rank| routing.tokens(rank) == 800));
    // Each expert gets about 400 rows from all ranks together, but a single rank sends most of its rows to few experts.
    assert!((0..32).all(|expert| (300..500).contains(&routing.expert_rows(expert))));
    let hottest = (0..32).map(|expert| routing.rows(2, expert)).max().unwrap();
    assert!(hottest > 200, "{hottest} of 3200 rows");
    let tokens = routing.tokens_of_rows(2);
    assert!(tokens.iter().all(|tokens| tokens.is_sorted_by(|a, b| a < b)));
    // The first tokens go to other experts than the last tokens.
    let first_half = |tokens: &Vec<u32>| tokens.iter().filter(|&&token| token < 400).count();
    let uneven = tokens
        .iter()
        .filter(|tokens| 3 * first_half(tokens) < tokens.len() || 3 * first_half(tokens) > 2 * tokens.len());
    assert!(uneven.count() > 6);
}

#[test]
fn rows_are_those_of_whole_tokens() {
    let (uneven, even) = (Routing::zipf(sizes(2, 16, 3, 100), 1.0, 7), Routing::balanced(sizes(2, 16, 3, 96)));
    for (routing, source) in [(&uneven, 0), (&uneven, 1), (&even, 0), (&even, 1)] {
        let tokens = routing.tokens_of_rows(source);
        let mut rows = vec![0; routing.tokens(source) as usize];
        for (expert, tokens) in tokens.iter().enumerate() {
            assert_eq!(tokens.len() as u32, routing.rows(source, expert as u32));
            let twice = !tokens.is_sorted_by(|a, b| a < b);
            assert!(tokens.is_sorted() && !(routing == &even && twice), "a token has an expert once");
            tokens.iter().for_each(|&token| rows[token as usize] += 1);
        }
        assert!(rows.iter().all(|&rows| rows == 3));
    }
}

#[test]
fn a_token_is_sent_once_to_each_rank_of_its_experts() {
    let ids = [vec![vec![0, 1], vec![1, 3], vec![3, 2]], vec![vec![2, 0]]];
    let known = Routing::from_top_k(&ids, 4).unwrap();
    assert_eq!((known.once_sent_rows(0), known.once_sent_rows(1)), (vec![1, 1, 1, 1], vec![1, 0, 1, 0]));
    assert_eq!([0, 1].map(|rank| (known.received_once(rank), known.received_rows(rank))), [(3, 4), (3, 4)]);
    // A balanced routing has as many rows as one with evenly drawn experts: 5.43 per token.
    let even = Routing::balanced(sizes(8, 64, 8, 4096));
    let rows = (0..8).map(|source| even.once_sent_rows(source).iter().sum::<u32>()).sum::<u32>();
    let each = f64::from(rows) / 8.0 / 4096.0;
    assert!((5.38..5.48).contains(&each), "{each}");
}

#[test]
fn known_tokens_are_kept() {
    let ids = [vec![vec![0, 3], vec![1, 0]], vec![vec![2, 3], vec![3, 0]]];
    let routing = Routing::from_top_k(&ids, 4).unwrap();
    assert_eq!((routing.ranks(), routing.top_k(), routing.tokens(1)), (2, 2, 2));
    assert_eq!((routing.expert_rows(3), routing.rows(0, 0)), (3, 2));
    assert_eq!(routing.tokens_of_rows(0), [vec![0, 1], vec![1], vec![], vec![0]]);
    let words = |ids: Vec<Vec<u32>>| Routing::from_top_k(&[ids], 4).unwrap_err().to_string();
    assert_eq!(words(vec![vec![0, 4]]), "token 0 of rank 0 goes to expert 4, but the last expert is 3");
    assert_eq!(words(vec![vec![0, 1], vec![2, 2]]), "token 1 of rank 0 goes to expert 2 twice");
    assert_eq!(words(vec![vec![0, 1], vec![2]]), "token 1 of rank 0 has 1 experts, but the first token has 2");
}

#[test]
fn counts_that_no_tokens_can_have_are_refused() {
    let words = |rows: &[Vec<u32>], top_k| Routing::new(rows, top_k).unwrap_err().to_string();
    assert!(words(&[vec![], vec![]], 1).contains("2 ranks with 0 experts have no rows"));
    assert!(words(&[vec![1, 2]], 0).contains("have no rows"));
    assert!(words(&[vec![1, 2], vec![1, 1, 1]], 1).contains("rank 1"));
    assert!(words(&[vec![1, 2]], 2).contains("not a multiple"));
    assert!(words(&[vec![3, 1]], 2).contains("3 rows of 2 tokens"));
    assert!(Routing::new(&[vec![1, 2, 1]], 2).is_ok());
    // The number of ranks need not divide the experts if a placement says where they are.
    assert!(Routing::new(&[vec![1, 2, 3], vec![1, 2, 3]], 1).is_ok());
}
