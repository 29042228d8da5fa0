//! Lines of the source.

use proc_macro2::Span;

/// The line of a span, from 1; 0 if rustc doesn't report it.
pub(super) fn line(span: Span) -> usize {
    span.start().line
}
