//! Small kernels on random routings: the megakernel gives the bits of the same function run sequentially.

use crate::random::{Case, bytes, cases, config, experts, ids, numbers, slots, weights};
use crate::routers::{bits, whole};
use crate::small_kernels::{
    self, coarse, columns, deep, echo, elementwise, ffn, fused, mixed, odd, once, products, rows, stacked,
};
use hpmoe_runtime::prelude::*;
use many::many_ffn;
use proptest::prelude::*;
use std::ffi::c_int;
use std::hint::black_box;

mod many {
    include!(concat!(env!("OUT_DIR"), "/many_ffn.rs"));
}

/// `mixed.tuned.toml` is next to the source.
#[test]
fn what_was_tuned_is_built() {
    assert_eq!(mixed::BLOCK, 4);
    assert!(mixed::forward::SCHEDULE.contains("communication  AIV 0..19\n"), "{}", mixed::forward::SCHEDULE);
    assert!(mixed::forward::SCHEDULE.contains(", rotation 5, reads w ahead\n"), "{}", mixed::forward::SCHEDULE);
    assert_eq!(mixed::forward::TILE_SIZES, "PUT = 8, as in the source\nBLOCK = 4, found by `hpmoe tune`\n");
}

proptest! {
    #![proptest_config(config(12))]

    /// Cores look for their tiles among those of several experts at once.
    #[test]
    fn many_experts_with_few_tiles_give_the_bits_of_the_reference(case in cases(many_ffn::EXPERTS, many_ffn::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, many_ffn::EXPERTS, &ids::<{ many_ffn::TOP_K }>(&case, many_ffn::EXPERTS)).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let [gate, up] = [1, 2].map(|which| experts(&case, many_ffn::EXPERTS, which));
        let down = experts(&case, many_ffn::EXPERTS, 3);
        let mut expected = case.zeros();
        many_ffn::forward(ep, &route, &x, &w, &gate, &up, &down, &mut expected);
        let mut found = case.zeros();
        let report = many_ffn::forward::launch(&case.group(), &route, &x, &w, &gate, &up, &down, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }
}

#[test]
fn entries_of_many_experts_share_descriptors() {
    let shares = ", experts share descriptors";
    assert!(many_ffn::forward::SCHEDULE.contains(shares), "{}", many_ffn::forward::SCHEDULE);
    assert!(!ffn::forward::SCHEDULE.contains(shares));
}

/// Runs a function on a thread that rounds toward zero, as a library in another language may have left it.
fn rounding_toward_zero<T>(run: impl FnOnce() -> T) -> T {
    unsafe extern "C" {
        safe fn fegetround() -> c_int;
        safe fn fesetround(mode: c_int) -> c_int;
    }
    const TOWARD_ZERO: c_int = if cfg!(target_arch = "aarch64") { 0xc0_0000 } else { 0xc00 };
    let before = fegetround();
    assert_eq!(fesetround(TOWARD_ZERO), 0);
    assert_eq!(black_box(1.0) + black_box(0.75 * f32::EPSILON), 1.0, "sums of this thread are rounded down");
    let found = run();
    assert_eq!(fegetround(), TOWARD_ZERO, "the state of the caller is restored");
    fesetround(before);
    found
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn the_forward_layer_is_its_reference(case in cases(ffn::EXPERTS, ffn::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, ffn::EXPERTS, &ids::<{ ffn::TOP_K }>(&case, ffn::EXPERTS)).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let (gate, up, down) = (experts(&case, ffn::EXPERTS, 1), experts(&case, ffn::EXPERTS, 2), experts(&case, ffn::EXPERTS, 3));
        let mut expected = case.zeros();
        ffn::forward(ep, &route, &x, &w, &gate, &up, &down, &mut expected);
        let mut found = case.zeros();
        let report = ffn::forward::launch(&case.group(), &route, &x, &w, &gate, &up, &down, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
        let (mut of_reference, mut of_launch) = (case.zeros(), case.zeros());
        let report = rounding_toward_zero(|| {
            ffn::forward(ep, &route, &x, &w, &gate, &up, &down, &mut of_reference);
            ffn::forward::launch(&case.group(), &route, &x, &w, &gate, &up, &down, &mut of_launch)
        });
        check(&case, report, [of_reference, of_launch].iter().all(|found| expected.iter().eq(found.iter())))?;
    }

    #[test]
    fn gate_and_up_in_one_tensor(case in cases(fused::EXPERTS, fused::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, fused::EXPERTS, &ids::<{ fused::TOP_K }>(&case, fused::EXPERTS)).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let (gate_up, down) = (experts(&case, fused::EXPERTS, 1), experts(&case, fused::EXPERTS, 3));
        let mut expected = case.zeros();
        fused::forward(ep, &route, &x, &w, &gate_up, &down, &mut expected);
        let mut found = case.zeros();
        let report = fused::forward::launch(&case.group(), &route, &x, &w, &gate_up, &down, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }

    #[test]
    fn halves_of_a_tensor_that_no_tile_divides(case in cases(stacked::EXPERTS, stacked::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, stacked::EXPERTS, &ids::<{ stacked::TOP_K }>(&case, stacked::EXPERTS)).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let (gate_up, down) = (experts(&case, stacked::EXPERTS, 1), experts(&case, stacked::EXPERTS, 3));
        let one: Vec<bf16> = (0..2 * stacked::INTER * stacked::HIDDEN).map(|at| bf16::from_f32((at * 37 % 101) as f32 / 64.0 - 0.75)).collect();
        let shared = PerRank::from_fn(ep, |_| Matrix::from_slice(&one));
        let run = |launched: bool| {
            let (mut y, mut z, mut v) = (case.zeros(), PerRank::ragged(ep, &route), PerRank::ragged(ep, &route));
            let mut gradient = PerRank::from_fn(ep, |_| Experts::zeros(route.local_experts()));
            let report = match launched {
                true => Some(stacked::forward::launch(&case.group(), &route, &x, &w, &gate_up, &down, &mut y, &mut z, &mut gradient, &shared, &mut v)),
                false => {
                    stacked::forward(ep, &route, &x, &w, &gate_up, &down, &mut y, &mut z, &mut gradient, &shared, &mut v);
                    None
                }
            };
            ((y, z, gradient, v), report)
        };
        let ((y, z, gradient, v), (found, report)) = (run(false).0, run(true));
        let equal = y.iter().eq(found.0.iter()) && z.iter().eq(found.1.iter()) && gradient.iter().eq(found.2.iter()) && v.iter().eq(found.3.iter());
        check(&case, report.expect("it was launched"), equal)?;
    }

    #[test]
    fn tokens_come_back(case in cases(echo::EXPERTS, echo::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, echo::EXPERTS, &ids::<{ echo::TOP_K }>(&case, echo::EXPERTS)).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let mut expected = case.zeros();
        echo::forward(ep, &route, &x, &w, &mut expected);
        let mut found = case.zeros();
        let report = echo::forward::launch(&case.group(), &route, &x, &w, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }

    #[test]
    fn empty_slots_are_skipped_whatever_their_weights_are(case in cases(echo::EXPERTS, echo::TOKENS)) {
        use echo::TOP_K;
        let (ep, ids) = (case.ep(), ids::<TOP_K>(&case, echo::EXPERTS));
        let route = Route::new(ep, echo::EXPERTS, &ids).unwrap();
        let x = numbers::<{ echo::HIDDEN }>(&case).map(|x| {
            let signed = |(at, x): (usize, bf16)| if at % 3 == 0 { bf16::from_f32(-0.0) } else { x };
            Tensor::from_vec(x.to_vec().into_iter().enumerate().map(signed).collect())
        });
        let w = PerRank::from_fn(ep, |rank| {
            let weights = weights::<TOP_K>(&case)[rank].to_vec().into_iter().zip(ids[rank].to_vec());
            Tensor::<f32, TOP_K>::from_vec(weights.map(|(w, id)| if id < 0 { f32::NAN } else { w.abs() }).collect())
        });
        let mut found = case.zeros();
        let report = echo::forward::launch(&case.group(), &route, &x, &w, &mut found);
        let expected = |rank: Rank| {
            let (x, w, ids) = (x[rank].to_vec(), w[rank].to_vec(), ids[rank].to_vec());
            let number = |at: usize| {
                let first = at / echo::HIDDEN * TOP_K;
                let terms = (first..first + TOP_K).filter(|slot| ids[*slot] >= 0).map(|slot| x[at].to_f32() * w[slot]);
                terms.reduce(|sum, term| sum + term).unwrap_or(0.0).to_bits()
            };
            (0..x.len()).map(number).collect::<Vec<u32>>()
        };
        let bits = |rank: Rank| found[rank].to_vec().into_iter().map(f32::to_bits).collect::<Vec<u32>>();
        check(&case, report, ep.into_iter().all(|rank| expected(rank) == bits(rank)))?;
    }

    #[test]
    fn long_contractions_tall_tiles_and_wide_rows(case in cases(deep::EXPERTS, deep::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, deep::EXPERTS, &ids::<{ deep::TOP_K }>(&case, deep::EXPERTS)).unwrap();
        let (x, z, w) = (numbers(&case), weights(&case), weights(&case));
        let (gate, up, down) = (experts(&case, deep::EXPERTS, 1), experts(&case, deep::EXPERTS, 2), experts(&case, deep::EXPERTS, 3));
        let mut expected = case.zeros();
        deep::forward(ep, &route, &x, &z, &w, &gate, &up, &down, &mut expected);
        let mut found = case.zeros();
        let report = deep::forward::launch(&case.group(), &route, &x, &z, &w, &gate, &up, &down, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }

    #[test]
    fn sizes_that_no_tile_divides(case in cases(odd::EXPERTS, odd::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, odd::EXPERTS, &ids::<{ odd::TOP_K }>(&case, odd::EXPERTS)).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let (gate, up, down) = (experts(&case, odd::EXPERTS, 1), experts(&case, odd::EXPERTS, 2), experts(&case, odd::EXPERTS, 3));
        let mut expected = case.zeros();
        odd::r#try(ep, &route, &x, &w, &gate, &up, &down, &mut expected);
        let mut found = case.zeros();
        let report = odd::r#try::launch(&case.group(), &route, &x, &w, &gate, &up, &down, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }

    #[test]
    fn pieces_fixed_tiles_and_two_results(case in cases(mixed::EXPERTS, mixed::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, mixed::EXPERTS, &ids::<{ mixed::TOP_K }>(&case, mixed::EXPERTS)).unwrap();
        let (x, w, v) = (numbers(&case), weights(&case), experts(&case, mixed::EXPERTS, 1));
        let (mut z, mut expected) = (case.zeros(), case.zeros());
        mixed::forward(ep, &route, &x, &w, &v, &mut z, &mut expected);
        let (mut other, mut found) = (case.zeros(), case.zeros());
        let report = mixed::forward::launch(&case.group(), &route, &x, &w, &v, &mut other, &mut found);
        check(&case, report, expected.iter().eq(found.iter()) && z.iter().eq(other.iter()))?;
    }

    #[test]
    fn operations_number_by_number(case in cases(elementwise::EXPERTS, elementwise::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, elementwise::EXPERTS, &ids::<{ elementwise::TOP_K }>(&case, elementwise::EXPERTS)).unwrap();
        let (x, w) = (numbers(&case), weights(&case));
        let mut expected = case.zeros();
        elementwise::forward(ep, &route, &x, &w, &mut expected);
        let mut found = case.zeros();
        let report = elementwise::forward::launch(&case.group(), &route, &x, &w, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }

    #[test]
    fn products_of_every_orientation(case in cases(products::EXPERTS, products::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, products::EXPERTS, &ids::<{ products::TOP_K }>(&case, products::EXPERTS)).unwrap();
        let (w, v, u) = (experts(&case, products::EXPERTS, 1), experts(&case, products::EXPERTS, 2), experts(&case, products::EXPERTS, 3));
        let (x, z) = (numbers(&case), slots(&case, &route));
        let mut outputs = [products_outputs(&case, &route), products_outputs(&case, &route)];
        let [expected, found] = &mut outputs;
        // The group launches twice, so everything is added twice.
        for _launch in 0..2 {
        products::forward(ep, &route, &x, &z, &w, &v, &u, &mut expected.0, &mut expected.1, &mut expected.2, &mut expected.3, &mut expected.4, &mut expected.5, &mut expected.6);
        }
        let report = products::forward::launch(&case.group(), &route, &x, &z, &w, &v, &u, &mut found.0, &mut found.1, &mut found.2, &mut found.3, &mut found.4, &mut found.5, &mut found.6);
        let parts = |it: &Products| {
            // The contents of an empty slot before the launch stay there.
            let slots = |r| it.2[r].to_vec().into_iter().map(bf16::to_bits).collect::<Vec<_>>();
            let rows = |r| (it.0[r].to_vec(), it.1[r].to_vec(), slots(r));
            let experts = |r| (it.3[r].to_vec(), it.4[r].to_vec(), it.5[r].to_vec(), it.6[r].to_vec());
            ep.into_iter().map(|r| (rows(r), experts(r))).collect::<Vec<_>>()
        };
        let equal = parts(expected) == parts(found);
        // The gradient of an expert without rows is zero if it is written, and unchanged if it is added to.
        for e in route.experts().filter(|&e| route.expert_rows(e) == 0) {
            prop_assert!(found.3[e.owner()].expert(e).to_vec().iter().all(|&x| x == 0.0));
            prop_assert!(found.5[e.owner()].expert(e).to_vec().iter().all(|&x| x == 1.0));
            prop_assert!(found.6[e.owner()].expert(e).to_vec().iter().all(|&x| x == 1.0));
        }
        check(&case, report, equal)?;
    }

    #[test]
    fn operations_on_rows_and_columns(case in cases(rows::EXPERTS, rows::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, rows::EXPERTS, &ids::<{ rows::TOP_K }>(&case, rows::EXPERTS)).unwrap();
        let (x, w, each, wide) = (numbers(&case), weights(&case), weights(&case), weights(&case));
        let (bias, scale) = (experts(&case, rows::EXPERTS, 1), experts(&case, rows::EXPERTS, 2));
        let (mut y, mut twice, mut total, mut z) = (case.zeros(), case.zeros(), case.zeros(), case.zeros());
        let (mut folded, mut best, mut shares, mut same) = (case.zeros(), case.zeros(), case.zeros(), case.zeros());
        rows::forward(
            ep, &route, &x, &w, &each, &wide, &bias, &scale, &mut y, &mut twice, &mut total, &mut folded, &mut z, &mut best, &mut shares, &mut same,
        );
        let (mut y2, mut twice2, mut total2, mut z2) = (case.zeros(), case.zeros(), case.zeros(), case.zeros());
        let (mut folded2, mut best2, mut shares2, mut same2) = (case.zeros(), case.zeros(), case.zeros(), case.zeros());
        let report = rows::forward::launch(
            &case.group(), &route, &x, &w, &each, &wide, &bias, &scale, &mut y2, &mut twice2, &mut total2, &mut folded2, &mut z2,
            &mut best2, &mut shares2, &mut same2,
        );
        let equal = y.iter().eq(y2.iter()) && twice.iter().eq(twice2.iter()) && folded.iter().eq(folded2.iter());
        let chosen = best.iter().eq(best2.iter()) && shares.iter().eq(shares2.iter()) && same.iter().eq(same2.iter());
        check(&case, report, equal && chosen && total.iter().eq(total2.iter()) && z.iter().eq(z2.iter()))?;
    }

    #[test]
    fn columns_and_ids(case in cases(columns::EXPERTS, columns::TOKENS)) {
        use columns::{C, EXPERTS, TOP_K, WIDE, forward};
        let ep = case.ep();
        let route = Route::new(ep, EXPERTS, &ids::<TOP_K>(&case, EXPERTS)).unwrap();
        let (x, w, v) = (with_ties::<C>(&case), weights::<TOP_K>(&case), with_ties::<WIDE>(&case));
        let s = slots::<bf16, C>(&case, &route);
        // Some ids name no column.
        let named = PerRank::from_fn(ep, |rank| {
            let count = case.tokens[rank.id()] * TOP_K;
            Tensor::<i32, TOP_K>::from_vec((0..count).map(|n| (n * 7919 + case.seed as usize % 100) as i32 % 60 - 8).collect())
        });
        // No number is zero, so each one matters as a factor.
        let two: Vec<f32> = (0..2 * C).map(|column| (column * 37 % 17) as f32 / 4.0 - 1.875).collect();
        let two = PerRank::from_fn(ep, |_| Matrix::from_slice(&two));
        let run = |launched: bool| {
            let (mut y, mut z, mut k, mut sy, mut m) = (case.zeros(), case.zeros(), case.zeros(), case.zeros(), case.zeros());
            let (mut wv, mut back, mut oy, mut wy, mut wz) = (case.zeros(), case.zeros(), case.zeros(), case.zeros(), case.zeros());
            let (mut best, mut chosen) = (PerRank::slots(ep, &route), case.zeros());
            let report = match launched {
                true => Some(forward::launch(
                    &case.group(), &route, &x, &s, &w, &v, &named, &two, &mut y, &mut z, &mut k, &mut sy, &mut m, &mut best, &mut chosen,
                    &mut wv, &mut back, &mut oy, &mut wy, &mut wz,
                )),
                false => {
                    forward(
                        ep, &route, &x, &s, &w, &v, &named, &two, &mut y, &mut z, &mut k, &mut sy, &mut m, &mut best, &mut chosen, &mut wv,
                        &mut back, &mut oy, &mut wy, &mut wz,
                    );
                    None
                }
            };
            let floats = [bits(&y), bits(&z), bits(&k), bits(&sy), bits(&wv), bits(&back), bits(&oy), bits(&wy), bits(&wz)];
            let narrow: Vec<u16> = m.iter().flat_map(Tensor::<bf16, C>::to_vec).map(bf16::to_bits).collect();
            let best: Vec<i32> = best.iter().flat_map(Slots::<i32, 2>::to_vec).collect();
            (floats, narrow, best, whole(&chosen), report)
        };
        let (expected, found) = (run(false), run(true));
        let equal = (expected.0, expected.1) == (found.0, found.1);
        let chosen = (expected.2, expected.3) == (found.2, found.3);
        check(&case, found.4.expect("it was launched"), equal && chosen)?;
    }

    #[test]
    fn bytes_are_widened_and_multiplied(case in cases(small_kernels::bytes::EXPERTS, small_kernels::bytes::TOKENS)) {
        use small_kernels::bytes::{EXPERTS, HIDDEN, OUT, TOP_K, forward};
        let ep = case.ep();
        let route = Route::new(ep, EXPERTS, &ids::<TOP_K>(&case, EXPERTS)).unwrap();
        let (x, scale, w) = (bytes(&case), weights(&case), weights(&case));
        let whole = |columns: usize| (0..EXPERTS / ep.count() * columns).map(|i| (37 * i + i / 7) as i8).collect();
        let offset = PerRank::from_fn(ep, |_| Experts::from_vec(whole(HIDDEN)));
        let factors = PerRank::from_fn(ep, |_| Experts::from_vec(whole(OUT * HIDDEN)));
        let room = || (PerRank::ragged(ep, &route), PerRank::ragged(ep, &route));
        let (mut expected, mut same, (mut sums, mut rounded)) = (case.zeros(), case.zeros(), room());
        forward(ep, &route, &x, &scale, &offset, &factors, &w, &mut expected, &mut same, &mut sums, &mut rounded);
        let (mut found, mut same2, (mut sums2, mut rounded2)) = (case.zeros(), case.zeros(), room());
        let report = forward::launch(
            &case.group(), &route, &x, &scale, &offset, &factors, &w, &mut found, &mut same2, &mut sums2, &mut rounded2,
        );
        let widened = expected.iter().eq(found.iter()) && same.iter().eq(same2.iter());
        let multiplied = sums.iter().eq(sums2.iter()) && rounded.iter().eq(rounded2.iter());
        check(&case, report, widened && multiplied)?;
    }

    #[test]
    fn tokens_sent_once_reach_all_their_experts(case in cases(once::EXPERTS, once::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, once::EXPERTS, &ids::<{ once::TOP_K }>(&case, once::EXPERTS)).unwrap();
        let (x, z, w) = (numbers(&case), numbers(&case), weights(&case));
        let mut kept = [PerRank::once(ep, &route), PerRank::once(ep, &route)];
        let (mut y, mut v, mut y2, mut v2) = (case.zeros(), case.zeros(), case.zeros(), case.zeros());
        once::forward(ep, &route, &x, &z, &w, &mut kept[0], &mut y, &mut v);
        let report = once::forward::launch(&case.group(), &route, &x, &z, &w, &mut kept[1], &mut y2, &mut v2);
        let equal = y.iter().eq(y2.iter()) && v.iter().eq(v2.iter()) && kept[0].iter().eq(kept[1].iter());
        check(&case, report, equal)?;
        let (mut again, mut again2) = (case.zeros(), case.zeros());
        once::again(ep, &route, &kept[0], &w, &mut again);
        let report = once::again::launch(&case.group(), &route, &kept[1], &w, &mut again2);
        check(&case, report, again.iter().eq(again2.iter()) && again.iter().eq(y.iter()))?;
    }

    #[test]
    fn tiles_that_do_not_nest_wait_for_whole_experts(case in cases(coarse::EXPERTS, coarse::TOKENS)) {
        let ep = case.ep();
        let route = Route::new(ep, coarse::EXPERTS, &ids::<{ coarse::TOP_K }>(&case, coarse::EXPERTS)).unwrap();
        let (x, w, k) = (numbers(&case), experts(&case, coarse::EXPERTS, 1), weights(&case));
        let mut expected = case.zeros();
        coarse::forward(ep, &route, &x, &w, &k, &mut expected);
        let mut found = case.zeros();
        let report = coarse::forward::launch(&case.group(), &route, &x, &w, &k, &mut found);
        check(&case, report, expected.iter().eq(found.iter()))?;
    }
}

/// Numbers, many of which are equal, or some of which are NaN.
fn with_ties<const C: usize>(case: &Case) -> PerRank<Tensor<f32, C>> {
    let number = |(place, x): (usize, f32)| match (case.seed % 2, place % 97) {
        (0, _) => (x * 4.0).round(),
        (_, 3) => f32::NAN,
        (_, 5) => f32::NEG_INFINITY,
        _ => x,
    };
    weights::<C>(case).map(|part| Tensor::from_vec(part.to_vec().into_iter().enumerate().map(number).collect()))
}

/// Rows are received, projected and given back. Then weight gradients: written, narrow, and added to ones.
type Products = (
    PerRank<Received<bf16, { products::HIDDEN }>>,
    PerRank<Received<bf16, { products::INTER }>>,
    PerRank<Slots<bf16, { products::HIDDEN }>>,
    PerRank<Experts<f32, { products::HIDDEN }, { products::INTER }>>,
    PerRank<Experts<bf16, { products::INTER }, { products::HIDDEN }>>,
    PerRank<Experts<f32, { products::HIDDEN }, { products::HIDDEN }>>,
    PerRank<Experts<f32, { products::HIDDEN }, { products::INTER }>>,
);

fn products_outputs(case: &Case, route: &Route) -> Products {
    use products::{HIDDEN, INTER};
    let ep = case.ep();
    let ones = vec![1.0; route.local_experts() * HIDDEN * HIDDEN];
    (
        PerRank::symmetric(ep, route),
        PerRank::ragged(ep, route),
        PerRank::slots(ep, route),
        PerRank::experts(ep, route),
        PerRank::experts(ep, route),
        PerRank::from_fn(ep, |_| Experts::from_slice(&ones)),
        PerRank::from_fn(ep, |_| Experts::from_slice(&ones[..route.local_experts() * HIDDEN * INTER])),
    )
}

fn check(case: &Case, report: Result<Report, LaunchError>, equal: bool) -> Result<(), TestCaseError> {
    let report = report.map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
    prop_assert!(equal, "different bits than the reference: {case:?}");
    prop_assert_eq!(report.empty_tasks, 0);
    Ok(())
}
