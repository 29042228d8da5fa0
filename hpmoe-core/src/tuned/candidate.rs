//! One way to build and schedule a kernel.

use super::NamedSizes;
use crate::schedule::Choices;
use std::collections::BTreeMap;

/// Choices for each taskflow of a kernel, and tile sizes for all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Candidate {
    /// Tile sizes that replace those in the kernel's source.
    pub sizes: NamedSizes,
    /// Choices by the name of the taskflow; taskflows that are not listed use the defaults.
    pub choices: BTreeMap<String, Choices>,
}

impl Candidate {
    /// The choices of a taskflow; the defaults if the taskflow is not listed.
    #[must_use]
    pub fn choices_of(&self, flow: &str) -> Choices {
        self.choices.get(flow).cloned().unwrap_or_default()
    }
}
