//! Reads the statement that makes a route: `let route = Route::of::<EXPERTS>(ep, &ids);`.

use super::forms::{constant_argument, fault, ident, one_line};
use crate::finding::{FindingAt, SyntaxFault};
use crate::syntax::ast::MadeRoute;
use syn::{Expr, Pat, PathArguments, Stmt};

/// Whether a statement makes a route.
pub(super) fn makes_route(statement: &Stmt) -> bool {
    let Stmt::Local(local) = statement else { return false };
    let Some(init) = &local.init else { return false };
    matches!(&*init.expr, Expr::Call(call) if route_of(call).is_some())
}

/// Reads such a statement: the name of the route, and what it is made of.
pub(super) fn made_route(statement: &Stmt, ranks: &str) -> Result<(String, MadeRoute), FindingAt> {
    let form = || fault(statement, SyntaxFault::FlowRouteOf { ranks: ranks.to_owned() });
    read(statement, ranks).ok_or_else(form)
}

fn read(statement: &Stmt, ranks: &str) -> Option<(String, MadeRoute)> {
    let Stmt::Local(local) = statement else { return None };
    let Pat::Ident(name) = &local.pat else { return None };
    let Expr::Call(call) = &*local.init.as_ref()?.expr else { return None };
    let PathArguments::AngleBracketed(arguments) = &route_of(call)?.arguments else { return None };
    let experts = (arguments.args.len() == 1).then(|| constant_argument(&arguments.args[0]))??;
    let [group, ids] = call.args.iter().collect::<Vec<_>>()[..] else { return None };
    (ident(group)? == ranks).then_some(())?;
    let made = MadeRoute { after: 0, ids: whole(ids)?, experts, source: one_line(call), span: name.ident.span() };
    Some((name.ident.to_string(), made))
}

/// The name of a tensor that is passed as a whole, by name or by reference.
pub(super) fn whole(tensor: &Expr) -> Option<String> {
    match tensor {
        Expr::Reference(borrowed) => ident(&borrowed.expr),
        named => ident(named),
    }
}

/// The last part of the path `Route::of`.
fn route_of(call: &syn::ExprCall) -> Option<&syn::PathSegment> {
    let Expr::Path(path) = &*call.func else { return None };
    let segments: Vec<_> = path.path.segments.iter().collect();
    let [.., route, of] = segments.as_slice() else { return None };
    (route.ident == "Route" && of.ident == "of").then_some(of)
}
