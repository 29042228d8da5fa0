//! How often what a product reads is found in L2.

use super::cost::BF16;
use crate::target::Target;

/// For how many tiles one read of a left and of a right panel serves, when the `items`×`columns` tiles of an entry are
/// walked in bands of `band` items, column by column, by all matrix cores together.
///
/// A left panel is used in every column of its band, a right one by every item of a band. Both stay in L2 from use to
/// use where what is read and written between fits into half of it; the other half is left to everything else on the die.
/// A right panel stays even from band to band where a whole band fits.
#[must_use]
pub fn reuse(target: &Target, (items, columns, band): (u32, u32, u32), (m, n, k): (u32, u32, u32)) -> (f32, f32) {
    let half = f64::from(target.memory.l2_mib) * f64::from(1 << 20) / 2.0;
    let [left, right, out] = [(m, k), (n, k), (m, n)].map(|(a, b)| f64::from(a) * f64::from(b) * BF16);
    let rows = f64::from(band.min(items).max(1));
    let wide = f64::from(columns);
    let left_stays = rows * (left + out) + right <= half;
    let right_stays = rows * left + wide * (right + rows * out) <= half;
    let at_once = (f64::from(target.cores.aic) / rows).ceil().min(wide);
    (if left_stays { wide } else { at_once } as f32, if right_stays { f64::from(items.max(1)) } else { rows } as f32)
}
