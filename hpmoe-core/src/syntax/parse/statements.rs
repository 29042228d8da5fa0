//! Reads statements of a taskflow.

use super::arguments::argument;
use super::forms::{
    constant_argument, fault, generic_tensor, ident, is_empty, is_unique, name_of, unknown_element, written_or_inferred,
};
use super::known_flows::function;
use super::parts;
use super::reader::Reader;
use super::route::{makes_route, whole};
use crate::finding::{Errors, Finding, FindingAt, NameKind, PartFault, SyntaxFault};
use crate::names::nearest;
use crate::syntax::ast::{Flow, Let, Over, Stmt, TensorKind};
use crate::syntax::spelled::one_line;
use syn::spanned::Spanned as _;
use syn::{Expr, Pat, PathArguments};

impl Reader<'_> {
    pub(super) fn statements(&self, statements: &[syn::Stmt], errors: &mut Errors) -> Vec<Stmt> {
        let mut read = Vec::new();
        for statement in statements.iter().filter(|statement| !is_empty(statement)) {
            match self.statement(statement, errors) {
                Ok(statements) => read.extend(statements),
                Err(fault) => errors.push(fault.0, fault.1),
            }
        }
        read
    }

    /// The statement that a Rust statement becomes; for a call of a taskflow, the statements of that taskflow.
    fn statement(&self, statement: &syn::Stmt, errors: &mut Errors) -> Result<Vec<Stmt>, FindingAt> {
        match statement {
            syn::Stmt::Local(_) if makes_route(statement) => Err(fault(statement, SyntaxFault::FlowRouteElsewhere)),
            syn::Stmt::Local(local) => {
                let declared = self.tensor(local)?;
                self.types.borrow_mut().push((declared.name.clone(), declared.kind.type_text(declared.element)));
                self.sizes.borrow_mut().push((declared.name.clone(), declared.kind.sizes(&declared.columns)));
                Ok(vec![Stmt::Let(declared)])
            }
            syn::Stmt::Expr(Expr::ForLoop(each), _) => {
                let Pat::Ident(variable) = &*each.pat else {
                    return Err(fault(&each.pat, SyntaxFault::LoopPattern));
                };
                let over = self.over(&each.expr)?;
                let variable = &variable.ident;
                let name = variable.to_string();
                let body = match over {
                    Over::Chunks { .. } => {
                        Reader { route: &name, owned: true, chunk: true, ..*self }.statements(&each.body.stmts, errors)
                    }
                    _ => Reader { around: Some(&name), ..*self }.statements(&each.body.stmts, errors),
                };
                Ok(vec![Stmt::For { span: variable.span(), over, body, variable: name }])
            }
            syn::Stmt::Expr(Expr::Call(call), _) => match self.part(call) {
                Some(part) => self.statements_of(call, part),
                None => match self.unknown_part(call) {
                    Some(unknown) => Err(unknown),
                    None => Self::call(call).map(|call| vec![call]),
                },
            },
            syn::Stmt::Expr(Expr::If(branch), _) => Err(fault(branch, SyntaxFault::FlowIf)),
            other => Err(fault(other, SyntaxFault::FlowStatement)),
        }
    }

    /// The fault of a call of an unknown taskflow: it passes the ranks, as only calls of taskflows do.
    fn unknown_part(&self, call: &syn::ExprCall) -> Option<FindingAt> {
        let function = &function(call)?.ident;
        call.args.first().and_then(ident).filter(|first| first == self.ranks)?;
        let name = function.to_string();
        let nearest = self.known.nearest(&name);
        Some(Box::new((function.span(), Finding::Unknown { kind: NameKind::Taskflow, name, nearest })))
    }

    /// The taskflow that a call names; `None` if it names none, the inner `None` if the taskflow has faults.
    fn part(&self, call: &syn::ExprCall) -> Option<Option<&Flow>> {
        self.known.get(&function(call)?.ident.to_string())
    }

    /// The statements of a called taskflow, which replace the call.
    fn statements_of(&self, call: &syn::ExprCall, part: Option<&Flow>) -> Result<Vec<Stmt>, FindingAt> {
        if let Some(variable) = self.around {
            let fault_of = PartFault::InLoop { variable: variable.to_owned() };
            return Err(fault(&call.func, SyntaxFault::Part(fault_of)));
        }
        // Faults of the called taskflow are reported there.
        part.map_or(Ok(Vec::new()), |part| parts::statements(call, part, self))
    }

    /// The route as the argument of a constructor: `route`, or `&route` if the taskflow owns it.
    pub(super) fn route_argument(&self) -> String {
        format!("{}{}", if self.owned { "&" } else { "" }, self.route)
    }

    fn tensor(&self, local: &syn::Local) -> Result<Let, FindingAt> {
        let no_tensor =
            || fault(local, SyntaxFault::FlowLet { ranks: self.ranks.to_owned(), route: self.route_argument() });
        let Some((name, call, constructor)) = constructor_call(local) else { return Err(no_tensor()) };
        let of_tokens = constructor.ident == "tokens" && call.args.iter().any(|of| self.whole_tensor(of).is_some());
        if !self.made && !of_tokens {
            return Err(fault(call, self.too_early()));
        }
        let kind = constructor.ident.to_string();
        let Some((_, form)) = CONSTRUCTORS.iter().find(|(known, _)| kind == *known) else {
            let nearest = nearest(&kind, CONSTRUCTORS.iter().map(|(known, _)| *known));
            let finding = Finding::Unknown { kind: NameKind::Constructor, name: kind, nearest };
            return Err(Box::new((constructor.ident.span(), finding)));
        };
        if let PathArguments::AngleBracketed(arguments) = &constructor.arguments {
            if let Some((at, name)) = unknown_element(arguments) {
                return Err(Box::new((at, Finding::Syntax(SyntaxFault::ElementType { name }))));
            }
        }
        self.known_tensor(name, call, constructor).ok_or_else(|| {
            let form = format!("PerRank::{kind}::<{form}>({}, {})", self.ranks, self.route_argument());
            fault(call, SyntaxFault::FlowTensor { form })
        })
    }

    fn known_tensor(&self, name: &syn::Ident, call: &syn::ExprCall, constructor: &syn::PathSegment) -> Option<Let> {
        let PathArguments::AngleBracketed(arguments) = &constructor.arguments else { return None };
        let kind = constructor.ident.to_string();
        let (element, mut dimensions) = generic_tensor(arguments, if kind == "experts" { 2 } else { 1 })?;
        let columns = dimensions.pop()?;
        let kind = match kind.as_str() {
            "symmetric" => TensorKind::Symmetric,
            "ragged" => TensorKind::Ragged,
            "once" => TensorKind::Once,
            "slots" => TensorKind::Slots,
            "tokens" => TensorKind::Tokens,
            "experts" => TensorKind::Experts { rows: Box::new(dimensions.pop()?) },
            _ => return None,
        };
        let [ranks, of] = call.args.iter().collect::<Vec<_>>()[..] else { return None };
        let like = self.whole_tensor(of).filter(|_| matches!(kind, TensorKind::Tokens));
        let by_route = match of {
            Expr::Reference(borrowed) if self.owned => ident(&borrowed.expr),
            _ if self.owned => None,
            route => ident(route),
        };
        let by_route = by_route.filter(|_| !is_unique(of));
        let known = like.is_some() || self.made && by_route.as_deref() == Some(self.route);
        (known && name_of(ranks)? == self.ranks).then_some(())?;
        Some(Let { name: name.to_string(), kind, element, columns, like, span: name.span() })
    }

    /// The name of a tensor whose tokens a loop or another tensor may take. In a loop over chunks, there is no such tensor.
    fn whole_tensor(&self, tensor: &Expr) -> Option<String> {
        whole(tensor).filter(|name| !self.chunk && name != self.route && self.tensors.borrow().contains(name))
    }

    /// The fault of a statement that needs the route before the route is made.
    pub(super) fn too_early(&self) -> SyntaxFault {
        SyntaxFault::FlowRouteLater { ranks: self.ranks.to_owned(), route: self.route.to_owned() }
    }

    fn over(&self, expr: &Expr) -> Result<Over, FindingAt> {
        match expr {
            Expr::Path(_) if ident(expr).is_some_and(|name| name == self.ranks) => Ok(Over::Ranks),
            Expr::Paren(paren) => self.over(&paren.expr),
            Expr::Range(range) => {
                let extent = range_from_zero(range).ok_or_else(|| fault(expr, SyntaxFault::FlowRange))?;
                Ok(Over::Range { extent })
            }
            Expr::MethodCall(call) if self.whole_tensor(&call.receiver).is_some() => {
                let form = || format!("{}.token_blocks::<TOKENS>(r)", ident(&call.receiver).unwrap_or_default());
                let loop_form = || fault(call, SyntaxFault::FlowLoopForm { form: form() });
                match over_route(call) {
                    Some(Over::TokenBlocks { height, rank, .. }) => {
                        Ok(Over::TokenBlocks { height, rank, like: self.whole_tensor(&call.receiver) })
                    }
                    _ => Err(loop_form()),
                }
            }
            Expr::MethodCall(call) if !self.made && ident(&call.receiver).is_some_and(|name| name == self.route) => {
                Err(fault(call, self.too_early()))
            }
            Expr::MethodCall(call) if ident(&call.receiver).is_some_and(|name| name == self.route) => {
                let name = call.method.to_string();
                let Some((_, form)) = LOOPS.iter().find(|(known, _)| name == *known) else {
                    let nearest = nearest(&name, LOOPS.iter().map(|(known, _)| *known));
                    let finding = Finding::Unknown { kind: NameKind::Loop, name, nearest };
                    return Err(Box::new((call.method.span(), finding)));
                };
                over_route(call)
                    .ok_or_else(|| fault(call, SyntaxFault::FlowLoopForm { form: format!("{}.{form}", self.route) }))
            }
            _ => {
                let (ranks, route, chunk) = (self.ranks.to_owned(), self.route.to_owned(), self.chunk);
                Err(fault(expr, SyntaxFault::FlowLoop { ranks, route, chunk }))
            }
        }
    }

    fn call(call: &syn::ExprCall) -> Result<Stmt, FindingAt> {
        let not_a_task = || fault(&call.func, SyntaxFault::FlowCall);
        let Expr::Path(path) = &*call.func else { return Err(not_a_task()) };
        let [segment] = path.path.segments.iter().collect::<Vec<_>>()[..] else { return Err(not_a_task()) };
        let generics = match &segment.arguments {
            PathArguments::None => Vec::new(),
            PathArguments::AngleBracketed(arguments) => {
                arguments.args.iter().map(written_or_inferred).collect::<Option<_>>().ok_or_else(not_a_task)?
            }
            PathArguments::Parenthesized(_) => return Err(not_a_task()),
        };
        let arguments = call.args.iter().map(argument).collect::<Result<_, _>>()?;
        Ok(Stmt::Call {
            task: segment.ident.to_string(),
            generics,
            arguments,
            source: one_line(call),
            span: path.span(),
        })
    }
}

/// The constructors of tensors, each with its const arguments.
pub(super) const CONSTRUCTORS: [(&str, &str); 6] = [
    ("symmetric", "bf16, COLS"),
    ("ragged", "bf16, COLS"),
    ("once", "bf16, COLS"),
    ("slots", "bf16, COLS"),
    ("tokens", "bf16, COLS"),
    ("experts", "bf16, ROWS, COLS"),
];

/// The methods of the route that loops can run over, in addition to ranks and ranges.
pub(super) const LOOPS: [(&str, &str); 7] = [
    ("chunks", "chunks::<N>()"),
    ("experts", "experts()"),
    ("experts_of", "experts_of(r)"),
    ("sends", "sends::<ROWS>(r, e)"),
    ("sends_once", "sends_once::<ROWS>(r, e)"),
    ("row_tiles", "row_tiles::<ROWS>(e)"),
    ("token_blocks", "token_blocks::<TOKENS>(r)"),
];

/// The parts of `let name = PerRank::constructor…(…)`.
fn constructor_call(local: &syn::Local) -> Option<(&syn::Ident, &syn::ExprCall, &syn::PathSegment)> {
    let Pat::Ident(name) = &local.pat else { return None };
    let Expr::Call(call) = &*local.init.as_ref()?.expr else { return None };
    let Expr::Path(path) = &*call.func else { return None };
    let segments: Vec<_> = path.path.segments.iter().collect();
    let [.., per_rank, constructor] = segments.as_slice() else { return None };
    (per_rank.ident == "PerRank").then_some((&name.ident, call, constructor))
}

/// `N` of `0..N`.
fn range_from_zero(range: &syn::ExprRange) -> Option<Expr> {
    let zero = matches!(range.start.as_deref(), Some(Expr::Lit(lit))
        if matches!(&lit.lit, syn::Lit::Int(int) if int.base10_digits() == "0" && matches!(int.suffix(), "" | "usize")));
    let open = matches!(range.limits, syn::RangeLimits::HalfOpen(_));
    (zero && open).then_some((**range.end.as_ref()?).clone())
}

/// The loop over a method of the route; `None` if the method doesn't take these arguments.
fn over_route(call: &syn::ExprMethodCall) -> Option<Over> {
    let height = || {
        let arguments = &call.turbofish.as_ref()?.args;
        (arguments.len() == 1).then(|| constant_argument(&arguments[0]))?
    };
    let names: Vec<String> = call.args.iter().map(name_of).collect::<Option<_>>()?;
    match (call.method.to_string().as_str(), names.as_slice()) {
        ("chunks", []) => Some(Over::Chunks { count: height()? }),
        ("experts", []) => Some(Over::Experts),
        ("experts_of", [rank]) => Some(Over::ExpertsOf(rank.clone())),
        ("sends", [rank, expert]) => {
            Some(Over::Sends { height: height()?, rank: rank.clone(), expert: expert.clone() })
        }
        ("sends_once", [rank, expert]) => {
            Some(Over::SendsOnce { height: height()?, rank: rank.clone(), expert: expert.clone() })
        }
        ("row_tiles", [expert]) => Some(Over::RowTiles { height: height()?, expert: expert.clone() }),
        ("token_blocks", [rank]) => Some(Over::TokenBlocks { height: height()?, rank: rank.clone(), like: None }),
        _ => None,
    }
}
