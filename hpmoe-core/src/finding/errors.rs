//! The accumulator of findings: a stage reports all of its findings, and the next stage starts only if there are none.

use super::{Diagnostic, Finding, Site};
use proc_macro2::Span;

/// A finding and its place, as the error of a function that reads source.
pub(crate) type FindingAt = Box<(Span, Finding)>;

/// The findings of a stage so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors {
    list: Vec<Diagnostic>,
    function: Option<String>,
    /// The place at which all findings are shown, if it is not their own.
    place: Option<Span>,
}

impl Errors {
    /// Adds a finding, unless the same one is known at the same place: instances of one task have the same faults.
    pub(crate) fn push(&mut self, at: Span, finding: Finding) {
        let at = self.place.unwrap_or(at);
        let known = |other: &Diagnostic| Site(other.at) == Site(at) && other.finding == finding;
        if !self.list.iter().any(known) {
            self.list.push(Diagnostic {
                finding,
                at,
                function: self.function.clone(),
                in_library: self.place.is_some(),
            });
        }
    }

    /// Adds a finding about a tensor, unless the same one is known at any place: one call that shows it is enough.
    pub(crate) fn push_once(&mut self, at: Span, finding: Finding) {
        if !self.list.iter().any(|other| other.finding == finding) {
            self.push(at, finding);
        }
    }

    /// Attributes later findings to this function, or to none.
    pub(crate) fn within(&mut self, function: Option<&str>) {
        self.function = function.map(str::to_owned);
    }

    /// Shows later findings at this place, or at their own places if it is `None`. Findings in a task of the library are shown at its call.
    pub(crate) fn shown_at(&mut self, place: Option<Span>) {
        self.place = place;
    }

    /// Ends a stage: fails with all findings if there are any.
    pub(crate) fn checkpoint(&mut self) -> Result<(), Vec<Diagnostic>> {
        if self.list.is_empty() { Ok(()) } else { Err(std::mem::take(&mut self.list)) }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
