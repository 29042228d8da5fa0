//! Weights rounded to i8.

use hpmoe_runtime::prelude::*;

/// Weights of a projection in i8, with one scale for each row.
pub struct Int8<const N: usize, const K: usize> {
    pub weights: PerRank<Experts<i8, N, K>>,
    pub scales: PerRank<Experts<f32, 1, N>>,
}

impl<const N: usize, const K: usize> Int8<N, K> {
    /// Rounds weights. The largest number of a row becomes 127 or -127; the others are rounded to nearest, ties to even.
    pub fn of(wide: &PerRank<Experts<bf16, N, K>>) -> Self {
        let of_row = |row: &[bf16]| row.iter().map(|w| w.to_f32().abs()).fold(0.0, f32::max) / 127.0;
        let scales = |wide: &Experts<bf16, N, K>| wide.to_vec().chunks(K).map(of_row).collect();
        let weights = |wide: &Experts<bf16, N, K>| {
            let row = |row: &[bf16]| {
                let scale = of_row(row);
                let number = |w: &bf16| if scale > 0.0 { (w.to_f32() / scale).round_ties_even() as i8 } else { 0 };
                row.iter().map(number).collect::<Vec<_>>()
            };
            wide.to_vec().chunks(K).flat_map(row).collect()
        };
        Self {
            weights: wide.map(|wide| Experts::from_vec(weights(wide))),
            scales: wide.map(|wide| Experts::from_vec(scales(wide))),
        }
    }
}
