//! Faults of routes that a taskflow makes.

use super::Site;

/// Why a kernel can't make the route of its taskflow.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum RouteFault {
    /// The ids are not a tensor of the right type.
    Ids { name: String, top_k: usize },
    /// A number of groups that does not divide both the experts and the ids of a token.
    Groups { groups: usize, experts: usize, top_k: usize },
    /// The route is made from a kept route that the taskflow writes.
    KeptHere { name: String },
    /// The route is kept in an argument that is not a writable `Routed`.
    Keeps { name: String },
    /// A kept route is kept again.
    KeptAgain { name: String },
    /// The route is made for a number of experts other than `EXPERTS`.
    Experts { value: usize, experts: usize },
    /// More experts, counted once for each chunk, than the tables have room for.
    Pairs { experts: usize, chunks: usize, chosen: bool, most: usize },
    /// More chunks than the tables have room for.
    Chunks { chunks: usize, most: usize },
    /// More iteration spaces than the tables have room for.
    Spaces { spaces: usize, most: usize },
    /// A tensor that a route takes its tokens from, although it has no row for each token.
    NoTokens { name: String },
    /// Ids that the taskflow makes, passed without `&`; or a parameter passed with `&`.
    Reference { name: String, by_reference: bool },
    /// A taskflow without a parameter that has a row for each token, which gives the number of tokens of a kept route.
    WithoutTokens { taskflow: String },
    /// A call that writes ids after the route has been made of them.
    Late { ids: String, route: Site },
    /// A matrix task that writes ids.
    Matrix { ids: String, task: String },
    /// A tensor of once-sent rows in a kernel that makes its own route.
    Once { tensor: String },
    /// A call that reads slots before the route is made; only the route knows which slots are empty.
    Slots { tensor: String },
    /// A put to slots of rows that no put has sent.
    Unsent,
}
