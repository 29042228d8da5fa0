//! A core's share of one expert's product, as work of the simulator.

use super::{BASE_TILE, OperatorProduct};
use crate::simulate::{self, Efficiency, Neighbours, ProductExtents, TileWalk, Work, Written};
use hpmoe_core::target::Target;
use hpmoe_kernels::op::ElementType;

/// The base tiles of one core: tile `t` belongs to core `(before + t) mod cores`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tiles {
    pub(super) before: u32,
    pub(super) cores: u32,
    pub(super) core: u32,
}

impl Tiles {
    /// Number of the core's tiles among the first `total` tiles.
    pub(super) const fn among(self, total: u32) -> u32 {
        (total + self.cores - 1 - self.first()) / self.cores
    }

    /// Number of the core's first tile.
    const fn first(self) -> u32 {
        (self.core + self.cores - self.before % self.cores) % self.cores
    }
}

/// The common properties of an operator's products.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Products {
    pub(super) operands: ElementType,
    /// Number of products that are added up in one result.
    pub(super) terms: u32,
    /// How the result is written to memory.
    pub(super) out: Written,
    /// The share of the peak rate that products of bf16 and f16 reach.
    pub(super) efficiency: Efficiency,
    /// Bytes that vector cores and puts move per FLOP of a product.
    pub(super) bytes_per_flop: f64,
}

/// A core's work on its base tiles. Tiles are taken row by row, from left to right. A tile at the edge costs its actual extents, padded
/// like those of any tile. With zero rows to sum over, the tiles of a gradient are still written as zeros.
pub(super) fn product(product: &OperatorProduct, rows: u32, tiles: Tiles, target: &Target, products: Products) -> Work {
    let [m, n, k] = [product.m, product.n, product.k].map(|extent| extent.at(rows));
    let total = product.base_tiles(rows);
    if tiles.among(total) == 0 {
        return Work::Empty;
    }
    let walk = walk(product, rows, target, &products);
    let columns = n.div_ceil(BASE_TILE[1]);
    let side = |extent: u32, base: u32, at: u32| (extent - at * base).min(base);
    let mut sum = simulate::Products::NONE;
    for tile in (tiles.first()..total).step_by(tiles.cores as usize) {
        let (row, column) = (tile / columns, tile % columns);
        let work = Work::Gemm {
            m: side(m, BASE_TILE[0], row),
            n: side(n, BASE_TILE[1], column),
            k,
            operands: products.operands,
            products: products.terms,
            left_reuse: walk.left,
            right_reuse: walk.right,
            out: products.out,
        };
        let one = work.products().expect("a tile is a product");
        // Products of f32 and of int8 have their own rates everywhere.
        sum.efficiency = if one.efficiency == Efficiency::Fused { products.efficiency } else { one.efficiency };
        sum.flops += one.flops;
        sum.padded += one.padded;
        sum.l2 += one.l2;
        sum.hbm_read += one.hbm_read;
        sum.written += one.written;
        sum.stored += one.stored;
    }
    Work::Share(sum)
}

/// The number of base tiles that one read of a left panel, and of a right panel, serves through L2.
///
/// The order in which the cores of the original, or of a separate product, walk tiles is not known: they get the band height
/// that reads least.
fn walk(product: &OperatorProduct, rows: u32, target: &Target, products: &Products) -> simulate::PanelReuse {
    let [m, n, _] = BASE_TILE;
    let k = product.k.at(rows);
    let (items, columns) = (product.m.at(rows).div_ceil(m), product.n.at(rows).div_ceil(n));
    let bytes = |reuse: &simulate::PanelReuse| m as f32 / reuse.left + n as f32 / reuse.right;
    let walks = (1..=items.max(1)).map(|band| TileWalk { items, columns, band });
    let neighbours = Neighbours { bytes_per_flop: products.bytes_per_flop, ..Neighbours::NONE };
    let operands = products.operands;
    let reuses =
        walks.map(|walk| simulate::reuse(target, walk, ProductExtents { m, n, k, operands, written: 2 }, neighbours));
    reuses.min_by(|a, b| bytes(a).total_cmp(&bytes(b))).expect("there is at least one band")
}

#[cfg(test)]
mod tests {
    use super::{Tiles, product};
    use crate::baseline::{LayerShape, Operator, OperatorKind};
    use crate::simulate::{CostModel, Efficiency, Products, Work, Written};
    use hpmoe_core::target::Target;
    use hpmoe_kernels::op::ElementType;

    fn share(operator: Operator, rows: u32, core: u32) -> Work {
        let shape = LayerShape::deepseek_v3(8);
        let OperatorKind::Product(extents) = operator.kind(&shape) else { unreachable!() };
        let tiles = Tiles { before: 0, cores: 24, core };
        let products = super::Products {
            operands: ElementType::bf16,
            terms: 1,
            out: Written::BF16,
            efficiency: Efficiency::Fused,
            bytes_per_flop: 0.0,
        };
        product(&extents, rows, tiles, &Target::ascend_a3(), products)
    }

    fn sums(operator: Operator, rows: u32, core: u32) -> Products {
        share(operator, rows, core).products().unwrap()
    }

    /// FLOPs of a tile of the up projection. `LEFT` is the number of bytes of its left panel.
    const TILE: f64 = 2.0 * 128.0 * 256.0 * 7168.0;
    const LEFT: f64 = 2.0 * 128.0 * 7168.0;

    #[test]
    fn panels_that_fit_in_l2_are_read_once() {
        // 32 x 16 tiles, of which the first 8 cores have one more; 58.7 MB of weights stay in L2.
        let share = sums(Operator::UpProj, 4096, 7);
        assert_eq!((share.padded, share.l2), (22.0 * TILE, 22.0 * 3.0 * LEFT));
        assert!((share.hbm_read / (22.0 * (LEFT / 16.0 + 2.0 * LEFT / 32.0)) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn panels_that_do_not_fit_are_read_for_each_band() {
        // A right panel of 65,536 rows takes 32 MiB and a left one 16 MiB. L2 has room for a few left ones, but not for 28 right ones.
        let share = sums(Operator::W2Grad, 65_536, 0);
        let panel = 2.0 * 128.0 * 65_536.0;
        let tiles = share.padded / (2.0 * 128.0 * 256.0 * 65_536.0);
        let right = (share.hbm_read / tiles - panel / 28.0) / (2.0 * panel);
        assert!((1.0 / 16.0 + 1e-3..0.5).contains(&right), "{right}");
    }

    #[test]
    fn a_tile_at_the_edge_costs_what_it_has() {
        // 300 rows: two rows of 16 whole tiles and one with 44 rows, padded to 48. Core 15 has tile 15, whole, and 39, short.
        let share = sums(Operator::UpProj, 300, 15);
        assert!((share.flops / TILE - (1.0 + 44.0 / 128.0)).abs() < 1e-9);
        assert!((share.padded / TILE - (1.0 + 48.0 / 128.0)).abs() < 1e-9);
        // It reads all weights of its columns again.
        assert!((share.l2 / LEFT - (3.0 + 2.0 + 44.0 / 128.0)).abs() < 1e-9);
        // 100 rows: 16 tiles, one for each of 16 cores.
        assert!((sums(Operator::UpProj, 100, 15).padded / TILE - 112.0 / 128.0).abs() < 1e-9);
        assert_eq!(share_of_nothing(), [Work::Empty, Work::Empty]);
    }

    fn share_of_nothing() -> [Work; 2] {
        [share(Operator::UpProj, 100, 16), share(Operator::UpProj, 0, 0)]
    }

    #[test]
    fn gradients_of_experts_without_rows_become_zero() {
        let zeros = sums(Operator::W2Grad, 0, 0);
        // 16 x 28 tiles, of which the first cores have 19.
        assert_eq!((zeros.padded, zeros.hbm_read, zeros.written), (0.0, 0.0, 19.0 * 65_536.0));
        assert!(CostModel::new(&Target::ascend_a3()).alone(0, &Work::Share(zeros)).us() > 1.0);
    }

    #[test]
    fn weights_are_read_once_however_few_rows_there_are() {
        for rows in [1, 32, 127, 128, 130, 200, 256, 1000] {
            let all = || (0..24).filter_map(|core| share(Operator::UpProj, rows, core).products());
            let read: f64 = all().map(|share| share.hbm_read + share.written).sum();
            let (rows, weights) = (f64::from(rows), 2.0 * 7168.0 * 4096.0);
            let right = weights + rows * 2.0 * (7168.0 + 4096.0);
            assert!((read / right - 1.0).abs() < 1e-6, "{read} instead of {right} for {rows} rows");
        }
    }

    #[test]
    fn tiles_go_on_where_those_before_ended() {
        let count = |before, core| Tiles { before, cores: 24, core }.among(30);
        assert_eq!((count(0, 0), count(0, 5), count(0, 6)), (2, 2, 1));
        assert_eq!((count(20, 20), count(20, 23), count(20, 0), count(20, 2)), (2, 2, 2, 1));
        assert_eq!((0..24).map(|core| count(20, core)).sum::<u32>(), 30);
    }
}
