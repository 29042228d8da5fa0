//! Random programs: each kernel gives the bits of its taskflow run as Rust, for any ranks, routings and orders of the
//! host's pipes.
#![allow(clippy::all, reason = "random programs contain unusual code")]

#[allow(unused_imports, reason = "a few programs don't need all")]
use crate::random::{Case, config, experts, ids, slots, tokens};
use hpmoe_runtime::prelude::*;
use proptest::prelude::*;

/// Elements as f32; all NaN are equal.
fn bits<T: Float>(elements: &[T]) -> Vec<u32> {
    elements.iter().map(|element| element.to_f32()).map(|x| if x.is_nan() { f32::NAN } else { x }.to_bits()).collect()
}

/// A matrix for each rank.
#[allow(dead_code, reason = "a few programs don't need it")]
fn matrix<T: Float, const N: usize, const K: usize>(case: &Case, which: u64) -> PerRank<Matrix<T, N, K>> {
    PerRank::from_fn(case.ep(), |rank| {
        let number = |at: usize| ((case.seed as usize ^ which as usize).wrapping_add(7 * at + rank.id()) % 61) as f32;
        Matrix::from_slice(&(0..N * K).map(|at| T::from_f32(number(at) / 16.0 - 1.5)).collect::<Vec<_>>())
    })
}

/// Compares the parts of all ranks, bit by bit.
macro_rules! check_bits {
    ($case:expr, $ep:expr, $expected:expr, $found:expr) => {
        for rank in $ep {
            let (expected, found) = (bits(&$expected[rank].to_vec()), bits(&$found[rank].to_vec()));
            let differ = expected.iter().zip(&found).position(|(expected, found)| expected != found);
            let what = concat!(stringify!($found), " has other bits");
            prop_assert!(
                differ.is_none() && expected.len() == found.len(),
                "{} at {:?} on {:?}: {:?}",
                what,
                differ,
                rank,
                $case
            );
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/programs.rs"));
