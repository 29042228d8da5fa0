//! The outcome of a host run.

use super::{HostStatistics, Resource};

/// The end of a launch on one rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// All cores finished. Contains the counts of their work.
    Left(HostStatistics),
    /// A core broke a rule.
    BrokenRule { message: String, core: usize },
    /// The machine lacked a resource.
    Lacking { resource: Resource, cause: String },
    /// The run stopped because another rank failed.
    Stopped,
}
