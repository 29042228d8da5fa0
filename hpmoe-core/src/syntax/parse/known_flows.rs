//! The taskflows of a module, and those that have been read.

use crate::names::nearest;
use crate::syntax::ast::Flow;
use syn::{Expr, ItemFn, PathSegment, Visibility};

/// Whether a kernel is generated for a taskflow: it is not private.
pub(super) fn is_public(function: &ItemFn) -> bool {
    !matches!(function.vis, Visibility::Inherited)
}

/// The taskflows of a module, each read at most once.
pub(super) struct KnownFlows<'a> {
    pub(super) functions: &'a [&'a ItemFn],
    /// For each function, its taskflow if it has been read; the inner `None` stands for a taskflow with faults.
    pub(super) read: Vec<Option<Option<Flow>>>,
}

impl KnownFlows<'_> {
    fn position(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.sig.ident == name)
    }

    /// A taskflow that has not been read, while all taskflows that it calls have been; `None` if there is none.
    pub(super) fn next(&self) -> Option<usize> {
        let is_ready = |at: &usize| {
            let called = called(&self.functions[*at].block.stmts);
            called.iter().filter_map(|name| self.position(name)).all(|called| self.read[called].is_some())
        };
        (0..self.functions.len()).filter(|&at| self.read[at].is_none()).find(is_ready)
    }

    /// The most similar name of a taskflow, if one is similar enough.
    pub(super) fn nearest(&self, name: &str) -> Option<String> {
        let names: Vec<String> = self.functions.iter().map(|function| function.sig.ident.to_string()).collect();
        nearest(name, names.iter().map(String::as_str))
    }

    /// The taskflow with this name; `None` if the module has none, the inner `None` if it has faults.
    pub(super) fn get(&self, name: &str) -> Option<Option<&Flow>> {
        self.position(name).map(|at| self.read[at].as_ref().and_then(Option::as_ref))
    }
}

/// The names of the functions that statements call, including calls inside loops.
pub(super) fn called(statements: &[syn::Stmt]) -> Vec<String> {
    let mut names = Vec::new();
    for statement in statements {
        match statement {
            syn::Stmt::Expr(Expr::ForLoop(each), _) => names.extend(called(&each.body.stmts)),
            syn::Stmt::Expr(Expr::Call(call), _) => {
                names.extend(function(call).map(|function| function.ident.to_string()));
            }
            _ => {}
        }
    }
    names
}

/// The function that a call names without a path, with its const arguments.
pub(super) fn function(call: &syn::ExprCall) -> Option<&PathSegment> {
    let Expr::Path(path) = &*call.func else { return None };
    let [function] = path.path.segments.iter().collect::<Vec<_>>()[..] else { return None };
    Some(function)
}
