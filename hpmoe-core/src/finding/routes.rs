//! Faults of routes that a taskflow makes.

use super::Site;

/// Why a kernel can't make the route of its taskflow.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum RouteFault {
    /// The ids are not a tensor of the right type.
    Ids { name: String, top_k: usize },
    /// Groups that can't have as many experts, or as many of a token's, each.
    Groups { groups: usize, experts: usize, top_k: usize },
    /// It is made of a kept route that the taskflow writes.
    KeptHere { name: String },
    /// It is kept in something else than a `Routed` that the taskflow writes.
    Keeps { name: String },
    /// It is kept where its tokens are cut into chunks, or is one that was.
    KeptChunks { chunks: usize },
    /// It is kept, and is one that was kept.
    KeptAgain { name: String },
    /// It is made for another number of experts than `EXPERTS`.
    Experts { value: usize, experts: usize },
    /// More experts, counted once for each chunk, than the tables have room for.
    Pairs { experts: usize, chunks: usize, most: usize },
    /// More chunks than the tables have room for.
    Chunks { chunks: usize, most: usize },
    /// More iteration spaces than the tables have room for.
    Spaces { spaces: usize, most: usize },
    /// A tensor without a row for each token, whose tokens are taken.
    NoTokens { name: String },
    /// A call that writes ids after the route has been made of them.
    Late { ids: String, route: Site },
    /// A matrix task that writes ids.
    Matrix { ids: String, task: String },
    /// A tensor of tokens that are sent once.
    Once { tensor: String },
    /// A call before the route that reads slots, of which only the route tells the empty ones.
    Slots { tensor: String },
    /// A put to slots of rows that no put has sent.
    Unsent,
}
