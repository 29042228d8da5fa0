//! Four- and eight-bit numbers: the megakernel gives the bits of its reference, and both give each code its exact
//! number.

use crate::random::{Case, Routing, bytes, cases, config, ids, weights};
use crate::small_kernels::codes::{
    BYTES, EXPERTS, FOURS, GROUPS, ODD, PAIRS, RAGGED_CODES, SMALL, TOKENS, TOP_K, UNITS, WIDTH, forward,
};
use hpmoe_runtime::formats;
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;

/// The inputs of the kernel.
struct Given {
    packed: PerRank<Tensor<i4x2, PAIRS>>,
    odd: PerRank<Tensor<i4x2, ODD>>,
    wide: PerRank<Tensor<i8, WIDTH>>,
    ragged: PerRank<Tensor<i8, RAGGED_CODES>>,
    groups: PerRank<Tensor<i8, GROUPS>>,
    scales: PerRank<Tensor<f32, GROUPS>>,
    small: PerRank<Tensor<f32, SMALL>>,
    units: PerRank<Tensor<i8, UNITS>>,
    eights: PerRank<Tensor<i8, UNITS>>,
    fours: PerRank<Tensor<i8, BYTES>>,
    fp8: [f32; 256],
}

/// The outputs for each number, as bits; all NaN are equal.
#[derive(PartialEq, Debug)]
struct Made {
    w4a8: Vec<i8>,
    w4a16: Vec<u32>,
    mxfp4: Vec<u32>,
    fp8: Vec<u32>,
    hifloat4: Vec<u32>,
    looked: Vec<u32>,
    repeated: Vec<u32>,
    sums: Vec<u32>,
    received: Vec<u32>,
    slots: Vec<u32>,
}

fn bits(number: f32) -> u32 {
    if number.is_nan() { f32::NAN.to_bits() } else { number.to_bits() }
}

fn all_bits<T: Number, X>(parts: &PerRank<X>, numbers: impl Fn(&X) -> Vec<T>) -> Vec<u32> {
    parts.iter().flat_map(|part| numbers(part).into_iter().map(|number| bits(number.to_f32()))).collect()
}

fn pairs<const C: usize>(bytes: &PerRank<Tensor<i8, C>>) -> PerRank<Tensor<i4x2, C>> {
    let pair = |byte: i8| i4x2::from_bits(byte.cast_unsigned());
    bytes.map(|part| Tensor::from_vec(part.to_vec().into_iter().map(pair).collect()))
}

impl Given {
    fn of(case: &Case) -> Self {
        let other = |which: u64| Case { seed: case.seed ^ which << 8, ..case.clone() };
        Self {
            packed: pairs(&bytes(case)),
            odd: pairs(&bytes(&other(1))),
            wide: bytes(&other(2)),
            ragged: bytes(&other(3)),
            groups: bytes(&other(4)),
            scales: weights(case),
            small: weights(&other(5)),
            units: bytes(&other(6)),
            eights: bytes(&other(7)),
            fours: bytes(&other(8)),
            fp8: if case.seed.is_multiple_of(2) { formats::e4m3() } else { formats::e5m2() },
        }
    }

    /// The output of the reference, or of a launch.
    fn run(&self, case: &Case, route: &Route, launched: bool) -> Result<Made, LaunchError> {
        fn row<const C: usize>(ep: Ranks, numbers: [f32; C]) -> PerRank<Matrix<f32, 1, C>> {
            PerRank::from_fn(ep, |_| Matrix::from_slice(&numbers))
        }
        let ep = case.ep();
        let places = row::<FOURS>(ep, std::array::from_fn(|column| 1.0 / (1 << (column % 8)) as f32));
        let (e2m1, s1p2) = (row(ep, formats::e2m1()), row(ep, formats::s1p2()));
        let (e8m0, e6m2, fp8) = (row(ep, formats::e8m0()), row(ep, formats::e6m2()), row(ep, self.fp8));
        let (mut w4a8, mut w4a16, mut mxfp4, mut of_fp8) = (case.zeros(), case.zeros(), case.zeros(), case.zeros());
        let (mut hifloat4, mut looked, mut repeated, mut sums) =
            (case.zeros(), case.zeros(), case.zeros(), case.zeros());
        let (mut received, mut slots) = (PerRank::ragged(ep, route), PerRank::slots(ep, route));
        macro_rules! run {
            ($call:path, $first:expr) => {
                $call(
                    $first,
                    route,
                    &self.packed,
                    &self.odd,
                    &self.wide,
                    &self.ragged,
                    &self.groups,
                    &self.scales,
                    &self.small,
                    &self.units,
                    &self.eights,
                    &self.fours,
                    &places,
                    &e2m1,
                    &s1p2,
                    &e8m0,
                    &e6m2,
                    &fp8,
                    &mut w4a8,
                    &mut w4a16,
                    &mut mxfp4,
                    &mut of_fp8,
                    &mut hifloat4,
                    &mut looked,
                    &mut repeated,
                    &mut sums,
                    &mut received,
                    &mut slots,
                )
            };
        }
        if launched {
            run!(forward::launch, &case.group())?;
        } else {
            run!(forward, ep);
        }
        Ok(Made {
            w4a8: w4a8.iter().flat_map(Tensor::to_vec).collect(),
            w4a16: all_bits(&w4a16, Tensor::<bf16, WIDTH>::to_vec),
            mxfp4: all_bits(&mxfp4, Tensor::<bf16, WIDTH>::to_vec),
            fp8: all_bits(&of_fp8, Tensor::<bf16, WIDTH>::to_vec),
            hifloat4: all_bits(&hifloat4, Tensor::<bf16, WIDTH>::to_vec),
            looked: all_bits(&looked, Tensor::<f32, RAGGED_CODES>::to_vec),
            repeated: all_bits(&repeated, Tensor::<f32, WIDTH>::to_vec),
            sums: all_bits(&sums, Tensor::<f32, { 2 * ODD }>::to_vec),
            received: all_bits(&received, Received::<f32, { 2 * ODD }>::to_vec),
            slots: all_bits(&slots, Slots::<f32, { 2 * ODD }>::to_vec),
        })
    }
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn codes_are_decoded(case in cases(EXPERTS, TOKENS)) {
        let route = Route::new(case.ep(), EXPERTS, &ids::<TOP_K>(&case, EXPERTS)).unwrap();
        let given = Given::of(&case);
        let expected = given.run(&case, &route, false).expect("the reference launches nothing");
        let found = given.run(&case, &route, true).map_err(|error| TestCaseError::fail(format!("{case:?}: {error}")))?;
        prop_assert!(expected == found, "different bits than the reference: {case:?}");
    }
}

/// The number with this sign, exponent and fraction, as the formats define it.
fn float(sign: usize, exponent: i32, fraction: f64) -> f64 {
    (1.0 - 2.0 * sign as f64) * 2f64.powi(exponent) * fraction
}

fn e2m1(code: usize) -> f64 {
    let (sign, exponent, fraction) = (code >> 3, code >> 1 & 3, (code & 1) as f64);
    if exponent == 0 { float(sign, 0, fraction / 2.0) } else { float(sign, exponent as i32 - 1, 1.0 + fraction / 2.0) }
}

fn e4m3(code: usize) -> f64 {
    let (sign, exponent, fraction) = (code >> 7, code >> 3 & 15, (code & 7) as f64);
    match (exponent, code & 7) {
        (15, 7) => f64::NAN,
        (0, _) => float(sign, -6, fraction / 8.0),
        _ => float(sign, exponent as i32 - 7, 1.0 + fraction / 8.0),
    }
}

fn e5m2(code: usize) -> f64 {
    let (sign, exponent, fraction) = (code >> 7, code >> 2 & 31, (code & 3) as f64);
    match (exponent, code & 3) {
        (31, 0) => float(sign, 0, f64::INFINITY),
        (31, _) => f64::NAN,
        (0, _) => float(sign, -14, fraction / 4.0),
        _ => float(sign, exponent as i32 - 15, 1.0 + fraction / 4.0),
    }
}

fn hifloat4(code: usize, scale: usize, doubled: i32) -> f64 {
    let element = float(code >> 3, 0, (code & 7) as f64 / 4.0);
    if scale == 255 {
        f64::NAN
    } else {
        element * float(0, (scale >> 2) as i32 - 48 + doubled, 1.0 + (scale & 3) as f64 / 4.0)
    }
}

/// All codes of all formats, with all of their scales, on one rank: bit-identical to the formats' definitions.
#[test]
fn every_code_has_its_number() {
    every_code("E4M3", formats::e4m3(), e4m3);
}

/// Like the test above, with the other fp8 format: a table may contain infinities and several NaN.
#[test]
fn every_code_of_e5m2_has_its_number() {
    every_code("E5M2", formats::e5m2(), e5m2);
}

/// With the table of an fp8 format, and the format's definition of each code.
fn every_code(format: &str, table: [f32; 256], fp8: fn(usize) -> f64) {
    let case = Case { tokens: vec![TOKENS], routing: Routing::Uniform, seed: 3, late: None };
    let route = Route::new(case.ep(), EXPERTS, &ids::<TOP_K>(&case, EXPERTS)).unwrap();
    let per = |columns: usize, number: &dyn Fn(usize) -> u8| -> Vec<i8> {
        (0..TOKENS * columns).map(|i| number(i).cast_signed()).collect()
    };
    fn one<T: Element, const C: usize>(numbers: Vec<T>) -> PerRank<Tensor<T, C>> {
        PerRank::from_vec(vec![Tensor::from_vec(numbers)])
    }
    // Columns c and c + 1 have the codes c mod 16 and (c + 1) mod 16. In a unit of HiFloat4, bits of j double group j
    // of 16 columns.
    let codes = per(PAIRS, &|i| ((2 * i % 16) | ((2 * i + 1) % 16) << 4) as u8);
    let given = Given {
        packed: pairs(&one(codes)),
        wide: one(per(WIDTH, &|i| i as u8)),
        ragged: one(per(RAGGED_CODES, &|i| i as u8)),
        groups: one(per(GROUPS, &|i| i as u8)),
        scales: one(vec![1.0; TOKENS * GROUPS]),
        units: one(per(UNITS, &|i| i as u8)),
        eights: one(per(UNITS, &|_| 0b1100_1100)),
        fours: one(per(BYTES, &|_| 0b1111_0000)),
        fp8: table,
        ..Given::of(&case)
    };
    let made = given.run(&case, &route, true).unwrap_or_else(|error| panic!("{error}"));
    assert!(made == given.run(&case, &route, false).expect("the reference launches nothing"));
    assert_eq!((WIDTH / GROUPS, WIDTH / UNITS), (32, 64));
    for i in 0..TOKENS * WIDTH {
        let code = i % 16;
        let whole = if code < 8 { code as i32 } else { code as i32 - 16 };
        let multiplier = i32::from((i / 32 % 256) as u8 as i8);
        assert_eq!(i32::from(made.w4a8[i]), (whole * multiplier).clamp(-128, 127), "W4A8 {code} · {multiplier}");
        assert_eq!(made.w4a16[i], bits(whole as f32), "W4A16 {code}");
        let scale = i / 32 % 256;
        let power = if scale == 255 { f64::NAN } else { 2f64.powi(scale as i32 - 127) };
        let exact = bf16::from_f32((e2m1(code) * power) as f32).to_f32();
        assert_eq!(made.mxfp4[i], bits(exact), "MXFP4 {code}, scale {scale}");
        assert_eq!(made.fp8[i], bits(fp8(i % 256) as f32), "{format} {}", i % 256);
        let (scale, group) = (i / 64 % 256, i % 64 / 8);
        let doubled = i32::from(group / 2 % 2 == 1) + i32::from(i % 32 >= 16);
        let exact = hifloat4(code, scale, doubled);
        assert_eq!(made.hifloat4[i], bits(exact as f32), "HiFloat4 {code}, scale {scale}, doubled {doubled} times");
    }
    for (i, number) in made.looked.iter().enumerate() {
        assert_eq!(*number, bits(fp8(i % 256) as f32), "{format} {}", i % 256);
    }
}
