//! The reasons why a schedule can't run a routing.

use crate::simulate::Routing;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::schedule::{Order, Schedule};
use std::fmt;

/// The reason why a schedule can't run a routing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// The kernel was built for different numbers of experts than the routing has.
    Experts {
        /// Numbers of experts of the group and of experts per token in the kernel.
        kernel: (usize, usize),
        /// Numbers of experts of the group and of experts per token in the routing.
        routing: (usize, usize),
    },
    /// A rank has more tokens than the kernel takes.
    Tokens {
        /// The rank that has too many tokens.
        rank: u32,
        /// Number of the rank's tokens.
        tokens: u32,
        /// Maximum number of tokens per rank that the kernel takes.
        limit: usize,
    },
    /// The kernel has no schedule for this number of ranks.
    Ranks(u32),
}

/// The order of queues for the routing's number of ranks; an error if the schedule can't run the routing.
pub(super) fn fitting_order<'a>(
    checked: &CheckedGraph,
    schedule: &'a Schedule,
    routing: &Routing,
) -> Result<&'a Order, Unfit> {
    let sizes = &checked.graph().sizes;
    let (ranks, experts) = (routing.ranks(), routing.experts() as usize);
    let physical = sizes.physical_experts(ranks as usize);
    if (physical, sizes.top_k) != (experts, routing.top_k() as usize) {
        let (kernel, routing) = ((physical, sizes.top_k), (experts, routing.top_k() as usize));
        return Err(Unfit::Experts { kernel, routing });
    }
    if let Some(rank) = (0..ranks).find(|&rank| routing.tokens(rank) as usize > sizes.tokens) {
        return Err(Unfit::Tokens { rank, tokens: routing.tokens(rank), limit: sizes.tokens });
    }
    schedule.order(ranks).ok_or(Unfit::Ranks(ranks))
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Experts { kernel, routing } => write!(
                f,
                "the kernel has {} experts, {} per token, but the routing has {} experts, {} per token",
                kernel.0, kernel.1, routing.0, routing.1
            ),
            Self::Tokens { rank, tokens, limit } => {
                write!(f, "rank {rank} brings {tokens} tokens, but the kernel takes at most {limit}")
            }
            Self::Ranks(ranks) => write!(f, "there is no schedule for {ranks} ranks"),
        }
    }
}

impl std::error::Error for Unfit {}
