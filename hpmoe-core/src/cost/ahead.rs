//! Weights that a core reads before its tile begins.

use super::{CostModel, SharedWork, Work};
use crate::plan::{L1_STAGES, Product};
use crate::time::Time;

/// Maximum number of queue entries that a matrix core reads while it holds a tile back (`ENTRIES_AHEAD` in `worker.h`).
pub const ENTRIES_AHEAD: u32 = 8;

/// The bytes of a product's right operand that a core can read before the left operand is available: as many as the two L1 stages have room
/// for.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Ahead {
    /// Bytes that the core reads, either from L2 or from HBM through L2.
    pub l2: f64,
    /// The bytes of `l2` that come from HBM.
    pub hbm: f64,
    /// The share of `l2`, from 0 to 1, that fits into the first L1 stage.
    pub first: f64,
}

impl Ahead {
    /// The bytes that a tile can read before its work begins: none if `work` is not [`Work::Gemm`]. `cut` is the on-chip plan of the tile's
    /// first product.
    #[must_use]
    pub fn new(work: &Work, cut: &Product) -> Self {
        let Work::Gemm { m, n, k, operands, right_reuse, .. } = *work else { return Self::default() };
        let block = cut.ahead_block(m, n, operands);
        let depth = k.min(L1_STAGES * block);
        let l2 = f64::from(depth) * f64::from(n) * operands.bytes() as f64;
        let first = f64::from(depth.min(block)) / f64::from(depth.max(1));
        Self { l2, hbm: l2 / f64::from(right_reuse.max(1.0)), first }
    }
}

impl CostModel {
    /// The time to read a share (`share`, from 0 to 1) of the bytes `ahead`, and the load on the die's memories.
    #[must_use]
    pub fn ahead(&self, ahead: Ahead, share: f64) -> SharedWork {
        let (hbm, l2) = (share * ahead.hbm, share * ahead.l2);
        let time = (l2 / self.l2_read_per_ps).max(hbm / self.hbm_read_per_ps);
        SharedWork { time: Time(time.ceil() as u64), hbm, l2 }
    }
}

impl Work {
    /// The work that remains of a tile after a share (`share`, from 0 to 1) of the bytes `ahead` has been read. Work without products stays
    /// as it is.
    #[must_use]
    pub fn after(&self, ahead: Ahead, share: f64) -> Self {
        match self.products() {
            Some(mut products) if share > 0.0 => {
                products.l2 -= share * ahead.l2;
                products.hbm_read -= share * ahead.hbm;
                Self::Share(products)
            }
            _ => *self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Written;
    use crate::fixture::{Layer, moe_ffn};
    use crate::plan::Plan;
    use crate::target::Target;
    use hpmoe_kernels::op::ElementType;

    /// 128 x 256 tiles of a large layer.
    fn cut() -> Product {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let mut plans = checked.plans().iter();
        let cube = plans.find_map(|(_, plan)| match plan {
            Plan::Cube(plan) => Some(plan.products[0].clone()),
            _ => None,
        });
        cube.expect("the layer has a task with products")
    }

    fn tile(m: u32, k: u32) -> Work {
        let operands = ElementType::bf16;
        Work::Gemm { m, n: 256, k, operands, products: 1, left_reuse: 1.0, right_reuse: 2.0, out: Written::BF16 }
    }

    #[test]
    fn shorter_tiles_leave_more_of_l1_to_weights() {
        let kib = |m, k| Ahead::new(&tile(m, k), &cut()).l2 / 1024.0;
        // 255.5 KiB for each stage: 320 of the contraction with 128 rows, 448 with 16 or fewer, in steps of 64.
        assert_eq!([kib(128, 7168), kib(16, 7168), kib(1, 7168), kib(16, 100)], [320.0, 448.0, 448.0, 50.0]);
        let ahead = Ahead::new(&tile(16, 7168), &cut());
        assert_eq!((ahead.l2, ahead.first), (2.0 * ahead.hbm, 0.5));
        let short = [100, 672].map(|k| Ahead::new(&tile(16, k), &cut()).first);
        assert_eq!(short, [1.0, 448.0 / 672.0]);
    }

    #[test]
    fn kernels_read_as_many_entries_ahead() {
        let header = include_str!("../../../kernels/include/hpmoe/worker.h");
        assert!(header.contains(&format!("constexpr uint32_t ENTRIES_AHEAD = {ENTRIES_AHEAD};\n")));
    }

    #[test]
    fn what_was_read_ahead_is_not_read_again() {
        let costs = CostModel::new(&Target::ascend_a3());
        let work = tile(16, 7168);
        let ahead = Ahead::new(&work, &cut());
        let time = |share| costs.alone(0, &work.after(ahead, share)).0 as f64;
        assert_eq!(work.after(ahead, 0.0), work);
        assert_eq!(work.after(ahead, 1.0).flops(), work.flops());
        // The product takes as long as its bytes need from HBM.
        let saved = costs.ahead(ahead, 1.0).time.0 as f64;
        assert!((time(0.0) - time(1.0) - saved).abs() < 2.0 && (time(0.0) - time(0.5) - saved / 2.0).abs() < 2.0);
    }
}
