//! Constants of a kernel module and their values: sizes and numbers.

mod declared;
mod numbers;
mod sizes;
mod table;
mod value;

pub use declared::{declared_constants, refuse_unknown_overrides};
pub(crate) use numbers::arithmetic;
pub(crate) use table::is_computed;
pub use table::{Constants, Overrides};
pub use value::Constant;
