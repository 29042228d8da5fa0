//! Reads task bodies.

use super::forms::{constant_argument, is_empty, written_or_inferred};
use super::refused::{casts_value, form};
use crate::finding::{BodyForm, Errors, Finding, SyntaxFault};
use crate::syntax::ast::{BodyExpr, BodyStmt, HelperCall};
use crate::syntax::spelled::unparenthesized;
use hpmoe_kernels::op::{ElementType, OperandKind};
use hpmoe_kernels::ops;
use proc_macro2::Span;
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{BinOp, Block, Expr, ExprCall, GenericArgument, LocalInit, Pat, PathArguments, Stmt, Type, UnOp};

/// Reads the statements of a task body.
pub(super) fn statements(block: &Block, errors: &mut Errors) -> Vec<BodyStmt> {
    block
        .stmts
        .iter()
        .filter(|statement| !is_empty(statement))
        .filter_map(|statement| read(statement, errors))
        .collect()
}

fn read(statement: &Stmt, errors: &mut Errors) -> Option<BodyStmt> {
    match statement {
        Stmt::Local(local) => {
            let Some(LocalInit { expr, diverge: None, .. }) = &local.init else {
                return refuse(local.span(), SyntaxFault::TaskLet, errors);
            };
            match &local.pat {
                Pat::Ident(name) => {
                    Some(BodyStmt::Let { name: name.ident.to_string(), value: expression(expr, errors)? })
                }
                Pat::Tuple(tuple) => {
                    let Some(names) = tuple.elems.iter().map(name_of_result).collect() else {
                        return refuse(tuple.span(), SyntaxFault::TaskLet, errors);
                    };
                    Some(BodyStmt::LetResults { names, value: expression(expr, errors)?, span: tuple.span() })
                }
                _ => refuse(local.span(), SyntaxFault::TaskLet, errors),
            }
        }
        Stmt::Expr(Expr::ForLoop(each), _) => {
            let Pat::Ident(variable) = &*each.pat else {
                return refuse(each.pat.span(), SyntaxFault::LoopPattern, errors);
            };
            let Expr::Range(range) = unparenthesized(&each.expr) else {
                return refuse(each.expr.span(), SyntaxFault::TaskLoop, errors);
            };
            let (Some(from), Some(to), syn::RangeLimits::HalfOpen(_)) = (&range.start, &range.end, &range.limits)
            else {
                return refuse(range.span(), SyntaxFault::TaskRange, errors);
            };
            Some(BodyStmt::For {
                variable: variable.ident.to_string(),
                from: from.clone(),
                to: to.clone(),
                body: statements(&each.body, errors),
            })
        }
        Stmt::Expr(Expr::Assign(assign), _) => {
            let (name, span) = assigned(&assign.left, errors)?;
            Some(BodyStmt::Assign { name, value: expression(&assign.right, errors)?, span })
        }
        Stmt::Expr(Expr::Binary(binary), _) if assigned_sign(&binary.op).is_some() => {
            let (name, span) = assigned(&binary.left, errors)?;
            let sign = assigned_sign(&binary.op)?.to_owned();
            let operands = vec![BodyExpr::Name { name: name.clone(), span }, expression(&binary.right, errors)?];
            let at = binary.op.span();
            let value = BodyExpr::Operation { name: sign, operands, element: None, sizes: Vec::new(), span: at };
            Some(BodyStmt::Assign { name, value, span })
        }
        Stmt::Expr(expr, _) => Some(BodyStmt::Do(expression(expr, errors)?)),
        Stmt::Item(_) | Stmt::Macro(_) => refuse(statement.span(), SyntaxFault::TaskItem, errors),
    }
}

/// The name that a pattern gives to one of several results; `_` is a name, too.
fn name_of_result(pattern: &Pat) -> Option<String> {
    match pattern {
        Pat::Ident(name) => Some(name.ident.to_string()),
        Pat::Wild(_) => Some("_".to_owned()),
        _ => None,
    }
}

fn expression(expr: &Expr, errors: &mut Errors) -> Option<BodyExpr> {
    match expr {
        Expr::Paren(paren) => expression(&paren.expr, errors),
        Expr::Group(group) => expression(&group.expr, errors),
        Expr::Reference(reference) => expression(&reference.expr, errors),
        Expr::Path(path) if path.path.get_ident().is_some() => {
            Some(BodyExpr::Name { name: path.path.get_ident()?.to_string(), span: path.span() })
        }
        Expr::Cast(cast) if casts_value(cast) => {
            refuse(expr.span(), SyntaxFault::TaskExpression(BodyForm::Cast), errors)
        }
        Expr::Lit(_) | Expr::Cast(_) => Some(BodyExpr::Number(Box::new(expr.clone()))),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            let operands = vec![expression(&unary.expr, errors)?];
            Some(BodyExpr::Operation {
                name: "-".to_owned(),
                operands,
                element: None,
                sizes: Vec::new(),
                span: unary.op.span(),
            })
        }
        Expr::Binary(binary) => {
            let name = match binary.op {
                BinOp::Add(_) => "+",
                BinOp::Sub(_) => "-",
                BinOp::Mul(_) => "*",
                BinOp::Div(_) => "/",
                op if assigned_sign(&op).is_some() => {
                    return refuse(binary.op.span(), SyntaxFault::TaskAssignment, errors);
                }
                other => {
                    let sign = other.to_token_stream().to_string();
                    return refuse(binary.op.span(), SyntaxFault::TaskOperator { sign }, errors);
                }
            };
            let operands = vec![expression(&binary.left, errors)?, expression(&binary.right, errors)?];
            Some(BodyExpr::Operation {
                name: name.to_owned(),
                operands,
                element: None,
                sizes: Vec::new(),
                span: binary.op.span(),
            })
        }
        Expr::MethodCall(call) => {
            let mut operands = vec![expression(&call.receiver, errors)?];
            let name = call.method.to_string();
            for (place, argument) in (1..).zip(&call.args) {
                operands.push(match takes_index(&name, place) {
                    true => BodyExpr::Index(Box::new(argument.clone())),
                    false => expression(argument, errors)?,
                });
            }
            let element = call.turbofish.as_ref().and_then(|types| match types.args.first()? {
                GenericArgument::Type(Type::Path(path)) => {
                    let name = path.path.segments.last()?.ident.to_string();
                    ElementType::ALL.into_iter().find(|element| element.name() == name)
                }
                _ => None,
            });
            let arguments = call.turbofish.iter().flat_map(|types| &types.args);
            // All of them or none: if there is a type among them, the error reports it.
            let sizes = arguments.filter(|_| element.is_none()).map(constant_argument).collect::<Option<Vec<Expr>>>();
            let sizes = sizes.unwrap_or_default();
            Some(BodyExpr::Operation { name, operands, element, sizes, span: call.method.span() })
        }
        Expr::Unary(unary) => {
            let sign = unary.op.to_token_stream().to_string();
            refuse(unary.op.span(), SyntaxFault::TaskOperator { sign }, errors)
        }
        Expr::Assign(assign) => refuse(assign.eq_token.span(), SyntaxFault::TaskAssignment, errors),
        Expr::If(_) | Expr::Match(_) => refuse(expr.span(), SyntaxFault::TaskIf, errors),
        Expr::Call(call) => helper_call(call, errors).map(BodyExpr::Call),
        Expr::Macro(_) => refuse(expr.span(), SyntaxFault::TaskMacro, errors),
        _ => refuse(expr.span(), SyntaxFault::TaskExpression(form(expr)), errors),
    }
}

/// Reads a call of a function by a plain name. Whether the module has this function is checked later.
fn helper_call(call: &ExprCall, errors: &mut Errors) -> Option<HelperCall> {
    let segment = match &*call.func {
        Expr::Path(path) if path.qself.is_none() && path.path.segments.len() == 1 => path.path.segments.first(),
        _ => None,
    };
    let Some(segment) = segment else { return refuse(call.func.span(), SyntaxFault::TaskCall, errors) };
    let sizes = match &segment.arguments {
        PathArguments::AngleBracketed(sizes) => sizes.args.iter().map(written_or_inferred).collect(),
        _ => Some(Vec::new()),
    };
    let Some(sizes) = sizes else { return refuse(segment.span(), SyntaxFault::HelperGeneric, errors) };
    let arguments = call.args.iter().map(|argument| expression(argument, errors)).collect::<Option<Vec<_>>>()?;
    Some(HelperCall { function: segment.ident.to_string(), sizes, arguments, span: segment.ident.span() })
}

/// Reads the body of a helper function, which ends with the expressions that it returns.
pub(super) fn with_results(block: &Block, errors: &mut Errors) -> Option<(Vec<BodyStmt>, Vec<BodyExpr>)> {
    let Some((Stmt::Expr(result, None), statements)) = block.stmts.split_last() else {
        return refuse(block.brace_token.span.close(), SyntaxFault::HelperResult, errors);
    };
    let read_all = |statement| read(statement, errors);
    let before = statements.iter().filter(|statement| !is_empty(statement)).filter_map(read_all).collect();
    let results: Vec<&Expr> = match result {
        Expr::Tuple(tuple) => tuple.elems.iter().collect(),
        one => vec![one],
    };
    Some((before, results.into_iter().map(|result| expression(result, errors)).collect::<Option<_>>()?))
}

/// The name on the left of an assignment.
fn assigned(left: &Expr, errors: &mut Errors) -> Option<(String, Span)> {
    let name = match left {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    };
    match name {
        Some(name) => Some((name.to_string(), name.span())),
        None => refuse(left.span(), SyntaxFault::TaskAssignment, errors),
    }
}

/// The operator of `+=`, `-=`, `*=` or `/=`.
fn assigned_sign(op: &BinOp) -> Option<&'static str> {
    match op {
        BinOp::AddAssign(_) => Some("+"),
        BinOp::SubAssign(_) => Some("-"),
        BinOp::MulAssign(_) => Some("*"),
        BinOp::DivAssign(_) => Some("/"),
        _ => None,
    }
}

/// Whether an operation with this name takes a size in parentheses at this position, counted from the receiver.
fn takes_index(name: &str, place: usize) -> bool {
    ops::named(name).any(|operation| operation.operands.get(place) == Some(&OperandKind::Index))
}

fn refuse<T>(span: Span, fault: SyntaxFault, errors: &mut Errors) -> Option<T> {
    errors.push(span, Finding::Syntax(fault));
    None
}
