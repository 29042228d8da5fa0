//! The route that a kernel makes itself.

use crate::ids::{Id as _, PhaseId, TensorId};
use proc_macro2::Span;

/// The route that a kernel makes from ids in device memory.
#[derive(Clone, Debug)]
pub struct MadeRoute {
    /// The tensor that the route is made from: ids, which the caller or earlier phases write, or a kept route, which another launch has
    /// stored.
    pub ids: TensorId,
    /// Number of expert groups if routing is group-limited (every token picks the same number of experts from each group); `None`
    /// otherwise.
    pub groups: Option<usize>,
    /// The tensor in which the route is kept for other launches; `None` if it is not kept.
    pub keeps: Option<TensorId>,
    /// A tensor of the caller with one row per token, which determines the number of tokens.
    pub tokens: TensorId,
    /// Number of phases before the route in the taskflow. These phases run over tokens, and use no table of the route.
    pub before: usize,
    /// The source text of the call that makes the route, on one line.
    pub source: String,
    /// Line of the call that makes the route in the source file, from 1; 0 if rustc does not provide it.
    pub line: usize,
    /// The name of the route in its `let`.
    pub span: Span,
}

impl MadeRoute {
    /// Whether a phase comes before the route in the taskflow.
    #[must_use]
    pub fn follows(&self, phase: PhaseId) -> bool {
        phase.index() < self.before
    }
}

/// The maximum number of pairs of an expert of the group and a chunk, if the kernel makes its route: a rank has a count for each pair
/// (`MOST_PAIRS` of the device library).
pub const MOST_PAIRS: usize = 2048;
/// The maximum number of chunks of a route that a kernel makes (`MOST_ROUTE_CHUNKS`).
pub const MOST_ROUTE_CHUNKS: usize = 64;
/// The maximum number of iteration spaces of a kernel that makes its route (`MOST_ROUTE_SPACES`).
pub const MOST_ROUTE_SPACES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_device_library() {
        let header = include_str!("../../../kernels/include/hpmoe/routing/share.h");
        for (name, limit) in [
            ("MOST_PAIRS", MOST_PAIRS),
            ("MOST_ROUTE_CHUNKS", MOST_ROUTE_CHUNKS),
            ("MOST_ROUTE_SPACES", MOST_ROUTE_SPACES),
        ] {
            assert!(header.contains(&format!("constexpr uint32_t {name} = {limit};")), "{name}");
        }
    }
}
