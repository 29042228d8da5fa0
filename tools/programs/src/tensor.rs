//! Tensors of a program.

use crate::draw::one_of;
use fastrand::Rng;

/// The kind of a tensor's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rows {
    /// One row for each token of the rank.
    Tokens,
    /// One row for each (token, k) of the rank.
    Slots,
    /// One row for each (token, k) that the rank receives.
    Received,
    /// One row for each token that the rank receives.
    Once,
}

/// The origin of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// A parameter that the taskflow reads.
    Given,
    /// A tensor that the taskflow creates. `by_peers` says whether peers write it.
    Made { by_peers: bool },
    /// A parameter that the taskflow writes. `by_peers` says whether peers write it.
    Returned { by_peers: bool },
}

/// The element type of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Element {
    Bf16,
    F16,
    F32,
}

impl Element {
    /// Element types for products that contract rows. Products along columns support all types.
    pub(crate) const FACTORS: &[Self] = &[Self::Bf16, Self::F16];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::F32 => "f32",
        }
    }

    pub(crate) fn any(rng: &mut Rng) -> Self {
        one_of(rng, &[Self::Bf16, Self::Bf16, Self::F16, Self::F32])
    }
}

/// A tensor; `rows` says what its rows are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) rows: Rows,
    pub(crate) element: Element,
    pub(crate) columns: usize,
    pub(crate) origin: Origin,
    /// Whether a call reads it.
    pub(crate) read: bool,
}

impl Tensor {
    /// The parameter type for the tensor.
    pub(crate) fn parameter(&self) -> String {
        let kind = match self.rows {
            Rows::Tokens => "Tensor",
            Rows::Slots => "Slots",
            Rows::Received => "Received",
            Rows::Once => "Once",
        };
        format!("PerRank<{kind}<{}, {}>>", self.element.name(), self.columns)
    }

    /// The call that creates the tensor; `what` is the expression for the route, or for a tensor of tokens.
    pub(crate) fn constructor(&self, by_peers: bool, what: &str) -> String {
        let constructor = match (self.rows, by_peers) {
            (Rows::Tokens, _) => "tokens",
            (Rows::Slots, _) => "slots",
            (Rows::Received, true) => "symmetric",
            (Rows::Received, false) => "ragged",
            (Rows::Once, _) => "once",
        };
        format!("PerRank::{constructor}::<{}, {}>(ep, {what})", self.element.name(), self.columns)
    }
}

/// A tensor of experts' matrices, or a matrix of a rank, which a task reads or writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Weights {
    pub(crate) name: String,
    pub(crate) element: Element,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) kind: WeightsKind,
}

/// Tells whether each expert or the rank has a matrix, and whether the matrices are an output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WeightsKind {
    Experts,
    Matrix,
    /// Gradients, which the kernel writes or adds to.
    Gradient,
}

impl Weights {
    /// The type of the parameter.
    pub(crate) fn parameter(&self) -> String {
        let kind = if self.kind == WeightsKind::Matrix { "Matrix" } else { "Experts" };
        format!("PerRank<{kind}<{}, {}, {}>>", self.element.name(), self.rows, self.columns)
    }
}
