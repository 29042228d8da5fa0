//! The context in which statements are read: the names of ranks and route, tensors, and known taskflows.

use super::known_flows::KnownFlows;
use std::cell::RefCell;
use syn::Expr;

/// The way in which a taskflow holds a tensor, which decides how it can pass the tensor to another taskflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Held {
    /// By value, from a `let`.
    Value {
        /// Whether the `let` is `mut`.
        mutable: bool,
    },
    /// As a parameter `&PerRank<..>`.
    Shared,
    /// As a parameter `&mut PerRank<..>`.
    Unique,
}

/// A reader of statements that knows the names of the ranks and of the route.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) ranks: &'a str,
    pub(super) route: &'a str,
    /// Whether the route is the variable of a loop over chunks or of a `let`: constructors then take it by reference.
    pub(super) owned: bool,
    /// Whether the route has been made at this point: a statement of the taskflow may make it.
    pub(super) made: bool,
    /// Whether the statements are inside of a loop over chunks.
    pub(super) chunk: bool,
    /// The variable of the loop around the statements, unless that loop runs over chunks.
    pub(super) around: Option<&'a str>,
    /// The taskflows that may be called.
    pub(super) known: &'a KnownFlows<'a>,
    /// The names of all tensors, including those of called taskflows.
    pub(super) tensors: &'a RefCell<Vec<String>>,
    /// For each tensor in the taskflow's own text, the way in which the taskflow holds it.
    pub(super) held: &'a [(String, Held)],
    /// For each tensor made so far, the sizes that its type states.
    pub(super) sizes: &'a RefCell<Vec<(String, Vec<Expr>)>>,
    /// For each tensor made so far, its type without the sizes.
    pub(super) types: &'a RefCell<Vec<(String, String)>>,
}
