//! Taskflows as written: `let` tensors, loops, task calls.

use super::statements::Reader;
use super::tasks::{plain_function, tensor_type};
use crate::finding::{Errors, Finding, Syntax};
use hpmoe_kernels::op::ElementType;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Expr, FnArg, GenericArgument, ItemFn, Pat, PathArguments, Type};

/// What a tensor of a taskflow is.
#[derive(Clone, Debug)]
pub enum TensorKind {
    /// `PerRank::tokens`, or `Tensor<T, C>`: a row per token.
    Tokens,
    /// `Experts<T, N, K>`: N rows for each expert.
    Experts {
        /// N.
        rows: Box<Expr>,
    },
    /// `Matrix<T, N, K>`: N rows.
    Matrix {
        /// N.
        rows: Box<Expr>,
    },
    /// `PerRank::symmetric`: a row per token received, in reach of peers.
    Symmetric,
    /// `PerRank::ragged`, or `Received<T, C>`: a row per token received.
    Ragged,
    /// `PerRank::once`, or `Once<T, C>`: a row per token received, however many experts of the rank it goes to; in reach of peers.
    Once,
    /// `PerRank::slots`, or `Slots<T, C>`: a row per (token, k), in reach of peers.
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
    /// `route.chunks::<COUNT>()`: the variable is the route of the loops inside.
    Chunks {
        /// How many.
        count: Expr,
    },
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
    /// `route.sends_once::<HEIGHT>(rank, expert)`.
    SendsOnce {
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
    /// `0..rows`.
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
    /// `.gather(expert, row_tile)`.
    GatherTile(String, String),
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
        plain_function(&function.sig, errors);
        if !function.sig.generics.params.is_empty() {
            errors.push(function.sig.generics.span(), Finding::Syntax(Syntax::FlowGeneric));
        }
        let (mut ranks, mut route, mut params) = (None, None, Vec::new());
        for input in &function.sig.inputs {
            match flow_param(input) {
                Some(Input::Ranks(name)) if ranks.is_none() => ranks = Some(name),
                Some(Input::Route(name)) if route.is_none() => route = Some(name),
                Some(Input::Tensor(param)) => params.push(*param),
                Some(Input::Ranks(_) | Input::Route(_)) => {
                    errors.push(input.span(), Finding::Syntax(Syntax::FlowSecondRoute));
                    // Which of them the body means is anybody's guess.
                    return None;
                }
                None => errors.push(input.span(), Finding::Syntax(Syntax::FlowParameter)),
            }
        }
        let (Some(ranks), Some(route)) = (ranks, route) else {
            errors.push(function.sig.ident.span(), Finding::Syntax(Syntax::FlowWithoutRoute));
            return None;
        };
        let reader = Reader { ranks: &ranks, route: &route, chunk: false };
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
    Tensor(Box<FlowParam>),
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
    let by_rows = [
        ("Tensor", TensorKind::Tokens),
        ("Received", TensorKind::Ragged),
        ("Once", TensorKind::Once),
        ("Slots", TensorKind::Slots),
    ];
    let of_rows = by_rows.into_iter().find_map(|(name, kind)| Some((kind, tensor_type(inner, name, 1)?)));
    let (kind, element, columns) = match of_rows {
        Some((kind, (element, columns))) => (kind, element, columns.into_iter().next()?),
        None => {
            let experts = tensor_type(inner, "Experts", 2);
            let of_experts = experts.is_some();
            let (element, dimensions) = experts.or_else(|| tensor_type(inner, "Matrix", 2))?;
            let [rows, columns] = <[Expr; 2]>::try_from(dimensions).ok()?;
            let rows = Box::new(rows);
            let kind = if of_experts { TensorKind::Experts { rows } } else { TensorKind::Matrix { rows } };
            (kind, element, columns)
        }
    };
    Some(Input::Tensor(Box::new(FlowParam {
        name: name.ident.to_string(),
        write: reference.mutability.is_some(),
        kind,
        element,
        columns,
        span: name.ident.span(),
    })))
}
