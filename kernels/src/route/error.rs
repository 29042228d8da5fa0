//! Why expert ids are no route.

use crate::Rank;
use std::fmt;

/// Why expert ids are no route. `token` and `k` are row and column of the rank's `topk_ids`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouteError {
    /// Each rank owns the same number of experts, at least one.
    Experts {
        /// Experts of the group.
        experts: usize,
        /// Ranks of the group.
        ranks: usize,
    },
    /// One tensor of ids for each rank.
    Ranks {
        /// Tensors passed.
        tensors: usize,
        /// Ranks of the group.
        ranks: usize,
    },
    /// An id below zero, or not below the number of experts.
    Id {
        /// Whose ids.
        rank: Rank,
        /// Row.
        token: usize,
        /// Column.
        k: usize,
        /// The id found.
        id: i32,
        /// Experts of the group.
        experts: usize,
    },
    /// Two columns of a row hold the same id.
    Twice {
        /// Whose ids.
        rank: Rank,
        /// Row.
        token: usize,
        /// The id found twice.
        id: i32,
        /// Column.
        first: usize,
        /// Column.
        second: usize,
    },
    /// Rows are numbered by i32.
    Rows {
        /// Which rank.
        rank: Rank,
        /// "send" or "receive".
        verb: &'static str,
        /// Rows.
        rows: usize,
    },
}

// By hand: every macro waits for this package, and a derive would be most of that time.
impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Experts { experts, ranks } => write!(
                f,
                "{experts} experts can't be shared by {ranks} ranks: use a number of ranks that divides {experts}"
            ),
            Self::Ranks { tensors, ranks } => write!(
                f,
                "topk_ids has {tensors} tensors, but the group has {ranks} ranks: pass one per rank, of zero rows if need be"
            ),
            Self::Id { rank, token, k, id, experts } => write!(
                f,
                "topk_ids of {rank}, row {token}, column {k} is {id}, but experts are numbered from 0 to {}: check the router",
                experts - 1
            ),
            Self::Twice { rank, token, id, first, second } => write!(
                f,
                "topk_ids of {rank}, row {token} has expert {id} in column {first} and again in column {second}: a token \
                 may go to an expert once"
            ),
            Self::Rows { rank, verb, rows } => write!(
                f,
                "{rank} would {verb} {rows} rows, but at most {} can be numbered: use smaller batches",
                i32::MAX
            ),
        }
    }
}

impl std::error::Error for RouteError {}
