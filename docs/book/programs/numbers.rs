//! Numbers and routes for the programs of the book.

use hpmoe_runtime::prelude::*;

/// Numbers between -1 and 1, different for each seed.
pub fn numbers(seed: usize, count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i + 17 * seed) * 37 % 101) as f32 / 50.0 - 1.0).collect()
}

/// Numbers between -1 and 1 in bf16, different for each seed.
pub fn rounded(seed: usize, count: usize) -> Vec<bf16> {
    numbers(seed, count).into_iter().map(bf16::from_f32).collect()
}

/// Ids for tokens that go to `K` experts each, one after the other.
pub fn ids<const K: usize>(experts: usize, tokens: usize) -> Tensor<i32, K> {
    let slot = |token: usize, k: usize| ((token * (K + 1) + k) % experts) as i32;
    Tensor::from_vec((0..tokens).flat_map(|token| (0..K).map(move |k| slot(token, k))).collect())
}
