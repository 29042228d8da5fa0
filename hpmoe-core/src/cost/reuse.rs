//! How often the panels that products read are found in L2.

use super::Joined;
use crate::target::Target;
use hpmoe_kernels::op::ElementType;

/// The tiles of an entry. All matrix cores walk them together: one band after another, and each band column by column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileWalk {
    /// Number of items, each a row of tiles.
    pub items: u32,
    /// Number of tiles per item.
    pub columns: u32,
    /// Number of items per band; the last band may have fewer.
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
    /// Element type of both operands.
    pub operands: ElementType,
    /// Bytes per element of the result.
    pub written: u32,
}

/// For the left and the right panels of products: number of tiles that one read of a panel from HBM serves, through L2; at least 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PanelReuse {
    /// Number of tiles per read of a left panel.
    pub left: f32,
    /// Number of tiles per read of a right panel.
    pub right: f32,
}

/// Data that share L2 with the panels of a product.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Neighbours {
    /// The products that are walked together, tile by tile.
    pub joined: Joined,
    /// Bytes that vector cores and puts move while the cube does one floating-point operation.
    pub bytes_per_flop: f64,
}

impl Neighbours {
    /// No other work: a product that has the die to itself.
    pub const NONE: Self = Self { joined: Joined::ALONE, bytes_per_flop: 0.0 };
}

/// The number of tiles that one read of a panel serves, for products that are walked together.
///
/// A left panel that stays in L2 from one column to the next serves all columns of its band; any other serves the columns that cores
/// compute at the same time. A right panel serves all items if a whole band fits in L2; otherwise, it serves the items of one band. Products
/// that are walked together read a panel that they share once, unless L2 has no room for the tiles that cores compute at the same time. A
/// panel stays in L2 between two uses if all bytes that are touched in between fit: the bytes of the products, of the products that are
/// walked with them, and of concurrent vector work and puts. L2 keeps the most recently used bytes.
#[must_use]
pub fn reuse(target: &Target, walk: TileWalk, product: ProductExtents, neighbours: Neighbours) -> PanelReuse {
    let ProductExtents { m, n, k, operands, written } = product;
    let l2 = f64::from(target.memory.l2_mib) * f64::from(1 << 20);
    let area = |a: u32, b: u32| f64::from(a) * f64::from(b);
    let [left, right] = [m, n].map(|free| area(free, k) * operands.bytes() as f64);
    let out = area(m, n) * f64::from(written);
    let rows = f64::from(walk.band.min(walk.items).max(1));
    let wide = f64::from(walk.columns);
    let Joined { phases, left: lefts, right: rights } = neighbours.joined;
    let flops = 2.0 * f64::from(m) * f64::from(n) * f64::from(k);
    // The bytes that a band touches: its left panels, and more for each column.
    let band = rows * f64::from(lefts.different) * left;
    let column =
        f64::from(rights.different) * right + f64::from(phases) * rows * (out + flops * neighbours.bytes_per_flop);
    let at_once = (f64::from(target.cores.aic) / rows).ceil().min(wide);
    let fits = |columns: f64| band + columns * column <= l2;
    let shared = |same: u32| if fits(at_once) { f64::from(same) } else { 1.0 };
    PanelReuse {
        left: (shared(lefts.same) * if fits(1.0) { wide } else { at_once }) as f32,
        right: (shared(rights.same) * if fits(wide) { f64::from(walk.items.max(1)) } else { rows }) as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Shared;

    #[test]
    fn weights_stay_from_band_to_band_if_all_of_them_fit() {
        let target = Target::ascend_a3();
        let walk = TileWalk { items: 32, columns: 16, band: 2 };
        let product = ProductExtents { m: 128, n: 256, k: 14336, operands: ElementType::bf16, written: 2 };
        // 16 panels of 7 MiB fit into 192 MiB. Those of two products don't, and neither do those of one product with much other work.
        assert_eq!(reuse(&target, walk, product, Neighbours::NONE).right, 32.0);
        let two = joined((2, 1), (1, 2));
        assert_eq!(reuse(&target, walk, product, Neighbours { joined: two, ..Neighbours::NONE }).right, 2.0);
        let busy = Neighbours { joined: Joined::ALONE, bytes_per_flop: 0.01 };
        assert_eq!(reuse(&target, walk, product, busy), PanelReuse { left: 16.0, right: 2.0 });
    }

    /// Two joined phases, with the numbers of phases with the same panels, and of different panels.
    fn joined(left: (u32, u32), right: (u32, u32)) -> Joined {
        let shared = |(same, different): (u32, u32)| Shared { same, different };
        Joined { phases: 2, left: shared(left), right: shared(right) }
    }

    #[test]
    fn a_panel_of_two_products_is_read_once_for_both() {
        let target = Target::ascend_a3();
        let walk = TileWalk { items: 6, columns: 20, band: 2 };
        let of = |k: u32, joined: Joined| {
            let product = ProductExtents { m: 128, n: 256, k, operands: ElementType::bf16, written: 2 };
            let PanelReuse { left, right } = reuse(&target, walk, product, Neighbours { joined, ..Neighbours::NONE });
            (left, right)
        };
        let [apart, left, right] = [joined((1, 2), (1, 2)), joined((2, 1), (1, 2)), joined((1, 2), (2, 1))];
        assert_eq!([of(1024, Joined::ALONE), of(1024, apart)], [(20.0, 6.0); 2]);
        assert_eq!([of(1024, left), of(1024, right)], [(40.0, 6.0), (20.0, 12.0)]);
        // Right panels of 12 MiB don't stay from band to band, and twelve columns of two such panels don't fit.
        let long = 24 << 10;
        assert_eq!([of(long, Joined::ALONE), of(long, left)], [(20.0, 2.0); 2]);
        // Those of one product and its twin do.
        assert_eq!(of(long, right), (20.0, 4.0));
        // Left panels of 256 MiB don't stay from column to column, or from one product to the next.
        assert_eq!([of(1 << 20, left), of(1 << 20, right)], [(12.0, 2.0); 2]);
    }
}
