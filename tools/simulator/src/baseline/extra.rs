//! Kernels for work that the original's own kernel does not do, while a kernel of hpmoe gathers and scatters rows itself.

use super::LayerShape;
use crate::simulate::Time;
use hpmoe_core::target::Target;

/// A kernel that the original needs before or after its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extra {
    /// A short description of the kernel's work.
    pub name: &'static str,
    /// Bytes that a rank reads.
    pub read: u64,
    /// Bytes that a rank writes.
    pub written: u64,
    /// The time of the kernel on all vector cores, its launch included.
    pub time: Time,
}

/// The kernels before and after the original's own: the permutation of rows, and the inverse permutation with the sum over k. Neither
/// overlaps with other work.
///
/// In the backward direction, the first kernel permutes gradients of outputs, and the last one sums gradients of rows. Both move the same
/// bytes as in the forward direction.
#[must_use]
pub fn extras(shape: &LayerShape, target: &Target) -> Vec<Extra> {
    let [tokens, rows] = [u64::from(shape.tokens), u64::from(shape.tokens) * u64::from(shape.top_k)];
    let row = 2 * u64::from(shape.hidden);
    let permute = ("permute", rows * row, rows * row);
    let sum = ("unpermute and top-k sum", rows * row, tokens * row);
    let extra = |(name, read, written)| Extra { name, read, written, time: time(read + written, target) };
    [permute, sum].map(extra).to_vec()
}

/// The kernel that makes the routing tables of a launch for the `rows` rows that a rank sends. It reads the experts of each token and
/// writes the order of rows and their origins; the ranks then exchange their counts. The time is an estimate. It applies to all policies
/// except one that makes the tables in its own kernel.
#[must_use]
pub fn routing_tables(rows: u64, target: &Target) -> Extra {
    let [read, written] = tables_moved(rows);
    let time = time(read + written, target) + Time::from_us(target.launch.rank_sync_us);
    Extra { name: "routing tables", read, written, time }
}

/// Bytes that the kernel that makes routing tables reads and writes.
const fn tables_moved(rows: u64) -> [u64; 2] {
    [rows * 4, 2 * rows * 4]
}

/// Time for making routing tables, without the kernel's launch and the exchange of counts.
pub(super) fn tables_after_launch(rows: u64, target: &Target) -> Time {
    moving(tables_moved(rows).iter().sum(), target)
}

/// Time of a kernel that moves `bytes` bytes: its launch, and the time of all vector cores or of HBM, whichever is longer.
fn time(bytes: u64, target: &Target) -> Time {
    Time::from_us(target.launch.kernel_us) + moving(bytes, target)
}

fn moving(bytes: u64, target: &Target) -> Time {
    let cores = f64::from(target.cores.aiv) * target.vector.elementwise_gb_per_s;
    Time::from_ns(bytes as f64 / cores.min(target.memory.hbm_gb_per_s))
}

#[cfg(test)]
mod tests {
    use super::{LayerShape, extras, routing_tables};
    use hpmoe_core::target::Target;

    #[test]
    fn rows_are_moved_once_before_and_once_after() {
        let shape = LayerShape::deepseek_v3(8);
        let target = Target::ascend_a3();
        let all = extras(&shape, &target);
        assert_eq!(all.len(), 2);
        let rows = 4096 * 8 * 14336;
        assert_eq!((all[0].read, all[0].written), (rows, rows));
        assert_eq!((all[1].read, all[1].written), (rows, rows / 8));
        // 940 MB at 1,450 GB/s and a launch of 6.5 µs.
        assert!((all[0].time.us() - (6.5 + 939_524.096 / 1450.0)).abs() < 0.01, "{}", all[0].time);
        // 32,768 rows, 12 bytes each, a launch and a barrier.
        let tables = routing_tables(32_768, &target).time;
        assert!((tables.us() - (6.5 + 6.7 + 393.216 / 1450.0)).abs() < 0.01, "{tables}");
    }
}
