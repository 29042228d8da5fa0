//! The work of a task, as numbers that the cost model understands.

use super::Time;
use super::cost::BF16;

/// The share of the cube's peak that a product reaches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Efficiency {
    /// Inside a fused kernel: `fitted.gemm_fused_efficiency`.
    Fused,
    /// As an operator of its own: `fitted.gemm_operator_efficiency`.
    Operator,
}

/// The work of a task. Only the cost model turns it into time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Work {
    /// None: the task waits and signals only.
    #[default]
    Empty,
    /// Products `m`×`k` by `k`×`n` in bf16, `tiles` of them one after another, on a matrix core.
    Gemm {
        /// Rows of the left panel and of the result.
        m: u32,
        /// Columns of the right panel and of the result.
        n: u32,
        /// Terms of each sum.
        k: u32,
        /// Number of such products. A fraction stands for a core's share of an uneven number of rows.
        tiles: f32,
        /// Tiles that one read of the left panel (m×k) from HBM serves, through L2; at least 1.
        left_reuse: f32,
        /// Tiles that one read of the right panel (n×k) serves; at least 1.
        right_reuse: f32,
        /// The share of the cube's peak that the product reaches.
        efficiency: Efficiency,
    },
    /// Elementwise work on a vector core, by the bytes that it moves.
    Vector {
        /// Bytes read from global memory.
        read: u64,
        /// Bytes written to global memory.
        written: u64,
    },
    /// A put by a vector core. If it goes to another rank, a fence follows before the signals.
    Put {
        /// The rank that receives the rows; may be the rank that puts.
        to: u32,
        /// Number of bytes.
        bytes: u64,
    },
    /// Work of a known duration that uses no shared resource: a launch, a barrier, an operator that is modelled elsewhere.
    Fixed {
        /// Its duration on the core.
        time: Time,
    },
}

impl Work {
    /// Floating-point operations of products, without padding.
    #[must_use]
    pub fn flops(&self) -> f64 {
        match *self {
            Self::Gemm { m, n, k, tiles, .. } => 2.0 * f64::from(m) * f64::from(n) * f64::from(k) * f64::from(tiles),
            _ => 0.0,
        }
    }

    /// Bytes that the work reads, writes and sends, whichever memory they come from; those of a put once.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        match *self {
            Self::Gemm { m, n, k, tiles, .. } => {
                let [m, n, k] = [m, n, k].map(f64::from);
                BF16 * (m * k + n * k + m * n) * f64::from(tiles)
            }
            Self::Vector { read, written } => read as f64 + written as f64,
            Self::Put { bytes, .. } => bytes as f64,
            Self::Empty | Self::Fixed { .. } => 0.0,
        }
    }
}
