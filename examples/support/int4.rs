//! Weights rounded to four bits.

use hpmoe_runtime::prelude::*;

/// The largest number of four bits, and the largest that a group is multiplied with: -8 times this is an i8.
const MOST: f32 = 7.0;
const MOST_TIMES: f32 = 16.0;

/// Weights of a projection, row by row: a row of `x · wᵀ`'s columns has one scale, and each of its groups of columns a whole number.
pub struct Int4<const N: usize, const PAIRS: usize, const GROUPS: usize> {
    pub weights: PerRank<Experts<i4x2, N, PAIRS>>,
    pub times: PerRank<Experts<i8, N, GROUPS>>,
    pub scales: PerRank<Experts<f32, 1, N>>,
}

/// A row in four bits.
struct Row {
    weights: Vec<i8>,
    times: Vec<i8>,
    scale: f32,
}

impl Row {
    /// The largest number of the row becomes 112 in units of its scale; a group is multiplied with the least whole number by which its
    /// largest becomes 7 at most, and rounded to nearest, ties to even.
    fn of(row: &[bf16], groups: usize) -> Self {
        let largest = |numbers: &mut dyn Iterator<Item = f32>| numbers.map(f32::abs).fold(0.0, f32::max);
        let most = largest(&mut row.iter().map(|w| w.to_f32()));
        let scale = if most > 0.0 { most / (MOST * MOST_TIMES) } else { 1.0 };
        let (mut weights, mut times) = (Vec::new(), Vec::new());
        for group in row.chunks(row.len() / groups) {
            let units: Vec<f32> = group.iter().map(|w| w.to_f32() / scale).collect();
            let factor = (largest(&mut units.iter().copied()) / MOST).ceil().clamp(1.0, MOST_TIMES);
            weights.extend(units.iter().map(|unit| (unit / factor).round_ties_even().clamp(-MOST - 1.0, MOST) as i8));
            times.push(factor as i8);
        }
        Self { weights, times, scale }
    }
}

impl<const N: usize, const PAIRS: usize, const GROUPS: usize> Int4<N, PAIRS, GROUPS> {
    /// Rounds weights.
    pub fn of<const K: usize>(wide: &PerRank<Experts<bf16, N, K>>) -> Self {
        let rows = |wide: &Experts<bf16, N, K>| wide.to_vec().chunks(K).map(|row| Row::of(row, GROUPS)).collect();
        let rows: PerRank<Vec<Row>> = wide.map(rows);
        let pack = |row: &Row| i4x2::pack(&row.weights);
        Self {
            weights: rows.map(|rows| Experts::from_vec(rows.iter().flat_map(pack).collect())),
            times: rows.map(|rows| Experts::from_vec(rows.iter().flat_map(|row| row.times.clone()).collect())),
            scales: rows.map(|rows| Experts::from_vec(rows.iter().map(|row| row.scale).collect())),
        }
    }
}
