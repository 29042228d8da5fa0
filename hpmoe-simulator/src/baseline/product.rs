//! The share of a core in one expert's product, as work of the simulator.

use super::{BASE_TILE, OperatorProduct};
use crate::simulate::{self, Efficiency, PanelReuse, ProductExtents, TileWalk, Work};
use hpmoe_codegen::target::Target;

/// The base tiles of a core: tile `t` belongs to core `(before + t) mod cores`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tiles {
    pub(super) before: u32,
    pub(super) cores: u32,
    pub(super) core: u32,
}

impl Tiles {
    /// The number of its tiles among the first `total`.
    pub(super) const fn among(self, total: u32) -> u32 {
        let first = (self.core + self.cores - self.before % self.cores) % self.cores;
        (total + self.cores - 1 - first) / self.cores
    }
}

/// The work of a core in base tiles. If a side of the product is shorter than a base tile, its tiles are shorter, too; if it is
/// longer, tiles at the edge count as a fraction of a tile. Panels are read whole in either case.
pub(super) fn product(
    product: &OperatorProduct,
    rows: u32,
    tiles: Tiles,
    target: &Target,
    efficiency: Efficiency,
) -> Work {
    let total = product.base_tiles(rows);
    let (own, k) = (tiles.among(total), product.k.at(rows));
    if own == 0 || k == 0 {
        return Work::Empty;
    }
    let side = |extent: u32, base: u32| {
        let tile = extent.min(base);
        (tile, f64::from(extent) / f64::from(tile * extent.div_ceil(base)))
    };
    let (m, part_of_m) = side(product.m.at(rows), BASE_TILE[0]);
    let (n, part_of_n) = side(product.n.at(rows), BASE_TILE[1]);
    let tiles_of_core = (f64::from(own) * part_of_m * part_of_n) as f32;
    let reuse = reuse(product, rows, target);
    let (left_reuse, right_reuse) = (reuse.left * part_of_n as f32, reuse.right * part_of_m as f32);
    Work::Gemm { m, n, k, tiles: tiles_of_core, left_reuse, right_reuse, efficiency }
}

/// The number of base tiles that one read of a left panel, and of a right panel, serves through L2.
///
/// The order in which the cores of the original, or of a separate product, walk tiles is not known: they get the band height
/// that reads least.
fn reuse(product: &OperatorProduct, rows: u32, target: &Target) -> PanelReuse {
    let [m, n, _] = BASE_TILE;
    let k = product.k.at(rows);
    let (items, columns) = (product.m.at(rows).div_ceil(m), product.n.at(rows).div_ceil(n));
    let bytes = |reuse: &PanelReuse| m as f32 / reuse.left + n as f32 / reuse.right;
    let walks = (1..=items.max(1)).map(|band| TileWalk { items, columns, band });
    let reuses = walks.map(|walk| simulate::reuse(target, walk, ProductExtents { m, n, k }));
    reuses.min_by(|a, b| bytes(a).total_cmp(&bytes(b))).expect("one band at least")
}

#[cfg(test)]
mod tests {
    use super::{Tiles, product};
    use crate::baseline::{LayerShape, Operator, OperatorKind};
    use crate::simulate::{Cost, CostModel, Efficiency, Work};
    use hpmoe_codegen::target::Target;

    fn share(operator: Operator, rows: u32, core: u32) -> Work {
        let shape = LayerShape::deepseek_v3(8);
        let OperatorKind::Product(extents) = operator.kind(&shape) else { unreachable!() };
        let tiles = Tiles { before: 0, cores: 24, core };
        product(&extents, rows, tiles, &Target::ascend_a3(), Efficiency::Fused)
    }

    #[test]
    fn panels_that_fit_in_l2_are_read_once() {
        // 32 x 16 tiles, of which the first 8 cores have one more.
        let Work::Gemm { m, n, k, tiles, left_reuse, right_reuse, .. } = share(Operator::UpProj, 4096, 7) else {
            panic!("a product");
        };
        assert_eq!((m, n, k, tiles), (128, 256, 7168, 22.0));
        assert_eq!((left_reuse, right_reuse), (16.0, 32.0));
    }

    #[test]
    fn panels_that_do_not_fit_are_read_for_each_band() {
        // A right panel of 32,768 rows has 16 MiB: 28 of them don't fit, and of the left ones of 8 MiB a few do.
        let Work::Gemm { left_reuse, right_reuse, .. } = share(Operator::W2Grad, 32_768, 0) else {
            panic!("a product");
        };
        assert_eq!(left_reuse, 28.0);
        assert!((2.0..16.0).contains(&right_reuse), "{right_reuse}");
    }

    #[test]
    fn tiles_at_the_edge_count_by_their_part() {
        // 300 of 3 x 128 rows: 48 tiles, of which each core has two.
        let Work::Gemm { tiles, right_reuse, .. } = share(Operator::UpProj, 300, 15) else { panic!("a product") };
        assert_eq!((tiles, right_reuse), (2.0 * 300.0 / 384.0, 3.0 * 300.0 / 384.0));
        // 100 rows: 16 tiles, of which 16 cores have one.
        let Work::Gemm { m, tiles, .. } = share(Operator::UpProj, 100, 15) else { panic!("a product") };
        assert_eq!((m, tiles), (100, 1.0));
        assert_eq!(share(Operator::UpProj, 100, 16), Work::Empty);
        assert_eq!(share(Operator::W2Grad, 0, 0), Work::Empty);
    }

    #[test]
    fn weights_are_read_once_however_few_rows_there_are() {
        let costs = CostModel::new(&Target::ascend_a3());
        for rows in [1, 32, 127, 128, 130, 200, 256, 1000] {
            let hbm = |core| match costs.cost(0, &share(Operator::UpProj, rows, core)) {
                Cost::Shared(shared) => shared.hbm,
                _ => 0.0,
            };
            let read: f64 = (0..24).map(hbm).sum();
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
