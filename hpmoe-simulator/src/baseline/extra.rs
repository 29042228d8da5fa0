//! The work that the original leaves to other kernels and a kernel that gathers and scatters does itself.

use super::{Direction, LayerShape};
use crate::simulate::Time;
use hpmoe_codegen::target::Target;

/// A kernel that the original needs before or after its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extra {
    /// The work of the kernel, in a few words.
    pub name: &'static str,
    /// Bytes that a rank reads.
    pub read: u64,
    /// Bytes that a rank writes.
    pub written: u64,
    /// The time of the kernel on all vector cores, its launch included.
    pub time: Time,
}

/// The kernels for routing tables and permutation before the original, and for unpermutation with the top-k sum after it. None
/// overlaps with anything.
///
/// In the backward direction the first permutes gradients of outputs, and the last sums gradients of rows: the same bytes.
#[must_use]
pub fn extras(shape: &LayerShape, direction: Direction, target: &Target) -> Vec<Extra> {
    let [tokens, rows] = [u64::from(shape.tokens), u64::from(shape.tokens) * u64::from(shape.top_k)];
    let (row, id) = (2 * u64::from(shape.hidden), 4);
    let tables = ("routing tables", rows * id, 2 * rows * id);
    let permute = ("permute", rows * row, rows * row);
    let sum = ("unpermute and top-k sum", rows * row, tokens * row);
    let kernels = match direction {
        Direction::Forward => vec![tables, permute, sum],
        Direction::Backward => vec![permute, sum],
    };
    let extra = |(name, read, written)| Extra { name, read, written, time: time(read + written, target) };
    kernels.into_iter().map(extra).collect()
}

/// The time of a launch, and of the bytes through all vector cores or HBM, whichever is slower.
fn time(bytes: u64, target: &Target) -> Time {
    let cores = f64::from(target.cores.aiv) * target.vector.elementwise_gb_per_s;
    let ns = bytes as f64 / cores.min(target.memory.hbm_gb_per_s);
    Time::from_us(target.launch.kernel_us) + Time::from_ns(ns)
}

#[cfg(test)]
mod tests {
    use super::{Direction, LayerShape, extras};
    use hpmoe_codegen::target::Target;

    #[test]
    fn rows_are_moved_once_before_and_once_after() {
        let shape = LayerShape::deepseek_v3(8);
        let target = Target::ascend_a3();
        let all = extras(&shape, Direction::Forward, &target);
        assert_eq!(all.len(), 3);
        let rows = 4096 * 8 * 14336;
        assert_eq!((all[1].read, all[1].written), (rows, rows));
        assert_eq!((all[2].read, all[2].written), (rows, rows / 8));
        // 940 MB at 1,450 GB/s and a launch of 6.5 µs.
        assert!((all[1].time.us() - (6.5 + 939_524.096 / 1450.0)).abs() < 0.01, "{}", all[1].time);
        assert_eq!(extras(&shape, Direction::Backward, &target).len(), 2);
    }
}
