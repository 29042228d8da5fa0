//! What a task does, as numbers that a cost can be made of.

use super::Time;
use super::cost::BF16;

/// Which share of the peak a product reaches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Efficiency {
    /// Inside a fused kernel: `fitted.gemm_fused_efficiency`.
    Fused,
    /// As an operator of its own: `fitted.gemm_operator_efficiency`.
    Operator,
}

/// What a task does. The engine turns it into time; nobody else does.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Work {
    /// Nothing: it waits, signals, and costs what any entry without work costs.
    #[default]
    Empty,
    /// Products `m`×`k` by `k`×`n` in bf16, `tiles` of them one after another, on a matrix core.
    Gemm {
        /// Rows.
        m: u32,
        /// Columns.
        n: u32,
        /// Contraction.
        k: u32,
        /// How many such products the task makes. May be a fraction: a core's share of an uneven number of rows.
        tiles: f32,
        /// For how many tiles one read of the left panel (m×k) from HBM serves, through L2; at least 1.
        left_reuse: f32,
        /// The same for the right panel (n×k).
        right_reuse: f32,
        /// Which efficiency.
        efficiency: Efficiency,
    },
    /// Elementwise work on a vector core, by the bytes that it moves.
    Vector {
        /// Bytes read.
        read: u64,
        /// Bytes written.
        written: u64,
    },
    /// Rows to a rank, which may be the own one, by a vector core. To another rank a fence follows before the signals.
    Put {
        /// The rank that gets them.
        to: u32,
        /// Bytes.
        bytes: u64,
    },
    /// Something of a known length, which uses no shared resource: a launch, a barrier, an operator modelled elsewhere.
    Fixed {
        /// How long.
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
