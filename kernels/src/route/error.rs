//! Errors of making a route.

use crate::Rank;
use std::fmt;

/// An error of making a route from expert ids or from a kept route. `token` and `k` are the row and the column in the rank's
/// `topk_ids`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RouteError {
    /// There are no ranks, or no experts.
    Experts {
        /// Number of experts of the group.
        experts: usize,
        /// Number of ranks in the group.
        ranks: usize,
    },
    /// The ids, or the kept routes, are for other ranks than the group: for another number of ranks, or for other ranks of this
    /// process.
    Ranks {
        /// Number of ranks that the ids, or the kept routes, are for.
        tensors: usize,
        /// Number of ranks in the group.
        ranks: usize,
    },
    /// The ids, or the kept routes, of the other ranks are in other processes.
    Elsewhere {
        /// The rank that this process is.
        rank: Rank,
        /// Number of ranks in the group.
        ranks: usize,
    },
    /// Two processes of a group have different numbers for the same property of the route.
    Differ {
        /// The property that differs, as words after a number: `experts`, `ids for each token` or `bytes of ids`.
        name: &'static str,
        /// The rank that this process is.
        rank: Rank,
        /// The number in this process. For `bytes of ids`, the bytes of one token's ids.
        here: usize,
        /// The other rank.
        other: Rank,
        /// The number that the other rank sent. For `bytes of ids`, a number that is not a multiple of `here`.
        there: usize,
    },
    /// Two ranks of a group have different placements.
    PlacedApart {
        /// The rank that this process is; rank 0 if the kernel makes its route.
        rank: Rank,
        /// The rank whose placement differs from that of `rank`.
        other: Rank,
    },
    /// A placement has a different number of ranks or experts than the route.
    Placement {
        /// The number that differs: `ranks` or `experts`.
        what: &'static str,
        /// The number that the placement is for.
        placed: usize,
        /// The number that the route is for.
        wanted: usize,
    },
    /// The number of a rank's ids is not a multiple of the ids per token, or there are no ids per token.
    Rest {
        /// The rank that the ids belong to.
        rank: Rank,
        /// Number of the rank's ids.
        ids: usize,
        /// Number of ids per token.
        top_k: usize,
    },
    /// An id is neither -1 nor the number of an expert.
    Id {
        /// The rank that the ids belong to.
        rank: Rank,
        /// Row of the id.
        token: usize,
        /// Column of the id.
        k: usize,
        /// The id found.
        id: i32,
        /// Number of logical experts of the group.
        experts: usize,
    },
    /// A token has the same id in two columns.
    Twice {
        /// The rank that the ids belong to.
        rank: Rank,
        /// Row of the id.
        token: usize,
        /// The id found twice.
        id: i32,
        /// Column of the first occurrence.
        first: usize,
        /// Column of the second occurrence.
        second: usize,
    },
    /// The number of groups is 0, or does not divide both the experts and the ids of a token.
    Groups {
        /// Number of groups.
        groups: usize,
        /// Number of experts of all ranks.
        experts: usize,
        /// Number of ids per token.
        top_k: usize,
    },
    /// Group-limited routing (`in_groups`) was combined with a placement, or with experts that the ranks can't divide evenly.
    /// Such routes bound each rank's number of rows, and other places of experts would change the bound.
    PlacedGroups,
    /// An id names an expert outside the group of its column.
    Group {
        /// The rank that the ids belong to.
        rank: Rank,
        /// Row of the id.
        token: usize,
        /// Column of the id.
        k: usize,
        /// The id found.
        id: usize,
        /// First expert of the column's group.
        first: usize,
        /// Last expert of the column's group.
        last: usize,
    },
    /// A `Routed` contains no route, because none was kept there.
    NotKept {
        /// The rank that the `Routed` belongs to.
        rank: Rank,
    },
    /// A kept route is not for the rank, the sizes or the number of chunks of this launch.
    KeptFor {
        /// The rank that the kept route belongs to.
        rank: Rank,
        /// The property that differs, such as `rank` (the number of the rank), `ranks`, `experts`, `chunks` or `words`.
        what: &'static str,
        /// Value in the kept route.
        found: usize,
        /// Value in this launch.
        wanted: usize,
    },
    /// A kept route was made with another placement than this launch has, or only one of them has a placement.
    KeptPlaced {
        /// The rank that the kept route belongs to.
        rank: Rank,
    },
    /// The ranks' kept routes come from different launches. Routes that [`Route::keep`](crate::Route::keep) kept count as those of
    /// one launch.
    KeptApart {
        /// The first rank whose route comes from a different launch than rank 0's.
        rank: Rank,
    },
    /// A rank has more rows than an i32 can number.
    Rows {
        /// The rank that would send or receive the rows.
        rank: Rank,
        /// "send" or "receive".
        verb: &'static str,
        /// Number of rows that the rank would send or receive.
        rows: usize,
    },
}

// Written by hand: every macro waits for this package to compile, and a derive would take most of that time.
impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Experts { experts, ranks } => {
                write!(f, "{experts} experts can't be divided among {ranks} ranks: use at least one expert and one rank")
            }
            Self::Ranks { tensors, ranks } => write!(
                f,
                "topk_ids has {tensors} tensors, but the group has {ranks} ranks: pass one per rank, with zero rows for a rank without tokens"
            ),
            Self::Elsewhere { rank, ranks } => write!(
                f,
                "this process has the ids of {rank} only, but the group has {ranks} ranks: use Route::gather(&group, experts, &ids), which exchanges the ids"
            ),
            Self::Differ { name, rank, here, other, there } => write!(
                f,
                "{rank} has {here} {name}, but {other} has {there}: start all processes of the group from one build \
                 with the same arguments"
            ),
            Self::PlacedApart { rank, other } => {
                write!(f, "{rank} and {other} have different placements: pass the same placement on all ranks of the group")
            }
            Self::Placement { what, placed, wanted } => write!(
                f,
                "the placement is for {placed} {what}, but the route is for {wanted}: make one for {wanted} {what}"
            ),
            Self::Rest { rank, ids, top_k } => write!(
                f,
                "topk_ids of {rank} has {ids} ids, which is not a multiple of {top_k}: pass {top_k} ids for each token"
            ),
            Self::Id { rank, token, k, id, experts } => write!(
                f,
                "topk_ids of {rank}, row {token}, column {k} is {id}, but experts are numbered from 0 to {}, and -1 names none: check the router",
                experts - 1
            ),
            Self::Twice { rank, token, id, first, second } => write!(
                f,
                "topk_ids of {rank}, row {token} has expert {id} in column {first} and again in column {second}: a token may name an expert only once"
            ),
            Self::Groups { groups, experts, top_k } => write!(
                f,
                "{experts} experts and {top_k} ids per token can't be divided evenly among {groups} groups: use a number of groups that divides both"
            ),
            Self::PlacedGroups => f.write_str(
                "`.in_groups::<..>()` bounds the number of rows of each rank, but with a placement the bound doesn't hold: leave out `.in_groups::<..>()` or the placement",
            ),
            Self::Group { rank, token, k, id, first, last } => write!(
                f,
                "topk_ids of {rank}, row {token}, column {k} is {id}, but this column is for a group whose experts are {first} to {last}: check the router"
            ),
            Self::NotKept { rank } => write!(
                f,
                "`routed` of {rank} has no route: launch a taskflow first that keeps its route there, by `route.keep(routed);`"
            ),
            Self::KeptFor { rank, what, found, wanted } => {
                let found = if *what == "rank" { format!("rank {found}") } else { format!("{found} {what}") };
                let same = if *what == "chunks" { "chunks_at_most" } else { "ranks, experts and tokens" };
                write!(
                    f,
                    "the route kept in `routed` of {rank} is for {found}, not for {wanted}: pass a route that a launch with the same {same} has kept"
                )
            }
            Self::KeptPlaced { rank } => write!(
                f,
                "the route kept in `routed` of {rank} was made with a placement that is not this launch's: use the same placement for both launches"
            ),
            Self::KeptApart { rank } => write!(
                f,
                "the route in `routed` of {rank} was kept by a different launch than the route of rank 0: pass what one launch has kept on all ranks"
            ),
            Self::Rows { rank, verb, rows } => write!(
                f,
                "{rank} would {verb} {rows} rows, but at most {} can be numbered: use smaller batches",
                i32::MAX
            ),
        }
    }
}

/// Prints the message of `Display`, so that `unwrap` prints it, too.
impl fmt::Debug for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for RouteError {}
