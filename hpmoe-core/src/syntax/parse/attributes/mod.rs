//! The attributes of the language: their names, their arguments, and the external operators that they describe.

mod arguments;
mod external;
mod markers;

pub(super) use external::external;
pub(crate) use markers::Marker;
