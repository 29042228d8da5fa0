//! How often the panels that products read are found in L2.

use super::cost::BF16;
use crate::target::Target;

/// The tiles of an entry, which all matrix cores walk together: band after band, each column by column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileWalk {
    /// Items, each a row of tiles.
    pub items: u32,
    /// Tiles of an item.
    pub columns: u32,
    /// Items of a band; the last band may have fewer.
    pub band: u32,
}

/// The extents of the product that makes one tile: an m×k left panel times a k×n right panel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProductExtents {
    /// Rows of the tile.
    pub m: u32,
    /// Columns of the tile.
    pub n: u32,
    /// Terms of each sum.
    pub k: u32,
}

/// Number of tiles that one read of a panel from HBM serves through L2, for each side of a product; at least 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PanelReuse {
    /// Tiles per read of a left panel.
    pub left: f32,
    /// Tiles per read of a right panel.
    pub right: f32,
}

/// The reuse of the panels of products that are walked together.
///
/// A left panel is used in every column of its band, a right one by every item of a band. A panel stays in L2 from use to
/// use if everything that is read and written in between fits into half of it; the other half is left to all other work on
/// the die. A right panel even stays from band to band if a whole band fits.
#[must_use]
pub fn reuse(target: &Target, walk: TileWalk, product: ProductExtents) -> PanelReuse {
    let ProductExtents { m, n, k } = product;
    let half = f64::from(target.memory.l2_mib) * f64::from(1 << 20) / 2.0;
    let [left, right, out] = [(m, k), (n, k), (m, n)].map(|(a, b)| f64::from(a) * f64::from(b) * BF16);
    let rows = f64::from(walk.band.min(walk.items).max(1));
    let wide = f64::from(walk.columns);
    let left_stays = rows * (left + out) + right <= half;
    let right_stays = rows * left + wide * (right + rows * out) <= half;
    let at_once = (f64::from(target.cores.aic) / rows).ceil().min(wide);
    PanelReuse {
        left: if left_stays { wide } else { at_once } as f32,
        right: if right_stays { f64::from(walk.items.max(1)) } else { rows } as f32,
    }
}
