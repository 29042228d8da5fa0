//! The kernel module as written.

use super::{Flow, TaskFn};
use crate::syntax::Constants;
use proc_macro2::Span;

/// A kernel module as written.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// Constants with their values.
    pub constants: Constants,
    /// Marked task functions.
    pub tasks: Vec<TaskFn>,
    /// Taskflows.
    pub flows: Vec<Flow>,
}
