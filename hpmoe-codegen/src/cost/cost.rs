//! The cost function: how long a task's work takes on its core, and what it takes from shared resources meanwhile.

use super::{Efficiency, Time, Work};
use crate::target::Target;
use hpmoe_language::plan::panel_rows;

/// Rows, columns and contraction are padded to the cube's fractals.
const FRACTAL: u32 = 16;
/// Bytes of a bf16 element.
pub(super) const BF16: f64 = 2.0;

/// The cost of a task's work.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cost {
    /// None in addition to the fixed costs of a task.
    Nothing,
    /// Time on the core alone.
    Alone(Time),
    /// Time on the core at full speed, and the bytes that it moves meanwhile. It takes longer while the die's memories are busy.
    Shared(SharedWork),
    /// Bytes to another rank, as fast as the links allow.
    Link {
        /// The rank that receives them.
        to: u32,
        /// Number of bytes.
        bytes: u64,
    },
}

/// Work that shares the memories of its die.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SharedWork {
    /// Time at full speed.
    pub time: Time,
    /// Bytes to and from HBM.
    pub hbm: f64,
    /// Bytes read through L2. Writes are fewer and have a path of their own, which is never full.
    pub l2: f64,
}

/// The constants of a target that costs are computed from, per picosecond.
#[derive(Clone, Debug)]
pub struct CostModel {
    fused_flop_per_ps: f64,
    operator_flop_per_ps: f64,
    l2_read_per_ps: f64,
    elementwise_per_ps: f64,
    put_per_ps: f64,
}

impl CostModel {
    /// The cost model of a target.
    #[must_use]
    pub fn new(target: &Target) -> Self {
        let per_cycle = |amount: f64| amount * target.cores.clock_ghz * 1e9 / 1e12;
        let peak = target.cube_flops() / 1e12;
        Self {
            fused_flop_per_ps: peak * target.fitted.gemm_fused_efficiency,
            operator_flop_per_ps: peak * target.fitted.gemm_operator_efficiency,
            l2_read_per_ps: per_cycle(target.memory.l2_read_bytes_per_cycle_core),
            elementwise_per_ps: target.vector.elementwise_gb_per_s / 1e3,
            put_per_ps: target.link.put_gb_per_s_per_aiv / 1e3,
        }
    }

    /// The cost of a task's work on a core of `rank`.
    #[must_use]
    pub fn cost(&self, rank: u32, work: &Work) -> Cost {
        match *work {
            Work::Empty => Cost::Nothing,
            Work::Fixed { time } => Cost::Alone(time),
            Work::Vector { read, written } => Cost::Shared(self.elementwise(read as f64, written as f64)),
            // A copy within the die is read and written once.
            Work::Put { to, bytes } if to == rank => Cost::Shared(self.elementwise(bytes as f64, bytes as f64)),
            Work::Put { to, bytes } => Cost::Link { to, bytes },
            Work::Gemm { m, n, k, tiles, left_reuse, right_reuse, efficiency } => {
                let [left, right, out] = [(m, k), (n, k), (m, n)].map(|(a, b)| f64::from(a) * f64::from(b) * BF16);
                let [m, n, k] = [m, n, k].map(|size| f64::from(size.next_multiple_of(FRACTAL)));
                let rate = match efficiency {
                    Efficiency::Fused => self.fused_flop_per_ps,
                    Efficiency::Operator => self.operator_flop_per_ps,
                };
                let tiles = f64::from(tiles);
                let products = 2.0 * m * n * k / rate;
                // Each panel of a tile that L0C can't hold reads the right operand again.
                let panel = panel_rows((m as u64).max(FRACTAL.into()), (n as u64).max(FRACTAL.into()));
                let l2 = left + right * (m / panel as f64).ceil();
                Cost::Shared(SharedWork {
                    time: Time((tiles * products.max(l2 / self.l2_read_per_ps)).ceil() as u64),
                    hbm: tiles
                        * (left / f64::from(left_reuse.max(1.0)) + right / f64::from(right_reuse.max(1.0)) + out),
                    l2: tiles * l2,
                })
            }
        }
    }

    /// The time that work takes when nothing else runs.
    #[must_use]
    pub fn alone(&self, rank: u32, work: &Work) -> Time {
        match self.cost(rank, work) {
            Cost::Nothing => Time::ZERO,
            Cost::Alone(time) => time,
            Cost::Shared(shared) => shared.time,
            Cost::Link { bytes, .. } => Time((bytes as f64 / self.put_per_ps).ceil() as u64),
        }
    }

    /// No reuse is assumed: what a vector core reads counts as read from HBM, though some of it is still in L2.
    fn elementwise(&self, read: f64, written: f64) -> SharedWork {
        let bytes = read + written;
        SharedWork { time: Time((bytes / self.elementwise_per_ps).ceil() as u64), hbm: bytes, l2: read }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_of_a_tall_tile_read_the_right_operand_again() {
        let costs = CostModel::new(&Target::ascend_a3());
        let l2 = |m, n| {
            let (tiles, reuse) = (1.0, 1.0);
            let efficiency = Efficiency::Fused;
            let work = Work::Gemm { m, n, k: 1024, tiles, left_reuse: reuse, right_reuse: reuse, efficiency };
            let Cost::Shared(shared) = costs.cost(0, &work) else { panic!("a product reads memories") };
            shared.l2 / (1024.0 * BF16)
        };
        assert_eq!([l2(128, 256), l2(112, 256), l2(0, 256)], [384.0, 368.0, 0.0]);
        // L0C holds 128 rows of 256 sums, or 64 of 512.
        assert_eq!([l2(256, 256), l2(272, 256), l2(512, 512)], [768.0, 1040.0, 4608.0]);
    }
}
