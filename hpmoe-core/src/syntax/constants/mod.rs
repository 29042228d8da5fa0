//! Constants of a kernel module and their values: sizes and numbers.

mod declared;
mod derived;
mod numbers;
mod sizes;
mod table;

pub use declared::{
    declared_constants, independent_tile_sizes, leaving_open, open_constants, refuse_unknown_overrides,
};
pub(crate) use derived::independent_constants;
pub use derived::{is_derived, refuse_derived_overrides};
pub(crate) use numbers::arithmetic;
pub(super) use sizes::METHODS;
pub use table::Constants;
pub(crate) use table::is_computed;
