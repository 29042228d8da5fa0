//! Errors of counts or tokens that are not a valid routing.

use std::fmt;

/// The reason why counts or top-k experts are not a valid routing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoutingError {
    /// There are no experts, or tokens go to no expert.
    Nothing {
        /// Number of ranks in the group.
        ranks: usize,
        /// Number of experts of the group.
        experts: usize,
    },
    /// A placement is for another number of ranks or experts.
    Placement {
        /// Numbers of ranks and of experts in the placement.
        placement: (usize, usize),
        /// Numbers of ranks and of experts in the routing.
        routing: (usize, usize),
    },
    /// A rank has counts for a different number of experts than rank 0.
    ExpertCount {
        /// The rank with a different number of experts.
        rank: usize,
        /// Number of experts that rank `rank` has counts for.
        found: usize,
        /// Number of experts that rank 0 has counts for.
        expected: usize,
    },
    /// The rows of a rank are not a multiple of the number of experts of a token.
    PartOfToken {
        /// The rank that sends the rows.
        rank: usize,
        /// Number of rows that the rank sends in total.
        rows: u64,
        /// Number of experts per token.
        top_k: u32,
    },
    /// A rank sends more rows to one expert than it has tokens.
    RowsOfExpert {
        /// The rank that sends the rows.
        rank: usize,
        /// Number of the expert among all experts of the group.
        expert: usize,
        /// Number of rows that the rank sends to the expert.
        rows: u32,
        /// Number of tokens of the rank.
        tokens: u64,
    },
    /// A token has a different number of experts than the first token of the group.
    TopK {
        /// The rank of the token.
        rank: usize,
        /// Number of the token among the tokens of its rank.
        token: usize,
        /// Number of experts that the token goes to.
        found: usize,
        /// Number of experts that the first token of the group goes to.
        expected: usize,
    },
    /// A token goes to an expert that the group does not have.
    UnknownExpert {
        /// The rank of the token.
        rank: usize,
        /// Number of the token among the tokens of its rank.
        token: usize,
        /// The number that the token names.
        expert: u32,
        /// Number of experts of the group.
        experts: u32,
    },
    /// A token goes to the same expert twice.
    ExpertTwice {
        /// The rank of the token.
        rank: usize,
        /// Number of the token among the tokens of its rank.
        token: usize,
        /// The expert that the token names twice.
        expert: u32,
    },
}

impl fmt::Display for RoutingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Nothing { ranks, experts } => write!(f, "{ranks} ranks with {experts} experts have no rows"),
            Self::Placement { placement, routing } => write!(
                f,
                "the placement is for {} experts on {} ranks, but the routing is for {} on {}",
                placement.1, placement.0, routing.1, routing.0
            ),
            Self::ExpertCount { rank, found, expected } => {
                write!(f, "rank {rank} has rows for {found} experts, but rank 0 for {expected}")
            }
            Self::PartOfToken { rank, rows, top_k } => {
                write!(f, "rank {rank} has {rows} rows, which is not a multiple of {top_k} experts per token")
            }
            Self::RowsOfExpert { rank, expert, rows, tokens } => {
                write!(f, "rank {rank} sends {rows} rows of {tokens} tokens to expert {expert}")
            }
            Self::TopK { rank, token, found, expected } => {
                write!(f, "token {token} of rank {rank} has {found} experts, but the first token has {expected}")
            }
            Self::UnknownExpert { rank, token, expert, experts } => {
                let last = experts.saturating_sub(1);
                write!(f, "token {token} of rank {rank} goes to expert {expert}, but the last expert is {last}")
            }
            Self::ExpertTwice { rank, token, expert } => {
                write!(f, "token {token} of rank {rank} goes to expert {expert} twice")
            }
        }
    }
}

impl std::error::Error for RoutingError {}
