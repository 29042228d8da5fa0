//! Faults of routes that a taskflow makes.

/// Why a kernel can't make the route of its taskflow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RouteFault {
    /// The ids are not a parameter of the right type.
    Ids { name: String, top_k: usize },
    /// It is made for another number of experts than `EXPERTS`.
    Experts { value: usize, experts: usize },
    /// More experts, counted once for each chunk, than the tables have room for.
    Pairs { experts: usize, chunks: usize, most: usize },
    /// More chunks than the tables have room for.
    Chunks { chunks: usize, most: usize },
    /// More iteration spaces than the tables have room for.
    Spaces { spaces: usize, most: usize },
    /// A tensor of tokens that are sent once.
    Once { tensor: String },
    /// A put to slots of rows that no put has sent.
    Unsent,
}
