//! Experts that return the token, and kernels that need an expert for each slot.

use crate::random::{Case, Routing, cases, config, experts, full_ids, numbers, tokens, weights};
use crate::small_kernels::external;
use crate::small_kernels::home::{EXPERTS, HIDDEN, SCORES, TOKENS, TOP_K, forward, whole};
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;
use std::time::Duration;

/// The scores of logits between -1 and 1, in the order of the choice, with their ids.
fn chosen(z: &[f32]) -> Vec<(usize, f64)> {
    let mut scores: Vec<(usize, f64)> = z.iter().map(|z| 1.0 / (1.0 + f64::from(-z).exp())).enumerate().collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    scores.truncate(TOP_K);
    scores
}

proptest! {
    #![proptest_config(config(32))]

    /// A third of the choices return the token.
    #[test]
    fn experts_at_home_weigh_the_token_itself(case in cases(EXPERTS, TOKENS)) {
        let (ep, ranks) = (case.ep(), case.tokens.len());
        let (z, x) = (tokens::<f32, SCORES>(&case, 1), numbers::<HIDDEN>(&case));
        let (w, dy) = (experts::<bf16, HIDDEN, HIDDEN>(&case, EXPERTS, 1), tokens::<bf16, HIDDEN>(&case, 2));
        let (mut dweights, mut y) = (case.zeros(), case.zeros());
        forward(ep, &z, &x, &w, &dy, &mut dweights, &mut y);
        let (mut found_dweights, mut found) = (case.zeros(), case.zeros());
        let report = forward::launch(&case.group(), &z, &x, &w, &dy, &mut found_dweights, &mut found);
        report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
        prop_assert!(y.iter().eq(found.iter()) && dweights.iter().eq(found_dweights.iter()), "{:?}", case);
        // The same in f64, from products that were rounded to bf16.
        for rank in ep {
            for token in 0..case.tokens[rank.id()] {
                let (x, dy) = (x[rank].row(token), dy[rank].row(token));
                let mut sum = [0.0; HIDDEN];
                for (k, (number, weight)) in chosen(&z[rank].row(token)).into_iter().enumerate() {
                    let row: Vec<f64> = if number < EXPERTS {
                        let (owner, own) = (Rank::new(number / (EXPERTS / ranks)), number % (EXPERTS / ranks));
                        let w = w[owner].to_vec();
                        let product = |n: usize| {
                            let w = &w[(own * HIDDEN + n) * HIDDEN..][..HIDDEN];
                            x.iter().zip(w).map(|(x, w)| x.to_f64() * w.to_f64()).sum()
                        };
                        (0..HIDDEN).map(product).collect()
                    } else {
                        x.iter().map(|x| x.to_f64()).collect()
                    };
                    sum.iter_mut().zip(&row).for_each(|(sum, row)| *sum += weight * row);
                    let gradient: f64 = row.iter().zip(&dy).map(|(row, dy)| row * dy.to_f64()).sum();
                    let found = f64::from(dweights[rank].row(token)[k]);
                    prop_assert!((gradient - found).abs() < 0.05, "{} and {}: {:?}", gradient, found, case);
                }
                for (expected, found) in sum.iter().zip(y[rank].row(token)) {
                    prop_assert!((expected - found.to_f64()).abs() < 0.03, "{} and {}: {:?}", expected, found, case);
                }
            }
        }
    }
}

/// Tokens of two ranks; all slots but one have an expert.
fn one_empty<const K: usize>(case: &Case, experts: usize, rank: usize, slot: usize) -> PerRank<Tensor<i32, K>> {
    let mut ids = full_ids::<K>(case, experts);
    let mut of_rank = ids[Rank::new(rank)].to_vec();
    of_rank[slot] = -1;
    ids[Rank::new(rank)].copy_from(&of_rank);
    ids
}

#[test]
fn a_kernel_whose_matrix_task_reads_slots_refuses_an_empty_one() {
    let case = Case { tokens: vec![7, 24], routing: Routing::Uniform, seed: 11, late: None };
    let (ep, group) = (case.ep(), Group::new(2).time_limit(Duration::from_secs(60)));
    let (x, full) = (numbers(&case), full_ids::<TOP_K>(&case, EXPERTS));
    let w = PerRank::from_fn(ep, |rank| {
        Matrix::from_slice(&numbers::<HIDDEN>(&Case { tokens: vec![HIDDEN; 2], ..case.clone() })[rank].to_vec())
    });
    let route = Route::new(ep, EXPERTS, &full).unwrap();
    let (mut expected, mut found) = (PerRank::slots(ep, &route), PerRank::slots(ep, &route));
    whole(ep, &full, &x, &w, &mut expected);
    for (rank, slot) in [(1, 47), (0, 0), (1, 12)] {
        let error = whole::launch(&group, &one_empty(&case, EXPERTS, rank, slot), &x, &w, &mut found).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "topk_ids of rank {rank}, row {}, column {} is -1, which names no expert, but home::whole has a task that reads all slots, \
                 `multiply`: give each slot an expert, or read slots only in vector tasks without an external operator",
                slot / TOP_K,
                slot % TOP_K
            )
        );
        // The kernel has found it and sent nothing, and the next launch runs.
        whole::launch(&group, &full, &x, &w, &mut found).unwrap();
        assert!(expected.iter().eq(found.iter()));
    }
}

#[test]
fn a_kernel_whose_operator_reads_slots_refuses_a_route_with_an_empty_one() {
    use external::{EXPERTS, TOP_K};
    let case = Case { tokens: vec![7, 9], routing: Routing::Uniform, seed: 12, late: None };
    let (ep, group) = (case.ep(), Group::new(2));
    let route = Route::new(ep, EXPERTS, &one_empty::<TOP_K>(&case, EXPERTS, 1, 5)).unwrap();
    let (x, w) = (numbers(&case), weights(&case));
    let (gate, down) = (experts(&case, EXPERTS, 1), experts(&case, EXPERTS, 3));
    let (up, mut y) = (experts(&case, EXPERTS, 2), case.zeros());
    let error = external::forward::launch(&group, &route, &x, &w, &gate, &up, &down, &mut y).unwrap_err();
    assert!(
        matches!(error, LaunchError::EmptySlot { rank: 1, token, k, .. } if (token, k) == (5 / TOP_K, 5 % TOP_K)),
        "{error}"
    );
    assert!(error.to_string().contains("has a task that reads all slots, `combine"), "{error}");
}
