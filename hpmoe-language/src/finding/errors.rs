//! The accumulator: a stage says all that it finds, and the next stage starts only when nothing was found.

use super::{Diagnostic, Finding, Site};
use proc_macro2::Span;

/// Faults found so far.
#[derive(Debug, Default)]
pub struct Errors {
    list: Vec<Diagnostic>,
    function: Option<String>,
}

/// A stage found faults: all of them.
pub type Checkpoint = Result<(), Vec<Diagnostic>>;

impl Errors {
    /// Adds a finding, once: instances of one task have the same faults.
    pub fn push(&mut self, at: Span, finding: Finding) {
        let known = |other: &Diagnostic| Site(other.at) == Site(at) && other.finding == finding;
        if !self.list.iter().any(known) {
            self.list.push(Diagnostic { finding, at, function: self.function.clone() });
        }
    }
    /// Later findings belong to this function, until told otherwise.
    pub fn within(&mut self, function: Option<&str>) {
        self.function = function.map(str::to_owned);
    }
    /// Ends a stage.
    pub fn checkpoint(&mut self) -> Checkpoint {
        if self.list.is_empty() { Ok(()) } else { Err(std::mem::take(&mut self.list)) }
    }
    /// Whether such a finding is among them.
    pub fn any(&self, wanted: impl Fn(&Finding) -> bool) -> bool {
        self.list.iter().any(|found| wanted(&found.finding))
    }
    /// Number of findings so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }
    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
