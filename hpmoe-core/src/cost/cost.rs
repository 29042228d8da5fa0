//! The cost function: the time of a task's work on its core, and its load on shared resources meanwhile.

use super::{Efficiency, Products, Work};
use crate::target::Target;
use crate::time::Time;

/// The cost of a task's work.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cost {
    /// No cost beyond the fixed costs of a task.
    Nothing,
    /// Time on the core; the work uses no shared resource.
    Alone(Time),
    /// Time on the core at full speed, and the bytes that the core moves in this time. The work takes longer while the die's memories are
    /// busy.
    Shared(SharedWork),
    /// Bytes to another rank, as fast as the links allow.
    Link {
        /// The rank that receives the bytes.
        to: u32,
        /// Number of bytes.
        bytes: u64,
    },
}

/// Work that shares the memories of its die.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SharedWork {
    /// Time on the core if nothing else uses the memories.
    pub time: Time,
    /// Bytes to and from HBM.
    pub hbm: f64,
    /// Bytes read through L2. Written bytes don't count: they are fewer, and have a separate path that is never saturated.
    pub l2: f64,
}

/// bf16 products in the time of one f32 product: per cycle, the cube takes 4 f32 elements of a contraction, or 16 of bf16 (table of the
/// theoretical performance of Mmad, NPU architecture 2201).
const SLOWER_IN_F32: f64 = 4.0;

/// The constants of a target that costs are computed from: operations and bytes per picosecond.
#[derive(Clone, Debug)]
pub struct CostModel {
    fused_flop_per_ps: f64,
    int8_flop_per_ps: f64,
    operator_flop_per_ps: f64,
    pub(super) l2_read_per_ps: f64,
    l2_write_per_ps: f64,
    pub(super) hbm_read_per_ps: f64,
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
            int8_flop_per_ps: target.int8_flops() / 1e12,
            l2_read_per_ps: per_cycle(target.memory.l2_read_bytes_per_cycle_core),
            l2_write_per_ps: per_cycle(target.memory.l2_write_bytes_per_cycle_core),
            hbm_read_per_ps: per_cycle(target.memory.hbm_bytes_per_cycle_core),
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
            Work::Gemm { .. } | Work::Share(_) => {
                let products = work.products().expect("this work consists of products");
                let time = self.in_l2(&products).max(products.hbm_read / self.hbm_read_per_ps);
                Cost::Shared(SharedWork {
                    time: Time(time.ceil() as u64),
                    hbm: products.hbm_read + products.written,
                    l2: products.l2,
                })
            }
        }
    }

    /// The time that work takes on a core of `rank` when nothing else runs.
    #[must_use]
    pub fn alone(&self, rank: u32, work: &Work) -> Time {
        match self.cost(rank, work) {
            Cost::Nothing => Time::ZERO,
            Cost::Alone(time) => time,
            Cost::Shared(shared) => shared.time,
            Cost::Link { bytes, .. } => Time((bytes as f64 / self.put_per_ps).ceil() as u64),
        }
    }

    /// The time that work takes when nothing else runs and L2 holds all operands. No order of tiles makes it shorter.
    #[must_use]
    pub fn least(&self, rank: u32, work: &Work) -> Time {
        match work.products() {
            Some(products) => Time(self.in_l2(&products).ceil() as u64),
            None => self.alone(rank, work),
        }
    }

    /// Picoseconds of products whose operands are in L2: the longest of computing, reading and writing, which overlap.
    fn in_l2(&self, products: &Products) -> f64 {
        let rate = match products.efficiency {
            Efficiency::Fused => self.fused_flop_per_ps,
            Efficiency::Operator => self.operator_flop_per_ps,
            Efficiency::Int8 => self.int8_flop_per_ps,
            Efficiency::Single => self.fused_flop_per_ps / SLOWER_IN_F32,
        };
        let moved = (products.l2 / self.l2_read_per_ps).max(products.stored / self.l2_write_per_ps);
        (products.padded / rate).max(moved)
    }

    /// The cost of elementwise work. It assumes no reuse: all reads of a vector core count as reads from HBM, although some data are still
    /// in L2.
    fn elementwise(&self, read: f64, written: f64) -> SharedWork {
        let bytes = read + written;
        SharedWork { time: Time((bytes / self.elementwise_per_ps).ceil() as u64), hbm: bytes, l2: read }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Written;
    use super::*;
    use hpmoe_kernels::op::ElementType;

    const BF16: f64 = 2.0;

    fn gemm(m: u32, n: u32, k: u32, reuse: f32, out: Written) -> Work {
        let operands = ElementType::bf16;
        Work::Gemm { m, n, k, operands, products: 1, left_reuse: reuse, right_reuse: reuse, out }
    }

    fn shared(work: &Work) -> SharedWork {
        let Cost::Shared(shared) = CostModel::new(&Target::ascend_a3()).cost(0, work) else {
            panic!("a product uses memories")
        };
        shared
    }

    #[test]
    fn panels_of_a_tall_tile_read_the_right_operand_again() {
        let l2 = |m, n| shared(&gemm(m, n, 1024, 1.0, Written::BF16)).l2 / (1024.0 * BF16);
        assert_eq!([l2(128, 256), l2(112, 256), l2(0, 256)], [384.0, 368.0, 0.0]);
        // L0C holds 128 rows of 256 sums, or 64 of 512.
        assert_eq!([l2(256, 256), l2(272, 256), l2(512, 512)], [768.0, 1040.0, 4608.0]);
    }

    #[test]
    fn a_core_alone_reads_no_more_than_its_own_share_of_hbm() {
        let bytes = 384.0 * 4096.0 * BF16;
        let time = |reuse| shared(&gemm(128, 256, 4096, reuse, Written::BF16)).time.seconds();
        // 32 bytes a cycle at 1.85 GHz.
        assert!((time(1.0) - bytes / 59.2e9).abs() < 1e-10);
        let cube = 2.0 * 128.0 * 256.0 * 4096.0 / (Target::ascend_a3().fused_flops() / 24.0);
        assert!((time(16.0) - cube).abs() < 1e-10);
    }

    #[test]
    fn products_of_f32_take_four_times_as_long() {
        let product = |operands| Work::Gemm {
            m: 128,
            n: 256,
            k: 4096,
            operands,
            products: 1,
            left_reuse: 1e6,
            right_reuse: 1e6,
            out: Written::once(4, false),
        };
        let [half, single] = [ElementType::f16, ElementType::f32].map(|operands| shared(&product(operands)));
        assert_eq!(single.l2, 2.0 * half.l2);
        assert!((single.time.seconds() / half.time.seconds() - 4.0).abs() < 1e-3);
    }

    #[test]
    fn bytes_are_half_as_many_and_take_less_than_half_the_time_of_their_share() {
        let target = Target::ascend_a3();
        let product = |operands| Work::Gemm {
            m: 128,
            n: 256,
            k: 4080,
            operands,
            products: 1,
            left_reuse: 16.0,
            right_reuse: 16.0,
            out: Written::once(4, false),
        };
        let [wide, narrow] = [ElementType::bf16, ElementType::i8].map(|operands| shared(&product(operands)));
        assert_eq!(wide.l2, 2.0 * narrow.l2);
        // Sums of bytes are padded to 32.
        let operations = 2.0 * 128.0 * 256.0 * 4096.0;
        assert!((narrow.time.seconds() - operations / target.int8_flops()).abs() < 1e-10);
        assert_eq!(target.int8_flops(), 16384.0 * 1.85e9 * 0.77);
    }

    #[test]
    fn sums_are_written_as_wide_as_they_are_and_read_before_something_is_added() {
        let hbm = |element, adds| shared(&gemm(128, 256, 64, 1.0, Written::once(element, adds))).hbm;
        let (operands, results) = (384.0 * 64.0 * BF16, 128.0 * 256.0);
        assert_eq!([hbm(2, false), hbm(4, false)], [operands + 2.0 * results, operands + 4.0 * results]);
        assert_eq!(hbm(4, true), operands + 8.0 * results);
        // Nothing to sum up: the zeros take the time in which a core writes them, 86 bytes a cycle.
        let zeros = shared(&gemm(128, 256, 0, 1.0, Written::once(4, false)));
        assert!((zeros.time.us() - 4.0 * results / 86.0 / 1850.0).abs() < 1e-3, "{}", zeros.time);
    }
}
