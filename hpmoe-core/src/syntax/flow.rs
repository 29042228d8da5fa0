//! Taskflows as written: `let` tensors, loops, task calls.

use super::tasks::{constant_argument, generic_tensor, tensor_type};
use crate::finding::{Errors, Finding};
use hpmoe_kernels::op::ElementType;
use proc_macro2::Span;
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{Expr, FnArg, GenericArgument, ItemFn, Pat, PathArguments, Type};

/// What a tensor of a taskflow is.
#[derive(Clone, Debug)]
pub enum TensorKind {
    /// `Tensor<T, C>`: a row per token.
    Tokens,
    /// `Experts<T, N, K>`: N rows for each expert.
    Experts {
        /// N.
        rows: Expr,
    },
    /// `PerRank::symmetric`: a row per token received, in reach of peers.
    Symmetric,
    /// `PerRank::ragged`: a row per token received.
    Ragged,
    /// `PerRank::slots`: a row per (token, k), in reach of peers.
    Slots,
}

/// A tensor parameter.
#[derive(Clone, Debug)]
pub struct FlowParam {
    /// Name.
    pub name: String,
    /// `&mut`.
    pub write: bool,
    /// Kind.
    pub kind: TensorKind,
    /// Element type.
    pub element: ElementType,
    /// Columns.
    pub columns: Expr,
    /// Where it stands.
    pub span: Span,
}

/// A `let` tensor.
#[derive(Clone, Debug)]
pub struct Let {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: TensorKind,
    /// Element type.
    pub element: ElementType,
    /// Columns.
    pub columns: Expr,
    /// Where the name stands.
    pub span: Span,
}

/// What a loop runs over.
#[derive(Clone, Debug)]
pub enum Over {
    /// `ep`.
    Ranks,
    /// `route.experts()`.
    Experts,
    /// `route.experts_of(rank)`.
    ExpertsOf(String),
    /// `route.sends::<HEIGHT>(rank, expert)`.
    Sends {
        /// Most rows.
        height: Expr,
        /// Sender.
        rank: String,
        /// Expert.
        expert: String,
    },
    /// `route.row_tiles::<HEIGHT>(expert)`.
    RowTiles {
        /// Most rows.
        height: Expr,
        /// Expert.
        expert: String,
    },
    /// `route.token_blocks::<HEIGHT>(rank)`.
    TokenBlocks {
        /// Most tokens.
        height: Expr,
        /// Rank.
        rank: String,
    },
    /// `0..extent`.
    Range {
        /// One behind the last.
        extent: Expr,
    },
}

/// Which rank's part of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rank {
    /// `[rank]`.
    Variable(String),
    /// `[expert.owner()]`.
    Owner(String),
}

/// One step from a tensor to a tile.
#[derive(Clone, Debug)]
pub enum Accessor {
    /// `.gather(&send)`.
    Gather(String),
    /// `.rows_of(&send)`.
    RowsOf(String),
    /// `.scatter(&send)`.
    Scatter(String),
    /// `.group(expert, row_tile)`.
    Group(String, String),
    /// `.slots(block)`.
    Slots(String),
    /// `.rows(block)`.
    Rows(String),
    /// `.expert(expert)`.
    Expert(String),
    /// `.tile(index)`.
    Tile(Expr),
    /// `.cols(index)`.
    Cols(Expr),
}

/// `&tensor[rank].accessor()…`.
#[derive(Clone, Debug)]
pub struct Argument {
    /// `&mut`.
    pub write: bool,
    /// Tensor name.
    pub tensor: String,
    /// Whose part.
    pub rank: Rank,
    /// What follows.
    pub accessors: Vec<(Accessor, Span)>,
    /// Where that name stands.
    pub span: Span,
}

/// A statement of a taskflow.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// A tensor.
    Let(Let),
    /// A loop.
    For {
        /// Loop variable.
        variable: String,
        /// Where it stands.
        span: Span,
        /// What it runs over.
        over: Over,
        /// Statements.
        body: Vec<Stmt>,
    },
    /// A task call.
    Call {
        /// Task name.
        task: String,
        /// Const arguments, where written.
        generics: Vec<Expr>,
        /// Tiles.
        arguments: Vec<Argument>,
        /// The call as written, on one line.
        source: String,
        /// Where it stands.
        span: Span,
    },
}

/// A taskflow function.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Name.
    pub name: String,
    /// Name of the `Ranks` parameter.
    pub ranks: String,
    /// Name of the `&Route` parameter.
    pub route: String,
    /// Tensor parameters.
    pub params: Vec<FlowParam>,
    /// Statements.
    pub body: Vec<Stmt>,
    /// The name.
    pub span: Span,
}

impl Flow {
    /// Reads a function; `None` when its signature can't be understood.
    pub fn parse(function: &ItemFn, errors: &mut Errors) -> Option<Self> {
        let before = errors.len();
        if !function.sig.generics.params.is_empty() {
            errors.push(
                function.sig.generics.span(),
                Finding::Syntax {
                    problem: "a taskflow has no generic parameters".into(),
                    help: "use constants of the module".into(),
                },
            );
        }
        let (mut ranks, mut route, mut params) = (None, None, Vec::new());
        for input in &function.sig.inputs {
            match flow_param(input) {
                Some(Input::Ranks(name)) => ranks = Some(name),
                Some(Input::Route(name)) => route = Some(name),
                Some(Input::Tensor(param)) => params.push(param),
                None => errors.push(
                    input.span(),
                    Finding::Syntax {
                        problem: "a taskflow takes `Ranks`, `&Route` and tensors".into(),
                        help: "write `name: &PerRank<Tensor<bf16, COLS>>`, `&PerRank<Experts<bf16, ROWS, COLS>>`, or \
                           `&mut` for what it writes"
                            .into(),
                    },
                ),
            }
        }
        let (Some(ranks), Some(route)) = (ranks, route) else {
            errors.push(
                function.sig.ident.span(),
                Finding::Syntax {
                    problem: "a taskflow takes `ep: Ranks` and `route: &Route`".into(),
                    help: "add both parameters, in this order, before the tensors".into(),
                },
            );
            return None;
        };
        let reader = Reader { ranks: &ranks, route: &route };
        let body = reader.statements(&function.block.stmts, errors);
        (errors.len() == before).then(|| Self {
            name: function.sig.ident.to_string(),
            ranks: ranks.clone(),
            route: route.clone(),
            params,
            body,
            span: function.sig.ident.span(),
        })
    }
}

enum Input {
    Ranks(String),
    Route(String),
    Tensor(FlowParam),
}

fn flow_param(input: &FnArg) -> Option<Input> {
    let FnArg::Typed(typed) = input else { return None };
    let Pat::Ident(name) = &*typed.pat else { return None };
    let last_is = |ty: &Type, wanted: &str| matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == wanted));
    if last_is(&typed.ty, "Ranks") {
        return Some(Input::Ranks(name.ident.to_string()));
    }
    let Type::Reference(reference) = &*typed.ty else { return None };
    if last_is(&reference.elem, "Route") {
        return Some(Input::Route(name.ident.to_string()));
    }
    let Type::Path(path) = &*reference.elem else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "PerRank")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let Some(GenericArgument::Type(inner)) = arguments.args.first() else { return None };
    let (kind, element, columns) = if let Some((element, dimensions)) = tensor_type(inner, "Tensor", 1) {
        (TensorKind::Tokens, element, dimensions.into_iter().next()?)
    } else {
        let (element, dimensions) = tensor_type(inner, "Experts", 2)?;
        let [rows, columns] = <[Expr; 2]>::try_from(dimensions).ok()?;
        (TensorKind::Experts { rows }, element, columns)
    };
    Some(Input::Tensor(FlowParam {
        name: name.ident.to_string(),
        write: reference.mutability.is_some(),
        kind,
        element,
        columns,
        span: name.ident.span(),
    }))
}

/// Reads statements; knows what the ranks and the route are called.
struct Reader<'a> {
    ranks: &'a str,
    route: &'a str,
}

impl Reader<'_> {
    fn statements(&self, statements: &[syn::Stmt], errors: &mut Errors) -> Vec<Stmt> {
        let mut read = Vec::new();
        for statement in statements {
            match self.statement(statement, errors) {
                Ok(statement) => read.push(statement),
                Err(Some(fault)) => errors.push(fault.0, fault.1),
                Err(None) => {}
            }
        }
        read
    }

    fn statement(&self, statement: &syn::Stmt, errors: &mut Errors) -> Result<Stmt, Option<Fault>> {
        match statement {
            syn::Stmt::Local(local) => self.tensor(local).map(Stmt::Let).ok_or_else(|| {
                fault(local, "a `let` in a taskflow makes a tensor", &format!(
                    "write `let name = PerRank::symmetric::<bf16, COLS>({}, {});`, `PerRank::ragged` or `PerRank::slots`",
                    self.ranks, self.route
                ))
            }),
            syn::Stmt::Expr(Expr::ForLoop(each), _) => {
                let Pat::Ident(variable) = &*each.pat else {
                    return Err(fault(&each.pat, "a loop in a taskflow has one variable", "name it"));
                };
                let over = self.over(&each.expr).ok_or_else(|| {
                    fault(&each.expr, "a taskflow can't loop over this", &format!(
                        "loop over `{ranks}`, `{route}.experts()`, `{route}.experts_of(r)`, `{route}.sends::<N>(r, e)`, \
                         `{route}.row_tiles::<N>(e)`, `{route}.token_blocks::<N>(r)` or `0..N`",
                        ranks = self.ranks,
                        route = self.route
                    ))
                })?;
                Ok(Stmt::For {
                    variable: variable.ident.to_string(),
                    span: variable.ident.span(),
                    over,
                    body: self.statements(&each.body.stmts, errors),
                })
            }
            syn::Stmt::Expr(Expr::Call(call), _) => Self::call(call),
            syn::Stmt::Expr(Expr::If(branch), _) => Err(fault(
                branch,
                "a taskflow has no `if`: its order is fixed when it is built",
                "let the route decide how many rows there are, and constants decide the rest",
            )),
            other => Err(fault(
                other,
                "a taskflow holds `let` tensors, loops and task calls",
                "move this out of the taskflow",
            )),
        }
    }

    fn tensor(&self, local: &syn::Local) -> Option<Let> {
        let Pat::Ident(name) = &local.pat else { return None };
        let Expr::Call(call) = &*local.init.as_ref()?.expr else { return None };
        let Expr::Path(path) = &*call.func else { return None };
        let segments: Vec<_> = path.path.segments.iter().collect();
        let [.., per_rank, constructor] = segments.as_slice() else { return None };
        if per_rank.ident != "PerRank" {
            return None;
        }
        let kind = match constructor.ident.to_string().as_str() {
            "symmetric" => TensorKind::Symmetric,
            "ragged" => TensorKind::Ragged,
            "slots" => TensorKind::Slots,
            _ => return None,
        };
        let PathArguments::AngleBracketed(arguments) = &constructor.arguments else { return None };
        let (element, dimensions) = generic_tensor(arguments, 1)?;
        let given: Vec<_> = call.args.iter().map(ident).collect::<Option<_>>()?;
        (given == [self.ranks, self.route]).then_some(())?;
        Some(Let {
            name: name.ident.to_string(),
            kind,
            element,
            columns: dimensions.into_iter().next()?,
            span: name.ident.span(),
        })
    }

    fn over(&self, expr: &Expr) -> Option<Over> {
        match expr {
            Expr::Path(_) => (ident(expr)? == self.ranks).then_some(Over::Ranks),
            Expr::Range(range) => {
                let zero = matches!(range.start.as_deref(), Some(Expr::Lit(lit))
                    if matches!(&lit.lit, syn::Lit::Int(int) if int.base10_digits() == "0"));
                let open = matches!(range.limits, syn::RangeLimits::HalfOpen(_));
                (zero && open).then_some(Over::Range { extent: (**range.end.as_ref()?).clone() })
            }
            Expr::MethodCall(call) => {
                if ident(&call.receiver)? != self.route {
                    return None;
                }
                let height = || {
                    let arguments = &call.turbofish.as_ref()?.args;
                    (arguments.len() == 1).then(|| constant_argument(&arguments[0]))?
                };
                let names: Vec<String> = call.args.iter().map(ident).collect::<Option<_>>()?;
                match (call.method.to_string().as_str(), names.as_slice()) {
                    ("experts", []) => Some(Over::Experts),
                    ("experts_of", [rank]) => Some(Over::ExpertsOf(rank.clone())),
                    ("sends", [rank, expert]) => {
                        Some(Over::Sends { height: height()?, rank: rank.clone(), expert: expert.clone() })
                    }
                    ("row_tiles", [expert]) => Some(Over::RowTiles { height: height()?, expert: expert.clone() }),
                    ("token_blocks", [rank]) => Some(Over::TokenBlocks { height: height()?, rank: rank.clone() }),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn call(call: &syn::ExprCall) -> Result<Stmt, Option<Fault>> {
        let not_a_task = || fault(&call.func, "a taskflow calls tasks of its module", "call a task by its name");
        let Expr::Path(path) = &*call.func else { return Err(not_a_task()) };
        let [segment] = path.path.segments.iter().collect::<Vec<_>>()[..] else { return Err(not_a_task()) };
        let generics = match &segment.arguments {
            PathArguments::None => Vec::new(),
            PathArguments::AngleBracketed(arguments) => {
                arguments.args.iter().map(constant_argument).collect::<Option<_>>().ok_or_else(not_a_task)?
            }
            PathArguments::Parenthesized(_) => return Err(not_a_task()),
        };
        let arguments = call.args.iter().map(argument).collect::<Result<_, _>>().map_err(Some)?;
        Ok(Stmt::Call {
            task: segment.ident.to_string(),
            generics,
            arguments,
            source: one_line(call),
            span: path.span(),
        })
    }
}

type Fault = (Span, Finding);

fn fault(at: &impl syn::spanned::Spanned, problem: &str, help: &str) -> Option<Fault> {
    Some((at.span(), Finding::Syntax { problem: problem.to_owned(), help: help.to_owned() }))
}

fn ident(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        Expr::Reference(reference) => ident(&reference.expr),
        Expr::Paren(paren) => ident(&paren.expr),
        Expr::Group(group) => ident(&group.expr),
        _ => None,
    }
}

fn argument(expr: &Expr) -> Result<Argument, Fault> {
    let bad = || {
        (
            expr.span(),
            Finding::Syntax {
                problem: "an argument is a tile of a tensor".into(),
                help: "write `&tensor[rank].group(e, m)`, or `&mut` for what the task writes; see the tile accessors"
                    .into(),
            },
        )
    };
    let Expr::Reference(reference) = expr else { return Err(bad()) };
    let mut accessors = Vec::new();
    let mut inner = &*reference.expr;
    while let Expr::MethodCall(call) = inner {
        accessors.push((accessor(call).ok_or_else(bad)?, call.method.span()));
        inner = &call.receiver;
    }
    accessors.reverse();
    let Expr::Index(index) = inner else { return Err(bad()) };
    let rank = match &*index.index {
        Expr::MethodCall(call) if call.method == "owner" && call.args.is_empty() => {
            Rank::Owner(ident(&call.receiver).ok_or_else(bad)?)
        }
        other => Rank::Variable(ident(other).ok_or_else(bad)?),
    };
    Ok(Argument {
        write: reference.mutability.is_some(),
        tensor: ident(&index.expr).ok_or_else(bad)?,
        rank,
        accessors,
        span: index.expr.span(),
    })
}

fn accessor(call: &syn::ExprMethodCall) -> Option<Accessor> {
    let arguments: Vec<_> = call.args.iter().collect();
    Some(match (call.method.to_string().as_str(), arguments.as_slice()) {
        ("gather", [send]) => Accessor::Gather(ident(send)?),
        ("rows_of", [send]) => Accessor::RowsOf(ident(send)?),
        ("scatter", [send]) => Accessor::Scatter(ident(send)?),
        ("group", [expert, tile]) => Accessor::Group(ident(expert)?, ident(tile)?),
        ("slots", [block]) => Accessor::Slots(ident(block)?),
        ("rows", [block]) => Accessor::Rows(ident(block)?),
        ("expert", [expert]) => Accessor::Expert(ident(expert)?),
        ("tile", [index]) => Accessor::Tile((*index).clone()),
        ("cols", [index]) => Accessor::Cols((*index).clone()),
        _ => return None,
    })
}

/// The call on one line, spaced as a person writes it.
fn one_line(call: &syn::ExprCall) -> String {
    let mut text = call.to_token_stream().to_string();
    for (from, to) in [
        (" . ", "."),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" [", "["),
        ("[ ", "["),
        (" ]", "]"),
        (" ,", ","),
        ("& ", "&"),
        (" :: ", "::"),
        ("< ", "<"),
        (" <", "<"),
        (" >", ">"),
        (",)", ")"),
    ] {
        text = text.replace(from, to);
    }
    text
}
