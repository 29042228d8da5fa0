//! The operators of the original's two graphs.

use super::{Direction, LayerShape};
use hpmoe_core::schedule::CoreKind;

/// Rows, columns and depth of the base tiles of the original's products.
pub const BASE_TILE: [u32; 3] = [128, 256, 64];

/// An operator of the original's forward or backward graph. Operators are in the order in which the original numbers their
/// tasks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operator {
    /// Sends rows (or gradients of outputs) to the owners of their experts.
    Dispatch,
    /// Gate and up projection: `[rows, H] x [H, 2I]`.
    UpProj,
    /// Activation: `silu(gate) * up`.
    SwiGlu,
    /// Down projection: `[rows, I] x [I, H]`.
    DownProj,
    /// Gradient of the activation: `[rows, H] x [H, I]`.
    ActGrad,
    /// Gradient of the down projection's weights: `[I, rows] x [rows, H]`.
    W2Grad,
    /// Gradient of the gate and the up projection's outputs.
    SwiGluGrad,
    /// Gradient of the rows: `[rows, 2I] x [2I, H]`.
    GateGrad,
    /// Sends results (or gradients of rows) back to the ranks of their tokens.
    Combine,
    /// Gradient of the gate and up projections' weights: `[H, rows] x [rows, 2I]`.
    W1Grad,
    /// Waits until all results of the rank are complete.
    Terminate,
}

/// The kind of work that an operator does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperatorKind {
    /// Puts rows from rank to rank.
    Put,
    /// A product for each local expert, with the product's extents.
    Product(OperatorProduct),
    /// Works row by row on vector cores.
    Vector,
    /// No work: waits until all results of the rank are complete.
    Terminate,
}

/// The extents of a product `[m, k] x [k, n]` for the rows of one expert.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperatorProduct {
    /// Rows of the output.
    pub m: ProductExtent,
    /// Columns of the output.
    pub n: ProductExtent,
    /// Terms of each sum.
    pub k: ProductExtent,
}

/// An extent of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProductExtent {
    /// The number of rows that the expert received.
    Rows,
    /// A constant of the layer.
    Fixed(u32),
}

impl Operator {
    /// The operators of one direction, in the order of their task numbers, without [`Terminate`](Self::Terminate).
    #[must_use]
    pub const fn all(direction: Direction) -> &'static [Self] {
        match direction {
            Direction::Forward => &[Self::Dispatch, Self::UpProj, Self::SwiGlu, Self::DownProj, Self::Combine],
            Direction::Backward => &[
                Self::Dispatch,
                Self::ActGrad,
                Self::W2Grad,
                Self::SwiGluGrad,
                Self::GateGrad,
                Self::Combine,
                Self::W1Grad,
            ],
        }
    }
    /// The name that the original gives the operator.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::UpProj => "up_proj",
            Self::SwiGlu => "swiglu",
            Self::DownProj => "down_proj",
            Self::ActGrad => "act_grad",
            Self::W2Grad => "w2_grad",
            Self::SwiGluGrad => "swiglu_grad",
            Self::GateGrad => "gate_grad",
            Self::Combine => "combine",
            Self::W1Grad => "w1_grad",
            Self::Terminate => "terminate",
        }
    }
    /// The kind of the operator's work; for a product, with its extents.
    #[must_use]
    pub const fn kind(self, shape: &LayerShape) -> OperatorKind {
        use ProductExtent::{Fixed, Rows};
        let (h, i) = (Fixed(shape.hidden), Fixed(shape.intermediate));
        let both = Fixed(2 * shape.intermediate);
        let (m, n, k) = match self {
            Self::Dispatch | Self::Combine => return OperatorKind::Put,
            Self::SwiGlu | Self::SwiGluGrad => return OperatorKind::Vector,
            Self::Terminate => return OperatorKind::Terminate,
            Self::UpProj => (Rows, both, h),
            Self::DownProj => (Rows, h, i),
            Self::ActGrad => (Rows, i, h),
            Self::W2Grad => (i, h, Rows),
            Self::GateGrad => (Rows, h, both),
            Self::W1Grad => (h, both, Rows),
        };
        OperatorKind::Product(OperatorProduct { m, n, k })
    }
    /// The kind of core that runs the operator.
    #[must_use]
    pub const fn core(self, shape: &LayerShape) -> CoreKind {
        match self.kind(shape) {
            OperatorKind::Product(_) => CoreKind::Aic,
            _ => CoreKind::Aiv,
        }
    }
    /// Numbers of bytes that a vector core reads and writes for each row in bf16, as [read, written]; zeros for products.
    #[must_use]
    pub const fn read_and_written(self, shape: &LayerShape) -> [u32; 2] {
        let (row, columns) = (2 * shape.hidden, 2 * shape.intermediate);
        match self {
            Self::Dispatch | Self::Combine => [row, row],
            Self::SwiGlu => [2 * columns, columns],
            Self::SwiGluGrad => [3 * columns, 2 * columns],
            _ => [0, 0],
        }
    }
    /// Number of bytes of a row as the original counts them: bytes that a put sends, or the sum of the bytes that a vector operator reads
    /// and writes.
    #[must_use]
    pub const fn row_bytes(self, shape: &LayerShape) -> u32 {
        let [read, written] = self.read_and_written(shape);
        match self {
            Self::Dispatch | Self::Combine => read,
            _ => read + written,
        }
    }
}

/// Bytes that all vector operators and puts move for a row, divided by the FLOPs of all products for it. A row that is put counts twice: it
/// leaves one rank and arrives at another.
pub(super) fn bytes_per_flop(shape: &LayerShape, direction: Direction) -> f64 {
    let (mut bytes, mut flops) = (0.0, 0.0);
    for operator in Operator::all(direction) {
        match operator.kind(shape) {
            OperatorKind::Product(product) => flops += product.flops(1) as f64,
            _ => bytes += operator.read_and_written(shape).map(f64::from).iter().sum::<f64>(),
        }
    }
    bytes / flops
}

impl ProductExtent {
    /// The extent's value if the expert received `rows` rows.
    #[must_use]
    pub const fn at(self, rows: u32) -> u32 {
        match self {
            Self::Rows => rows,
            Self::Fixed(value) => value,
        }
    }
}

impl OperatorProduct {
    /// Number of output tiles of size [`BASE_TILE`] if the expert received `rows` rows.
    #[must_use]
    pub const fn base_tiles(&self, rows: u32) -> u32 {
        self.m.at(rows).div_ceil(BASE_TILE[0]) * self.n.at(rows).div_ceil(BASE_TILE[1])
    }
    /// FLOPs of the product if the expert received `rows` rows.
    #[must_use]
    pub const fn flops(&self, rows: u32) -> u64 {
        2 * self.m.at(rows) as u64 * self.n.at(rows) as u64 * self.k.at(rows) as u64
    }
}
