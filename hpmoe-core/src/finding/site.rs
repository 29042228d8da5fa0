//! A place in the source.

use proc_macro2::Span;

/// A place in the source. Places are equal if they cover the same text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site(pub(crate) Span);

impl PartialEq for Site {
    fn eq(&self, other: &Self) -> bool {
        (self.0.start(), self.0.end()) == (other.0.start(), other.0.end())
    }
}

impl From<Span> for Site {
    fn from(span: Span) -> Self {
        Self(span)
    }
}
