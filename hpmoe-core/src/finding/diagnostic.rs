//! A finding with its place in the source, and its text for users.

use super::Finding;
use proc_macro2::Span;

/// One fault of a kernel module, with its place in the source.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub(crate) finding: Finding,
    /// The source text that is wrong.
    pub at: Span,
    /// The task or taskflow that contains the fault, if any. The macro replaces the body of that function.
    pub function: Option<String>,
    /// Whether the function is from the library, so that `at` is its call and not the source text that is wrong.
    pub(crate) in_library: bool,
}

/// The text of a [`Diagnostic`].
#[derive(Clone, Debug)]
pub struct Words {
    /// `HP` and two digits.
    pub code: &'static str,
    /// The fault in one sentence without a full stop. If a memory is too small, one line for each use of the memory follows.
    pub message: String,
    /// The text that says what to write instead.
    pub help: String,
    /// Other places that belong to the fault, each with a sentence.
    pub also: Vec<(Span, String)>,
}
