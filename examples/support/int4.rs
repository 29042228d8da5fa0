//! Weights rounded to four bits.

use hpmoe_runtime::prelude::*;

/// The largest 4-bit number, and the largest factor of a group: -8 times this factor still fits i8.
const MOST: f32 = 7.0;
const MOST_TIMES: f32 = 16.0;

/// Weights of a projection in four bits. Each row has one scale, and each group of columns in a row has an integer factor (`times`).
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
    /// Rounds a row. The scale is chosen so that the largest number of the row is 112 times the scale. Each group gets the smallest integer
    /// factor with which its largest number becomes at most 7; numbers are rounded to nearest, ties to even.
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
