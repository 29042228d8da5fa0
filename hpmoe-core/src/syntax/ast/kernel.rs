//! The kernel module as written.

use super::{Flow, HelperFn, TaskFn};
use crate::syntax::Constants;
use proc_macro2::Span;

/// A kernel module as written.
#[derive(Clone)]
pub struct Kernel {
    /// The name of the module, which is the kernel's name.
    pub name: String,
    /// The module's name in the source.
    pub(crate) span: Span,
    /// The module's `usize` and `f32` constants with their values, as written or as the build sets them. `SPARE` and `CHUNKS_AT_MOST` are
    /// included if the build sets them, even if the module doesn't declare them.
    pub constants: Constants,
    pub(crate) tasks: Vec<TaskFn>,
    pub(crate) flows: Vec<Flow>,
    /// The helper functions that tasks call.
    pub(crate) helpers: Vec<HelperFn>,
    /// The names of all functions without a marker.
    pub(crate) unmarked: Vec<String>,
}
