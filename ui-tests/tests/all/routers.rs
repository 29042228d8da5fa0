//! Routers of current models: the megakernel gives the bits of its reference, and both choose and weigh like a model in
//! f64, for logits that are random, often equal, or extreme.

use crate::random::{Case, cases, config, full_ids, numbers};
use crate::small_kernels::{particular, scored, shared_out, with_products};
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;

/// Logits for each token, depending on the seed: different ones, few different ones, or extreme ones that exhaust the
/// precision of f32.
pub fn logits<const C: usize>(case: &Case, which: u64) -> PerRank<Tensor<f32, C>> {
    const EXTREME: [f32; 12] = [0.0, -0.0, 3.0, 3.0, -20.0, 20.0, -90.0, 90.0, -1e4, 1e4, 1e30, -1e30];
    let mut state = case.seed ^ (which << 20);
    PerRank::from_fn(case.ep(), |rank| {
        let one = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = (state >> 40) as u32;
            match case.seed % 3 {
                0 => random as f32 / (1 << 21) as f32 - 4.0,
                // No two sums of scores are equal by symmetry.
                1 => (random % 9) as f32 * 0.37 - 1.3,
                _ => EXTREME[(random >> 8) as usize % EXTREME.len()],
            }
        };
        Tensor::from_vec((0..case.tokens[rank.id()] * C).map(one).collect())
    })
}

/// A row for each column, the same on all ranks: three different numbers.
fn bias<const C: usize>(case: &Case) -> PerRank<Matrix<f32, 1, C>> {
    PerRank::from_fn(case.ep(), |_| {
        Matrix::from_slice(&std::array::from_fn::<f32, C, _>(|c| [0.0, 0.25, -0.125][(c * c) % 3]))
    })
}

/// A route for a launch whose kernel reads only the numbers of tokens.
fn route<const K: usize>(case: &Case, experts: usize) -> Route {
    Route::new(case.ep(), experts, &full_ids::<K>(case, experts)).unwrap()
}

/// The rows of a tensor of floats, or of ids.
pub fn rows<T: Number, const C: usize>(tensor: &Tensor<T, C>) -> Vec<Vec<f64>> {
    tensor.to_vec().chunks(C).map(|row| row.iter().map(|x| f64::from(x.to_f32())).collect()).collect()
}

/// Bits of all numbers; all NaN are equal.
pub fn bits<const C: usize>(tensors: &PerRank<Tensor<f32, C>>) -> Vec<u32> {
    tensors.iter().flat_map(Tensor::to_vec).map(|x| if x.is_nan() { f32::NAN } else { x }.to_bits()).collect()
}

pub fn whole<const C: usize>(tensors: &PerRank<Tensor<i32, C>>) -> Vec<i32> {
    tensors.iter().flat_map(Tensor::to_vec).collect()
}

pub fn ended(case: &Case, report: Result<Report, LaunchError>) -> Result<(), TestCaseError> {
    report.map(|_| ()).map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))
}

/// The indices of the largest values; among equal ones, the lowest first.
fn top(values: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order.truncate(count);
    order
}

/// Whether all unequal numbers differ by more than the error of f32.
fn settled(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).all(|pair| pair[0] == pair[1] || pair[1] - pair[0] > 1e-5 * pair[1].abs().max(1.0))
}

pub fn close(got: f64, expected: f64) -> bool {
    got == expected || got.is_nan() && expected.is_nan() || (got - expected).abs() <= 2e-5 * expected.abs().max(1.0)
}

/// One token's choice: `scores` decide, and `weigh` computes weights from the ids. `clear` says that no earlier choice
/// was close.
fn check(
    name: &str,
    (scores, clear): (&[f64], bool),
    ids: &[f64],
    weights: &[f64],
    weigh: impl Fn(&[usize]) -> Vec<f64>,
) -> Result<(), TestCaseError> {
    let chosen: Vec<usize> = ids.iter().map(|id| *id as usize).collect();
    prop_assert!(ids.iter().all(|id| *id >= 0.0 && (*id as usize) < scores.len()), "{name}: {ids:?}");
    if clear && settled(scores) {
        prop_assert_eq!(&chosen, &top(scores, ids.len()), "{}: {:?}", name, scores);
    } else if clear {
        let least = chosen.iter().map(|&id| scores[id]).fold(f64::INFINITY, f64::min);
        let left = (0..scores.len()).filter(|id| !chosen.contains(id)).map(|id| scores[id]);
        let most = left.fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(least >= most - 1e-5 * most.abs().max(1.0), "{name}: {least} was chosen, {most} was not");
    }
    let different = (0..chosen.len()).all(|k| !chosen[..k].contains(&chosen[k]));
    prop_assert!(different, "{name}: {chosen:?}");
    let expected = weigh(&chosen);
    for (got, expected) in weights.iter().zip(&expected) {
        prop_assert!(close(*got, *expected), "{name}: {weights:?} for {expected:?}, chosen {chosen:?}");
    }
    Ok(())
}

pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn softmax(row: &[f64]) -> Vec<f64> {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = row.iter().map(|x| (x - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|x| x / sum).collect()
}

pub fn each(row: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
    row.iter().map(|x| f(*x)).collect()
}

fn plus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn pick(row: &[f64], ids: &[usize]) -> Vec<f64> {
    ids.iter().map(|&id| row[id]).collect()
}

/// Weights, divided by a function of their sum.
fn over_sum(row: Vec<f64>, of_sum: impl Fn(f64) -> f64) -> Vec<f64> {
    let sum = of_sum(row.iter().sum());
    row.iter().map(|x| x / sum).collect()
}

/// Scores in which all groups but the best have `other`, and whether the choice of groups was clear. `best` scores a
/// group.
fn of_best_groups(
    scores: &[f64],
    (groups, stay, other): (usize, usize, f64),
    best: impl Fn(&[f64]) -> f64,
) -> (Vec<f64>, bool) {
    let size = scores.len() / groups;
    let of_groups: Vec<f64> = scores.chunks(size).map(best).collect();
    let stays = top(&of_groups, stay);
    let left = (0..scores.len()).map(|id| if stays.contains(&(id / size)) { scores[id] } else { other });
    (left.collect(), settled(&of_groups))
}

fn two_best(group: &[f64]) -> f64 {
    pick(group, &top(group, 2)).iter().sum()
}

fn largest(group: &[f64]) -> f64 {
    group.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn scores_chosen_with_a_bias(case in cases(scored::EXPERTS, scored::TOKENS)) {
        use scored::{EXPERTS, GROUPS, STAY, TOP_K, route_tokens};
        let (ep, route) = (case.ep(), route::<TOP_K>(&case, EXPERTS));
        let (z, table, bias) = (logits::<EXPERTS>(&case, 0), full_ids::<TOP_K>(&case, EXPERTS), bias(&case));
        let (mut chosen, mut weights) = (case.zeros(), case.zeros());
        route_tokens(ep, &route, &z, &table, &bias, &mut chosen, &mut weights);
        let (mut chosen2, mut weights2) = (case.zeros(), case.zeros());
        ended(&case, route_tokens::launch(&case.group(), &route, &z, &table, &bias, &mut chosen2, &mut weights2))?;
        prop_assert_eq!(whole(&chosen), whole(&chosen2));
        prop_assert_eq!(bits(&weights), bits(&weights2));

        let bias: Vec<f64> = bias[Rank::new(0)].to_vec().into_iter().map(f64::from).collect();
        for rank in ep {
            let tokens = rows(&z[rank]).into_iter().zip(rows(&table[rank]));
            for ((z, given), (ids, weights)) in tokens.zip(rows(&chosen[rank]).into_iter().zip(rows(&weights[rank]))) {
                let way = |way: usize| (&ids[way * TOP_K..][..TOP_K], &weights[way * TOP_K..][..TOP_K]);
                let (s, p) = (each(&z, sigmoid), each(&z, |x| softplus(x).sqrt()));
                let (left, clear) = of_best_groups(&plus(&s, &bias), (GROUPS, STAY, f64::NEG_INFINITY), two_best);
                let (ids, weights) = way(0);
                check("grouped", (&left, clear), ids, weights, |ids| {
                    each(&over_sum(pick(&s, ids), |sum| sum + 1e-20), |w| w * 2.5)
                })?;
                let (ids, weights) = way(1);
                check("biased", (&plus(&s, &bias), true), ids, weights, |ids| over_sum(pick(&s, ids), |sum| sum + 1e-6))?;
                let (ids, weights) = way(2);
                let rooted = |ids: &[usize]| each(&over_sum(pick(&p, ids), |sum| sum + 1e-20), |w| w * 1.5);
                check("rooted", (&plus(&p, &bias), true), ids, weights, rooted)?;
                let (ids, weights) = way(3);
                check("on_logits", (&plus(&z, &bias), true), ids, weights, |ids| pick(&s, ids))?;
                let (ids, weights) = way(4);
                let s = each(&z, |x| sigmoid(x / 8.0));
                check("multiplied", (&plus(&s, &bias), true), ids, weights, |ids| over_sum(pick(&s, ids), |sum| sum))?;
                let (ids, weights) = way(5);
                prop_assert_eq!(ids, &given[..], "ids that are given are kept");
                check("given", (&z, false), ids, weights, rooted)?;
            }
        }
    }

    #[test]
    fn scores_of_a_softmax(case in cases(shared_out::EXPERTS, shared_out::TOKENS)) {
        use shared_out::{EACH, EXPERTS, GROUP, GROUPS, STAY, TOP_K, route_tokens};
        let (ep, route) = (case.ep(), route::<TOP_K>(&case, EXPERTS));
        let (z, bias) = (logits::<EXPERTS>(&case, 1), bias(&case));
        let (mut chosen, mut weights) = (case.zeros(), case.zeros());
        route_tokens(ep, &route, &z, &bias, &mut chosen, &mut weights);
        let (mut chosen2, mut weights2) = (case.zeros(), case.zeros());
        ended(&case, route_tokens::launch(&case.group(), &route, &z, &bias, &mut chosen2, &mut weights2))?;
        prop_assert_eq!(whole(&chosen), whole(&chosen2));
        prop_assert_eq!(bits(&weights), bits(&weights2));

        let bias: Vec<f64> = bias[Rank::new(0)].to_vec().into_iter().map(f64::from).collect();
        for rank in ep {
            let found = rows(&chosen[rank]).into_iter().zip(rows(&weights[rank]));
            for (z, (ids, weights)) in rows(&z[rank]).into_iter().zip(found) {
                let way = |way: usize| (&ids[way * TOP_K..][..TOP_K], &weights[way * TOP_K..][..TOP_K]);
                let s = softmax(&z);
                let normalised = |ids: &[usize]| over_sum(pick(&s, ids), |sum| sum);
                let (ids, weights) = way(0);
                check("greedy", (&s, true), ids, weights, |ids| each(&pick(&s, ids), |w| w * 16.0))?;
                let (ids, weights) = way(1);
                let (left, clear) = of_best_groups(&s, (GROUPS, STAY, 0.0), largest);
                check("best_groups", (&left, clear), ids, weights, |ids| pick(&s, ids))?;
                let (ids, weights) = way(2);
                check("normalised", (&s, true), ids, weights, normalised)?;
                let (ids, weights) = way(3);
                let with_bias = plus(&z, &bias);
                check("of_chosen", (&with_bias, true), ids, weights, |ids| softmax(&pick(&with_bias, ids)))?;
                let (ids, weights) = way(4);
                let capped = softmax(&each(&z, |x| 30.0 * (x / 30.0).tanh()));
                check("capped", (&capped, true), ids, weights, |ids| pick(&capped, ids))?;
                let (ids, weights) = way(5);
                check("floored", (&plus(&s, &bias), true), ids, weights, |ids| over_sum(pick(&s, ids), |sum| sum.max(0.25)))?;
                let (ids, weights) = way(6);
                let (left, clear) = of_best_groups(&s, (GROUPS, STAY, 0.0), two_best);
                check("best_pairs", (&left, clear), ids, weights, normalised)?;
                let (ids, weights) = way(7);
                for (group, of_group) in s.chunks(GROUP).enumerate() {
                    let local: Vec<f64> = ids[group * EACH..][..EACH].iter().map(|id| id - (group * GROUP) as f64).collect();
                    check("of_each_group", (of_group, true), &local, &weights[group * EACH..][..EACH], |ids| pick(of_group, ids))?;
                }
                let (ids, weights) = way(8);
                check("by_norm", (&s, true), ids, weights, |ids| {
                    let w = pick(&s, ids);
                    let norm = w.iter().map(|x| x * x).sum::<f64>().sqrt();
                    each(&w, |x| x / norm)
                })?;
                let (ids, weights) = way(9);
                check("by_logit", (&z, true), ids, weights, |ids| each(&pick(&z, ids), sigmoid))?;
                let (ids, weights) = way(10);
                check("scaled_by_expert", (&s, true), ids, weights, |ids| {
                    normalised(ids).iter().zip(pick(&bias, ids)).map(|(w, scale)| w * scale).collect()
                })?;
            }
        }
    }

    #[test]
    fn choices_of_other_kinds(case in cases(particular::EXPERTS, particular::TOKENS)) {
        use particular::{EXPERTS, PAIR, SHARED, TOP_K, WITH_SHARED, WITH_ZEROS, route_tokens};
        let (ep, route) = (case.ep(), route::<TOP_K>(&case, EXPERTS));
        let (z, zs) = (logits::<WITH_ZEROS>(&case, 2), logits::<WITH_SHARED>(&case, 3));
        let (text, vision) = (logits::<EXPERTS>(&case, 4), logits::<EXPERTS>(&case, 5));
        let kind = PerRank::from_fn(ep, |rank| {
            let tokens = case.tokens[rank.id()];
            Tensor::<f32, 1>::from_vec((0..tokens).map(|token| f32::from(u8::from(token % 3 == 1))).collect())
        });
        let (dw, bias) = (logits::<TOP_K>(&case, 6), bias(&case));
        let (mut ids0, mut w0, mut own) = (case.zeros(), case.zeros(), case.zeros());
        let (mut ids1, mut w1, mut shared) = (case.zeros(), case.zeros(), case.zeros());
        let (mut ids2, mut w2, mut ids3, mut w3) = (case.zeros(), case.zeros(), case.zeros(), case.zeros());
        let mut dz = case.zeros();
        route_tokens(
            ep, &route, &z, &zs, &text, &vision, &kind, &dw, &bias, &mut ids0, &mut w0, &mut own, &mut ids1, &mut w1, &mut shared,
            &mut ids2, &mut w2, &mut ids3, &mut w3, &mut dz,
        );
        let (mut got_ids0, mut got_w0, mut got_own) = (case.zeros(), case.zeros(), case.zeros());
        let (mut got_ids1, mut got_w1, mut got_shared) = (case.zeros(), case.zeros(), case.zeros());
        let (mut got_ids2, mut got_w2, mut got_ids3, mut got_w3) = (case.zeros(), case.zeros(), case.zeros(), case.zeros());
        let mut got_dz = case.zeros();
        ended(&case, route_tokens::launch(
            &case.group(), &route, &z, &zs, &text, &vision, &kind, &dw, &bias, &mut got_ids0, &mut got_w0, &mut got_own,
            &mut got_ids1, &mut got_w1, &mut got_shared, &mut got_ids2, &mut got_w2, &mut got_ids3, &mut got_w3, &mut got_dz,
        ))?;
        let five = [(&ids0, &got_ids0), (&ids1, &got_ids1), (&ids3, &got_ids3)];
        prop_assert!(five.iter().all(|(a, b)| whole(a) == whole(b)) && whole(&ids2) == whole(&got_ids2));
        let five = [(&w0, &got_w0), (&w1, &got_w1), (&w3, &got_w3)];
        prop_assert!(five.iter().all(|(a, b)| bits(a) == bits(b)) && bits(&w2) == bits(&got_w2));
        prop_assert!(bits(&own) == bits(&got_own) && bits(&shared) == bits(&got_shared) && bits(&dz) == bits(&got_dz));

        let bias: Vec<f64> = bias[Rank::new(0)].to_vec().into_iter().map(f64::from).collect();
        for rank in ep {
            let token = |token: usize| {
                let [z, zs] = [rows(&z[rank])[token].clone(), rows(&zs[rank])[token].clone()];
                let [text, vision] = [rows(&text[rank])[token].clone(), rows(&vision[rank])[token].clone()];
                (z, zs, text, vision, rows(&kind[rank])[token][0], rows(&dw[rank])[token].clone())
            };
            for number in 0..case.tokens[rank.id()] {
                let (z, zs, text, vision, kind, dw) = token(number);
                let s = softmax(&z);
                let (ids, weights, own) = (&rows(&ids0[rank])[number], &rows(&w0[rank])[number], rows(&own[rank])[number][0]);
                let scores = plus(&s, &bias);
                if settled(&scores) {
                    let expected = top(&scores, TOP_K);
                    let real: Vec<f64> = expected.iter().map(|&id| if id < EXPERTS { id as f64 } else { -1.0 }).collect();
                    prop_assert_eq!(ids, &real);
                    for (&id, &weight) in expected.iter().zip(weights) {
                        let expected = if id < EXPERTS { 6.0 * s[id] } else { 0.0 };
                        prop_assert!(close(weight, expected), "{weight} for {expected}");
                    }
                    let at_home: f64 = expected.iter().filter(|id| **id >= EXPERTS).map(|&id| 6.0 * s[id]).sum();
                    prop_assert!(close(own, at_home), "{own} for {at_home}");
                }

                let s = each(&zs, |x| -softplus(-x));
                let (ids, shared) = (&rows(&ids1[rank])[number], &rows(&shared[rank])[number]);
                let all: Vec<f64> = rows(&w1[rank])[number].iter().chain(shared).copied().collect();
                check("with_shared", (&s[..EXPERTS], true), ids, &all, |ids| {
                    let both: Vec<usize> = ids.iter().copied().chain(EXPERTS..EXPERTS + SHARED).collect();
                    each(&softmax(&pick(&s, &both)), |w| 2.5 * w)
                })?;

                let (ids, weights) = (&rows(&ids2[rank])[number], &rows(&w2[rank])[number]);
                if let Some(expected) = sparse_mixer(&text) {
                    for k in 0..PAIR {
                        prop_assert_eq!(ids[k] as usize, expected[k].0);
                        prop_assert!(close(weights[k], expected[k].1), "{:?} for {:?}", weights, expected);
                    }
                }

                let (ids, weights) = (&rows(&ids3[rank])[number], &rows(&w3[rank])[number]);
                let s = softmax(if kind == 0.0 { &text } else { &vision });
                let local = each(ids, |id| id - kind * EXPERTS as f64);
                check("two_sets", (&s, true), &local, weights, |ids| over_sum(pick(&s, ids), |sum| sum))?;

                let chosen: Vec<usize> = rows(&ids1[rank])[number].iter().map(|id| *id as usize).collect();
                let s = pick(&each(&text, sigmoid), &chosen);
                let sum: f64 = s.iter().sum();
                let inner: f64 = dw.iter().zip(&s).map(|(d, s)| d * s).sum();
                let found = &rows(&dz[rank])[number];
                let mild = dw.iter().all(|d| d.abs() < 1e3) && sum > 1e-3;
                for (id, found) in found.iter().enumerate().filter(|_| mild) {
                    let expected = chosen.iter().position(|&chosen| chosen == id).map_or(0.0, |k| {
                        (dw[k] - inner / sum) / sum * s[k] * (1.0 - s[k])
                    });
                    prop_assert!((found - expected).abs() <= 1e-4 * expected.abs().max(1.0), "{found} for {expected}");
                }
            }
        }
    }

    #[test]
    fn logits_of_products(case in cases(with_products::EXPERTS, with_products::TOKENS)) {
        use with_products::{CLASSES, EXPERTS, HIDDEN, NARROW, TOP_K, route_tokens};
        let (ep, route) = (case.ep(), route::<TOP_K>(&case, EXPERTS));
        let (x, before) = (numbers::<HIDDEN>(&case), logits::<NARROW>(&Case { seed: case.seed / 3 * 3, ..case.clone() }, 7));
        let matrix = |which: usize, count: usize| -> Vec<bf16> {
            (0..count).map(|i| bf16::from_f32(((i * 37 + which * 11) % 29) as f32 / 14.0 - 1.0)).collect()
        };
        let row = |count: usize| -> Vec<f32> { (0..count).map(|i| 0.5 + (i % 7) as f32 / 8.0).collect() };
        let scale = PerRank::from_fn(ep, |_| Matrix::<f32, 1, HIDDEN>::from_slice(&row(HIDDEN)));
        let decay = PerRank::from_fn(ep, |_| Matrix::<f32, 1, NARROW>::from_slice(&row(NARROW)));
        let gate = PerRank::from_fn(ep, |_| Matrix::<bf16, EXPERTS, HIDDEN>::from_slice(&matrix(1, EXPERTS * HIDDEN)));
        let whole_down: Vec<f32> = (0..NARROW * HIDDEN).map(|i| ((i * 37 % 29) as f32 / 14.0 - 1.0) / 3.0).collect();
        let parts = in_three(&whole_down);
        let [high, middle, low] =
            parts.map(|part| PerRank::from_fn(ep, |_| Matrix::<bf16, NARROW, HIDDEN>::from_slice(&part)));
        let first = PerRank::from_fn(ep, |_| Matrix::<bf16, NARROW, NARROW>::from_slice(&matrix(3, NARROW * NARROW)));
        let second = PerRank::from_fn(ep, |_| Matrix::<bf16, NARROW, NARROW>::from_slice(&matrix(4, NARROW * NARROW)));
        let last = PerRank::from_fn(ep, |_| Matrix::<bf16, CLASSES, NARROW>::from_slice(&matrix(5, CLASSES * NARROW)));
        let bias = bias::<CLASSES>(&case);
        let (mut z, mut ids, mut w, mut after) = (case.zeros(), case.zeros(), case.zeros(), case.zeros());
        let (mut classes, mut skip_ids, mut skip_w) = (case.zeros(), case.zeros(), case.zeros());
        route_tokens(
            ep, &route, &x, &scale, &gate, &high, &middle, &low, &before, &decay, &first, &second, &last, &bias, &mut z, &mut ids, &mut w, &mut after,
            &mut classes, &mut skip_ids, &mut skip_w,
        );
        let (mut z2, mut ids2, mut w2, mut after2) = (case.zeros(), case.zeros(), case.zeros(), case.zeros());
        let (mut classes2, mut skip_ids2, mut skip_w2) = (case.zeros(), case.zeros(), case.zeros());
        ended(&case, route_tokens::launch(
            &case.group(), &route, &x, &scale, &gate, &high, &middle, &low, &before, &decay, &first, &second, &last, &bias, &mut z2, &mut ids2,
            &mut w2, &mut after2, &mut classes2, &mut skip_ids2, &mut skip_w2,
        ))?;
        prop_assert!(bits(&z) == bits(&z2) && bits(&w) == bits(&w2) && bits(&after) == bits(&after2));
        prop_assert!(bits(&classes) == bits(&classes2) && bits(&skip_w) == bits(&skip_w2));
        prop_assert!(whole(&ids) == whole(&ids2) && whole(&skip_ids) == whole(&skip_ids2));

        let bias: Vec<f64> = bias[Rank::new(0)].to_vec().into_iter().map(f64::from).collect();
        let (gate, scale) = (rows_of(gate[Rank::new(0)].to_vec(), HIDDEN), row(HIDDEN));
        let decay = row(NARROW);
        let down: Vec<Vec<f64>> = whole_down.chunks(HIDDEN).map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect();
        let layers = [&first, &second].map(|layer| rows_of(layer[Rank::new(0)].to_vec(), NARROW));
        let last = rows_of(last[Rank::new(0)].to_vec(), NARROW);
        for rank in ep {
            for number in 0..case.tokens[rank.id()] {
                let x = &rows(&x[rank])[number];
                let mean = x.iter().map(|x| x * x).sum::<f64>() / HIDDEN as f64;
                let norm = (mean + 1e-6).sqrt();
                let normed: Vec<f64> =
                    x.iter().zip(&scale).map(|(x, s)| rounded(x / norm * f64::from(*s) / (HIDDEN as f64).sqrt())).collect();
                let found = &rows(&z[rank])[number];
                for (found, expected) in found.iter().zip(product(&gate, &normed)) {
                    prop_assert!((found - expected).abs() < 0.02, "{found} for {expected}");
                }
                let s = softmax(found);
                let (ids, weights) = (&rows(&ids[rank])[number], &rows(&w[rank])[number]);
                check("choose", (&s, true), ids, weights, |ids| over_sum(pick(&s, ids), |sum| sum))?;

                let state: Vec<f64> = product(&down, x)
                    .iter().zip(&rows(&before[rank])[number]).zip(&decay).map(|((a, b), c)| a + b * f64::from(*c)).collect();
                for (found, expected) in rows(&after[rank])[number].iter().zip(&state) {
                    prop_assert!(close(*found, *expected), "{found} for {expected}");
                }
                let mean = state.iter().map(|x| x * x).sum::<f64>() / NARROW as f64;
                let mut values = each(&state, |x| rounded(x / (mean + 1e-5).sqrt()));
                for layer in &layers {
                    values = each(&product(layer, &values), |x| rounded(x * 0.5 * (1.0 + erf(x / 2f64.sqrt()))));
                }
                let found = &rows(&classes[rank])[number];
                let most = values.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
                for (found, expected) in found.iter().zip(product(&last, &values)) {
                    prop_assert!((found - expected).abs() < 0.05 * most, "{found} for {expected}");
                }
                let s = softmax(found);
                let scores = plus(&s, &bias);
                let (ids, weights) = (&rows(&skip_ids[rank])[number], &rows(&skip_w[rank])[number]);
                if settled(&scores) {
                    let expected = top(&scores, TOP_K);
                    for k in 0..TOP_K {
                        let id = if expected[k] == EXPERTS { -1.0 } else { expected[k] as f64 };
                        prop_assert_eq!(ids[k], id);
                        prop_assert!(close(weights[k], s[expected[k]]), "{weights:?}");
                    }
                }
            }
        }
    }
}

/// Two choices with their weights; `None` if a number is so close to its limit that f32 may decide differently.
fn sparse_mixer(z: &[f64]) -> Option<Vec<(usize, f64)>> {
    let mut left = z.to_vec();
    let mut chosen = Vec::new();
    for _ in 0..2 {
        let best = top(&left, 1)[0];
        let most = left[best];
        let gaps = each(z, |x| (most - x) / x.abs().max(most));
        if gaps.iter().any(|gap| (gap - 0.02).abs() < 1e-5) {
            return None;
        }
        let near: Vec<f64> =
            left.iter().zip(&gaps).map(|(x, gap)| if *gap > 0.02 { f64::NEG_INFINITY } else { *x }).collect();
        chosen.push((best, softmax(&near)[best]));
        left[best] = f64::NEG_INFINITY;
    }
    Some(chosen)
}

/// Three bf16 numbers for each f32, which is their sum.
fn in_three(numbers: &[f32]) -> [Vec<bf16>; 3] {
    let mut left = numbers.to_vec();
    let parts = std::array::from_fn(|_| {
        let part: Vec<bf16> = left.iter().map(|x| bf16::from_f32(*x)).collect();
        left.iter_mut().zip(&part).for_each(|(x, part)| *x -= part.to_f32());
        part
    });
    assert!(left.iter().all(|x| *x == 0.0), "24 bits are three times 8");
    parts
}

fn rows_of(numbers: Vec<bf16>, columns: usize) -> Vec<Vec<f64>> {
    numbers.chunks(columns).map(|row| row.iter().map(|x| f64::from(x.to_f32())).collect()).collect()
}

fn product(rows: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    rows.iter().map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
}

fn rounded(x: f64) -> f64 {
    f64::from(bf16::from_f32(x as f32).to_f32())
}

/// The error function, computed as a series, or 1 if no term is left to add.
pub fn erf(x: f64) -> f64 {
    if x.abs() > 5.0 {
        return x.signum();
    }
    let (mut sum, mut term) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}
