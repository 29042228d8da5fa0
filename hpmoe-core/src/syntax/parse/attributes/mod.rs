//! The attributes of the language: which they are, what each takes, and what that says of an external operator.

mod arguments;
mod external;
mod markers;

pub(super) use external::external;
pub(crate) use markers::Marker;
