//! One way of building and scheduling a kernel.

use super::Shape;
use crate::schedule::Choices;
use std::collections::BTreeMap;

/// Constants of kernels that are sizes of tiles and nothing else: another value changes no result.
pub const SIZES: [&str; 5] = ["TILE_M", "TILE_N", "PUT", "BLOCK", "COLUMNS"];

/// Choices for each taskflow of a kernel, and sizes for all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Candidate {
    /// Sizes that differ from the kernel's own.
    pub sizes: Shape,
    /// By taskflow; the default where none is named.
    pub choices: BTreeMap<String, Choices>,
}

impl Candidate {
    /// The choices of a taskflow.
    #[must_use]
    pub fn of(&self, flow: &str) -> Choices {
        self.choices.get(flow).cloned().unwrap_or_default()
    }
}
