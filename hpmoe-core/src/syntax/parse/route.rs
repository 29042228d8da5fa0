//! Reads the statement that makes a route: `let route = Route::of::<EXPERTS>(ep, &ids);`.

use super::forms::{constant_argument, fault, ident, name_of};
use crate::finding::{FindingAt, SyntaxFault};
use crate::syntax::ast::MadeRoute;
use crate::syntax::spelled::one_line;
use proc_macro2::Span;
use syn::{Expr, ExprCall, ExprMethodCall, Pat, PathArguments, Stmt};

/// Whether a statement makes a route.
pub(super) fn makes_route(statement: &Stmt) -> bool {
    let Stmt::Local(local) = statement else { return false };
    local.init.as_ref().is_some_and(|init| made_of(&init.expr).is_some_and(|(call, _)| route_of(call).is_some()))
}

/// The call that makes a route, and the call that sets its groups.
fn made_of(made: &Expr) -> Option<(&ExprCall, Option<&ExprMethodCall>)> {
    match made {
        Expr::Call(call) => Some((call, None)),
        Expr::MethodCall(groups) if groups.method == "in_groups" => match &*groups.receiver {
            Expr::Call(call) => Some((call, Some(groups))),
            _ => None,
        },
        _ => None,
    }
}

/// The number of groups in `.in_groups::<GROUPS>()`.
fn groups_of(call: &ExprMethodCall) -> Option<Expr> {
    let arguments = &call.turbofish.as_ref()?.args;
    (arguments.len() == 1 && call.args.is_empty()).then(|| constant_argument(&arguments[0]))?
}

/// Reads a statement that makes a route: the name of the route, and the inputs that it is made from.
pub(super) fn made_route(statement: &Stmt, ranks: &str) -> Result<(String, MadeRoute), FindingAt> {
    let form = || fault(statement, SyntaxFault::FlowRouteOf { ranks: ranks.to_owned() });
    read(statement, ranks).ok_or_else(form)
}

fn read(statement: &Stmt, ranks: &str) -> Option<(String, MadeRoute)> {
    let Stmt::Local(local) = statement else { return None };
    let Pat::Ident(name) = &local.pat else { return None };
    let made = &local.init.as_ref()?.expr;
    let (call, groups) = made_of(made)?;
    let groups = groups.map(|call| groups_of(call).ok_or(())).transpose().ok()?;
    let PathArguments::AngleBracketed(arguments) = &route_of(call)?.arguments else { return None };
    let experts = (arguments.args.len() == 1).then(|| constant_argument(&arguments.args[0]))??;
    let [group, ids] = call.args.iter().collect::<Vec<_>>()[..] else { return None };
    (name_of(group)? == ranks).then_some(())?;
    let by_reference = name_of(ids).is_none();
    let (ids, source) = (whole(ids)?, one_line(made));
    let span = name.ident.span();
    let made = MadeRoute { after: 0, ids, by_reference, keeps: None, experts, groups, source, span };
    Some((name.ident.to_string(), made))
}

/// The name of a tensor that is passed as a whole: by its name, or by a reference to it.
pub(super) fn whole(tensor: &Expr) -> Option<String> {
    match tensor {
        Expr::Reference(borrowed) => ident(&borrowed.expr),
        named => ident(named),
    }
}

/// The tensor that the statement `route.keep(routed);` names; `None` for any other statement.
pub(super) fn kept_in(statement: &Stmt, route: &str) -> Option<(String, Span)> {
    let Stmt::Expr(Expr::MethodCall(call), _) = statement else { return None };
    let routed = call.args.first().filter(|_| call.args.len() == 1)?;
    (call.method == "keep" && call.turbofish.is_none() && ident(&call.receiver)? == route).then_some(())?;
    Some((name_of(routed)?, call.method.span()))
}

/// The last segment of the path `Route::of`.
fn route_of(call: &ExprCall) -> Option<&syn::PathSegment> {
    let Expr::Path(path) = &*call.func else { return None };
    let segments: Vec<_> = path.path.segments.iter().collect();
    let [.., route, of] = segments.as_slice() else { return None };
    (route.ident == "Route" && of.ident == "of").then_some(of)
}
