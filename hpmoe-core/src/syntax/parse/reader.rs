//! The context in which statements are read: names, the route, and known taskflows.

use super::known_flows::KnownFlows;
use std::cell::RefCell;
use syn::Expr;

/// How a taskflow holds a tensor, which decides what it can pass to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Held {
    /// By value, from a `let`.
    Value {
        /// Whether it is a `let mut`.
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
    /// Whether the route exists at this point: not before the statement that makes it.
    pub(super) made: bool,
    /// Whether the statements are inside of a loop over chunks.
    pub(super) chunk: bool,
    /// The variable of the loop around the statements, other than one over chunks.
    pub(super) around: Option<&'a str>,
    /// The taskflows that may be called.
    pub(super) known: &'a KnownFlows<'a>,
    /// The names of tensors, those of the statements that stand for calls of taskflows included.
    pub(super) tensors: &'a RefCell<Vec<String>>,
    /// How the taskflow's own text holds each tensor.
    pub(super) held: &'a [(String, Held)],
    /// The sizes that the types of the tensors made so far state.
    pub(super) sizes: &'a RefCell<Vec<(String, Vec<Expr>)>>,
    /// The types of the tensors made so far, without their sizes.
    pub(super) types: &'a RefCell<Vec<(String, String)>>,
}
