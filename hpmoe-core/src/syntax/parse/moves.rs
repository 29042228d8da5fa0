//! Faults in task bodies that otherwise only rustc would report: values used after a move, references to references, and
//! references passed to functions that take values, or the reverse. A value (`Value<R, C>`) is not copied: `a + b`,
//! `f(a)` and `let c = a;` move it, whereas `&a + &b` and `a.exp()` borrow it.

use super::kernel::functions_of_tasks;
use crate::finding::{BodyFault, Errors, Finding, HelperFault};
use crate::syntax::ast::{HelperFn, HelperType, Kernel};
use crate::syntax::spelled::{one_line, unparenthesized};
use hpmoe_kernels::ops;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{BinOp, Block, Expr, ExprCall, ExprMethodCall, FnArg, ItemMod, Local, Pat, Stmt, Type};

/// The kind of item that a name refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A tile, a number or a size, which is copied.
    Copied,
    /// A reference to a value.
    Borrowed,
    /// A value, which is moved.
    Value,
}

/// A name in scope.
#[derive(Clone)]
struct Bound {
    name: String,
    kind: Kind,
    moved: bool,
}

/// The names in scope, the innermost last.
struct Moves<'a> {
    bound: Vec<Bound>,
    helpers: &'a [HelperFn],
    errors: &'a mut Errors,
}

/// Reports moved values and wrong references in a kernel's tasks and in the functions that they call. The front end shows these findings
/// only if the kernel has no other fault.
pub(crate) fn moves(module: &ItemMod, kernel: &Kernel, errors: &mut Errors) {
    for function in functions_of_tasks(module, kernel) {
        errors.within(Some(&function.sig.ident.to_string()));
        let bound = function.sig.inputs.iter().filter_map(parameter).collect();
        Moves { bound, helpers: &kernel.helpers, errors }.block(&function.block);
    }
    errors.within(None);
}

fn parameter(input: &FnArg) -> Option<Bound> {
    let FnArg::Typed(typed) = input else { return None };
    let Pat::Ident(name) = &*typed.pat else { return None };
    let is_value = |ty: &Type| matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Value"));
    let kind = match &*typed.ty {
        Type::Reference(reference) if is_value(&reference.elem) => Kind::Borrowed,
        ty if is_value(ty) => Kind::Value,
        _ => Kind::Copied,
    };
    Some(Bound { name: name.ident.to_string(), kind, moved: false })
}

impl Moves<'_> {
    fn block(&mut self, block: &Block) {
        let outside = self.bound.len();
        block.stmts.iter().for_each(|statement| self.statement(statement));
        self.bound.truncate(outside);
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Local(local) => self.declaration(local),
            Stmt::Expr(Expr::ForLoop(each), _) => {
                let outside = self.bound.len();
                if let Pat::Ident(variable) = &*each.pat {
                    self.bind(variable.ident.to_string(), Kind::Copied);
                }
                let faults = self.errors.len();
                self.block(&each.body);
                // A value that one iteration moves is missing in the next iteration.
                if self.errors.len() == faults {
                    self.block(&each.body);
                }
                self.bound.truncate(outside);
            }
            Stmt::Expr(Expr::Assign(assign), _) if self.is_value(&assign.left) => {
                self.taken(&assign.right);
                if let Some(bound) = name_in(&assign.left).and_then(|(name, _)| self.find(&name)) {
                    bound.moved = false;
                }
            }
            // An invalid assignment is reported elsewhere.
            Stmt::Expr(Expr::Assign(assign), _) => self.borrowed(&assign.right),
            Stmt::Expr(expr, _) => self.taken(expr),
            Stmt::Item(_) | Stmt::Macro(_) => {}
        }
    }

    fn declaration(&mut self, local: &Local) {
        let Some(init) = &local.init else { return };
        self.taken(&init.expr);
        match &local.pat {
            Pat::Ident(name) => {
                let kind = if name.by_ref.is_some() { Kind::Borrowed } else { self.kind(&init.expr) };
                self.bind(name.ident.to_string(), kind);
            }
            Pat::Tuple(tuple) => {
                for element in &tuple.elems {
                    if let Pat::Ident(name) = element {
                        self.bind(name.ident.to_string(), Kind::Value);
                    }
                }
            }
            _ => {}
        }
    }

    fn bind(&mut self, name: String, kind: Kind) {
        self.bound.push(Bound { name, kind, moved: false });
    }

    fn find(&mut self, name: &str) -> Option<&mut Bound> {
        self.bound.iter_mut().rev().find(|bound| bound.name == name)
    }

    /// Visits an expression whose result is moved: a name of a value can't be used afterwards.
    fn taken(&mut self, expr: &Expr) {
        if let Some((name, span)) = name_in(expr) {
            self.used(&name, span);
            if let Some(bound) = self.find(&name).filter(|bound| bound.kind == Kind::Value) {
                bound.moved = true;
            }
            return;
        }
        match unparenthesized(expr) {
            Expr::Reference(reference) => self.borrowed(&reference.expr),
            Expr::Unary(unary) => self.taken(&unary.expr),
            Expr::Binary(binary) => {
                let assigns = matches!(
                    binary.op,
                    BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::MulAssign(_) | BinOp::DivAssign(_)
                );
                match assigns {
                    true => self.borrowed(&binary.left),
                    false => self.operand(&binary.left),
                }
                match assigns && !self.is_value(&binary.left) {
                    true => self.borrowed(&binary.right),
                    false => self.operand(&binary.right),
                }
            }
            Expr::MethodCall(call) => self.method(call),
            Expr::Call(call) => {
                self.references(call);
                call.args.iter().for_each(|argument| self.taken(argument));
            }
            Expr::Block(block) => self.block(&block.block),
            Expr::Tuple(tuple) => tuple.elems.iter().for_each(|element| self.taken(element)),
            _ => {}
        }
    }

    /// Refuses a value passed to a parameter that takes a reference, and a reference passed to one that takes a value.
    fn references(&mut self, call: &ExprCall) {
        let Expr::Path(path) = &*call.func else { return };
        let Some(name) = path.path.segments.last().map(|last| last.ident.to_string()) else { return };
        let helpers = self.helpers;
        let Some(helper) = helpers.iter().find(|helper| helper.name == name) else { return };
        for (param, argument) in helper.params.iter().zip(&call.args) {
            let by_reference = param.by_reference;
            let given = self.kind(argument);
            let differs = given == if by_reference { Kind::Value } else { Kind::Borrowed };
            if differs && matches!(param.ty, HelperType::Value { .. }) {
                let (name, param) = (name.clone(), param.name.clone());
                self.errors
                    .push(argument.span(), Finding::Helper(HelperFault::Reference { name, param, by_reference }));
            }
        }
    }

    /// Visits an operand of an operator. Refuses a reference to a reference.
    fn operand(&mut self, expr: &Expr) {
        if let Expr::Reference(reference) = unparenthesized(expr) {
            if let Some((name, span)) = name_in(&reference.expr) {
                if self.find(&name).is_some_and(|bound| bound.kind == Kind::Borrowed) {
                    self.errors.push(span, Finding::Body(BodyFault::ReferenceToReference { name }));
                    return;
                }
            }
        }
        self.taken(expr);
    }

    fn borrowed(&mut self, expr: &Expr) {
        match name_in(expr) {
            Some((name, span)) => self.used(&name, span),
            None => self.taken(expr),
        }
    }

    fn method(&mut self, call: &ExprMethodCall) {
        let name = call.method.to_string();
        match name.as_str() {
            // The one operation that takes its value.
            "fold_rows" => self.taken(&call.receiver),
            _ => self.borrowed(&call.receiver),
        }
        for argument in &call.args {
            if let Expr::Reference(reference) = unparenthesized(argument) {
                if is_number(&reference.expr) {
                    let number = one_line(&reference.expr);
                    self.errors.push(argument.span(), Finding::Body(BodyFault::ReferenceToNumber { number }));
                }
            }
            self.taken(argument);
        }
    }

    fn is_value(&mut self, expr: &Expr) -> bool {
        name_in(expr).and_then(|(name, _)| self.find(&name)).is_some_and(|bound| bound.kind == Kind::Value)
    }

    fn used(&mut self, name: &str, span: Span) {
        let moved = self.find(name).is_some_and(|bound| std::mem::take(&mut bound.moved));
        if moved {
            self.errors.push(span, Finding::Body(BodyFault::Moved { name: name.to_owned() }));
        }
    }

    /// The kind of the name in `let name = expr;`.
    fn kind(&self, expr: &Expr) -> Kind {
        let of_name = |name: &str| self.bound.iter().rev().find(|bound| bound.name == name).map(|bound| bound.kind);
        match unparenthesized(expr) {
            Expr::Reference(_) => Kind::Borrowed,
            path @ Expr::Path(_) => name_in(path).and_then(|(name, _)| of_name(&name)).unwrap_or(Kind::Copied),
            Expr::Unary(unary) => self.result(&[&unary.expr]),
            Expr::Binary(binary) => self.result(&[&binary.left, &binary.right]),
            // Methods that take only sizes and numbers are not read as values.
            Expr::MethodCall(call) if ops::named(&call.method.to_string()).next().is_some() => Kind::Value,
            Expr::Call(_) => Kind::Value,
            Expr::Block(block) => match block.block.stmts.last() {
                Some(Stmt::Expr(last, None)) => self.kind(last),
                _ => Kind::Copied,
            },
            _ => Kind::Copied,
        }
    }

    /// The kind of an operator's result: a value if an operand is a value, and a number if both are numbers.
    fn result(&self, operands: &[&Expr]) -> Kind {
        let is_value = |operand: &&Expr| match unparenthesized(operand) {
            Expr::Reference(reference) => self.kind(&reference.expr) != Kind::Copied,
            operand => self.kind(operand) != Kind::Copied,
        };
        if operands.iter().any(is_value) { Kind::Value } else { Kind::Copied }
    }
}

/// Whether an expression is a literal number, with or without a sign.
fn is_number(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::Unary(unary) => is_number(&unary.expr),
        expr => matches!(expr, Expr::Lit(_)),
    }
}

/// The name that an expression is, with its place.
fn name_in(expr: &Expr) -> Option<(String, Span)> {
    match unparenthesized(expr) {
        Expr::Path(path) => path.path.get_ident().map(|name| (name.to_string(), name.span())),
        _ => None,
    }
}
