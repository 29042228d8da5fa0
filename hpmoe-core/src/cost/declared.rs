//! Times that external operators declare.

use super::{Efficiency, EntryTile, Joined, Neighbours, PanelReuse, Products, TileWalk, Work, Works, reuse};
use crate::target::Target;
use crate::time::Time;

impl Works {
    /// The work of a tile. It follows from the task's body; but if the task's external operator declares a time for a full tile, the core
    /// computes for this time, scaled by the tile's rows.
    #[must_use]
    pub fn work(&self, target: &Target, tile: EntryTile) -> Work {
        let neighbours = Neighbours { joined: tile.joined, bytes_per_flop: self.bytes_per_flop() };
        let reused = |walk, product| reuse(target, walk, product, neighbours);
        self.declaring(target, tile, self.work_of_body(tile, reused))
    }

    /// Like [`work`](Self::work), but for the order of tiles that moves the fewest bytes: one read of a panel from HBM serves all tiles of
    /// the entry, and of the phases in `tile.joined`, that need the panel, as if L2 were large enough.
    #[must_use]
    pub fn least(&self, target: &Target, tile: EntryTile) -> Work {
        let Joined { left, right, .. } = tile.joined;
        let once = |TileWalk { items, columns, .. }, _| PanelReuse {
            left: (columns * left.same) as f32,
            right: (items * right.same) as f32,
        };
        self.declaring(target, tile, self.work_of_body(tile, once))
    }

    fn declaring(&self, target: &Target, tile: EntryTile, of_body: Work) -> Work {
        match self.declared {
            Some(full) => {
                of_body.taking(Time(full.0.saturating_mul(tile.rows.into()) / u64::from(self.full_rows())), target)
            }
            None => of_body,
        }
    }
}

impl Work {
    /// This work, but with `time` as the time that the core computes; moving the bytes, which stay the same, can take longer. The time is
    /// stored as the operations of a product that takes this long. Puts, fixed times and empty work are returned unchanged.
    #[must_use]
    pub fn taking(self, time: Time, target: &Target) -> Self {
        let padded = time.0 as f64 * target.cube_flops() / 1e12 * target.fitted.gemm_fused_efficiency;
        match (self, self.products()) {
            (_, Some(products)) => Self::Share(Products { padded, efficiency: Efficiency::Fused, ..products }),
            (Self::Vector { read, written }, None) => {
                let (read, written) = (read as f64, written as f64);
                Self::Share(Products { padded, l2: read, hbm_read: read, written, stored: written, ..Products::NONE })
            }
            (other, None) => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::{CostModel, Written};
    use hpmoe_kernels::op::ElementType;

    #[test]
    fn a_declared_time_is_that_of_the_core_and_bytes_stay() {
        let (target, time) = (Target::ascend_a3(), Time::from_us(50.0));
        let costs = CostModel::new(&target);
        let gemm = Work::Gemm {
            m: 128,
            n: 256,
            k: 1024,
            operands: ElementType::bf16,
            products: 1,
            left_reuse: 8.0,
            right_reuse: 8.0,
            out: Written::BF16,
        };
        for work in [gemm, Work::Vector { read: 4096, written: 2048 }] {
            let taking = work.taking(time, &target);
            assert!(costs.alone(0, &taking).0.abs_diff(time.0) <= 1, "{taking:?}");
            assert_eq!((taking.flops(), taking.bytes()), (work.flops(), work.bytes()));
            // Memory can't be faster than it is.
            assert!(costs.alone(0, &work.taking(Time(1), &target)) > Time(1));
        }
    }
}
