//! A core's share of one expert's product, as the simulator takes it.

use super::{BASE_TILE, Product};
use crate::simulate::{Efficiency, Work};

/// Which base tiles are a core's: tile `t` belongs to core `(before + t) mod cores`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tiles {
    pub(super) before: u32,
    pub(super) cores: u32,
    pub(super) core: u32,
}

impl Tiles {
    /// How many of the first `total` tiles.
    pub(super) const fn of(self, total: u32) -> u32 {
        let first = (self.core + self.cores - self.before % self.cores) % self.cores;
        (total + self.cores - 1 - first) / self.cores
    }
}

/// The share of a core, in base tiles. Tiles at the edges count by their part of a whole one.
pub(super) fn product(product: &Product, rows: u32, tiles: Tiles, l2_bytes: u64, efficiency: Efficiency) -> Work {
    let total = product.base_tiles(rows);
    let (own, k) = (tiles.of(total), product.k.at(rows));
    if own == 0 || k == 0 {
        return Work::Empty;
    }
    let [m, n, _] = BASE_TILE;
    let whole = f64::from(product.m.at(rows)) / f64::from(m) * f64::from(product.n.at(rows)) / f64::from(n);
    let tiles_of_core = (whole * f64::from(own) / f64::from(total)) as f32;
    let [left_reuse, right_reuse] = reuse(product, rows, tiles.cores, l2_bytes);
    Work::Gemm { m, n, k, tiles: tiles_of_core, left_reuse, right_reuse, efficiency }
}

/// For how many base tiles one read of a left and a right panel serves, through L2.
///
/// Cores take consecutive tiles of a row, then of the next. A left panel is needed only while its row runs. The right
/// panels come again with every row: from L2 if all of them fit, else only the rows that run at a time share them.
fn reuse(product: &Product, rows: u32, cores: u32, l2_bytes: u64) -> [f32; 2] {
    let (m, n, k) = (product.m.at(rows), product.n.at(rows), product.k.at(rows));
    let (down, across) = (m.div_ceil(BASE_TILE[0]).max(1), n.div_ceil(BASE_TILE[1]).max(1));
    let fits = 2 * u64::from(n) * u64::from(k) <= l2_bytes;
    let at_a_time = (cores as f32 / across as f32).clamp(1.0, down as f32);
    [across as f32, if fits { down as f32 } else { at_a_time }]
}
