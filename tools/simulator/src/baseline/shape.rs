//! The layer on which policies are compared: sizes and direction.

use crate::simulate::{Routing, RoutingSizes};

/// Sizes of one expert layer over a group of ranks. Every rank holds `experts / ranks` consecutive experts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LayerShape {
    /// Number of ranks in the group (EP).
    pub ranks: u32,
    /// Number of tokens per rank.
    pub tokens: u32,
    /// Number of experts of the layer, over all ranks.
    pub experts: u32,
    /// Number of experts that each token goes to.
    pub top_k: u32,
    /// Number of columns per token.
    pub hidden: u32,
    /// Number of columns of an expert's activation. The gate and up projections together have twice as many.
    pub intermediate: u32,
}

/// A pass of the layer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// Tokens to outputs.
    Forward,
    /// Gradients of outputs to gradients of tokens and weights.
    Backward,
}

impl LayerShape {
    /// The DeepSeek-V3 layer of the published latencies, which has 8 experts per rank.
    #[must_use]
    pub const fn deepseek_v3(ranks: u32) -> Self {
        Self { ranks, tokens: 4096, experts: 8 * ranks, top_k: 8, hidden: 7168, intermediate: 2048 }
    }
    /// Number of local experts of each rank.
    #[must_use]
    pub const fn experts_per_rank(&self) -> u32 {
        self.experts / self.ranks
    }
    /// The most even routing of this layer, which the published latencies use.
    #[must_use]
    pub fn balanced(&self) -> Routing {
        let Self { ranks, experts, top_k, tokens, .. } = *self;
        Routing::balanced(RoutingSizes { ranks, experts, top_k, tokens })
    }
    /// Number of rows that a rank sends to one expert under balanced routing, rounded down as in the original.
    #[must_use]
    pub const fn balanced_rows(&self) -> u32 {
        self.tokens * self.top_k / self.experts
    }
}

impl Direction {
    /// The direction's name on the command line and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }
}
