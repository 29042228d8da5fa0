//! Taskflows as written: `let` tensors, loops, task calls.

use hpmoe_kernels::op::ElementType;
use proc_macro2::Span;
use syn::Expr;

/// The constructor or type with which a tensor of a taskflow is declared: in a `let`, or as a parameter.
#[derive(Clone)]
pub(crate) enum TensorKind {
    /// `PerRank::tokens`, or `Tensor<T, C>`: a row per token.
    Tokens,
    /// `Experts<T, N, K>`: N rows for each expert.
    Experts { rows: Box<Expr> },
    /// `Matrix<T, N, K>`: N rows.
    Matrix { rows: Box<Expr> },
    /// `PerRank::symmetric`: a row per token received, in the symmetric heap.
    Symmetric,
    /// `PerRank::ragged`, or `Received<T, C>`: a row per token received.
    Ragged,
    /// `PerRank::once`, or `Once<T, C>`: one row per received token, even if several experts of the rank receive the token; in the
    /// symmetric heap.
    Once,
    /// `PerRank::slots`, or `Slots<T, C>`: a row per (token, k), in the symmetric heap.
    Slots,
    /// `Routed`: the words of a route that a launch keeps for another one.
    Routed,
}

impl TensorKind {
    /// The sizes that the type of a tensor states: its rows, if they are a constant, and its columns.
    pub(crate) fn sizes(&self, columns: &Expr) -> Vec<Expr> {
        match self {
            Self::Experts { rows } | Self::Matrix { rows } => vec![(**rows).clone(), columns.clone()],
            _ => vec![columns.clone()],
        }
    }

    /// The type of a tensor without its sizes, such as `Received<bf16, ..>`.
    pub(crate) fn type_text(&self, element: ElementType) -> String {
        let name = match self {
            Self::Tokens => "Tensor",
            Self::Experts { .. } => "Experts",
            Self::Matrix { .. } => "Matrix",
            Self::Symmetric | Self::Ragged => "Received",
            Self::Once => "Once",
            Self::Slots => "Slots",
            Self::Routed => return "Routed".to_owned(),
        };
        format!("{name}<{}, ..>", element.name())
    }
}

/// A tensor parameter of a taskflow.
#[derive(Clone)]
pub(crate) struct FlowParam {
    pub(crate) name: String,
    /// Whether the parameter is taken by `&mut`.
    pub(crate) write: bool,
    pub(crate) kind: TensorKind,
    pub(crate) element: ElementType,
    pub(crate) columns: Expr,
    pub(crate) span: Span,
}

/// A tensor that a taskflow creates.
#[derive(Clone)]
pub(crate) struct Let {
    pub(crate) name: String,
    pub(crate) kind: TensorKind,
    pub(crate) element: ElementType,
    pub(crate) columns: Expr,
    /// The tensor whose tokens this tensor has, too; `None` if the route determines the rows.
    pub(crate) like: Option<String>,
    pub(crate) span: Span,
}

/// The range of a loop. `N` is the type of a number in its head: an expression as written, then its value.
#[derive(Clone)]
pub(crate) enum Over<N = Expr> {
    /// `ep`.
    Ranks,
    /// `route.chunks::<COUNT>()`: the variable is the route of the loops inside.
    Chunks { count: N },
    /// `route.experts()`.
    Experts,
    /// `route.experts_of(rank)`.
    ExpertsOf(String),
    /// `route.sends::<HEIGHT>(rank, expert)`: the pieces that the rank sends.
    Sends { height: N, rank: String, expert: String },
    /// `route.sends_once::<HEIGHT>(rank, expert)`.
    SendsOnce { height: N, rank: String, expert: String },
    /// `route.row_tiles::<HEIGHT>(expert)`.
    RowTiles { height: N, expert: String },
    /// `route.token_blocks::<HEIGHT>(rank)`, or the token blocks of a tensor: `x.token_blocks::<HEIGHT>(rank)`.
    TokenBlocks { height: N, rank: String, like: Option<String> },
    /// `0..extent`.
    Range { extent: N },
}

/// The rank in the brackets after a tensor: the one whose part of the tensor is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Rank {
    /// `[rank]`.
    Variable(String),
    /// `[expert.owner()]`.
    Owner(String),
}

/// One step from a tensor to a tile.
#[derive(Clone)]
pub(crate) enum Accessor {
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
    /// `.slots(block)`, or `.slots::<ROWS, _>(block)`.
    Slots { block: String, rows: Option<Expr> },
    /// `.rows(block)`.
    Rows(String),
    /// `.expert(expert)`.
    Expert(String),
    /// `.tile(index)`, or `.tile::<ROWS>(index)`.
    Tile { rows: Option<Expr>, index: Expr },
    /// `.cols(index)`, or `.cols::<COLUMNS>(index)`.
    Cols { columns: Option<Expr>, index: Expr },
}

impl Accessor {
    /// The method's name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Gather(_) | Self::GatherTile(..) => "gather",
            Self::RowsOf(_) => "rows_of",
            Self::Scatter(_) => "scatter",
            Self::Group(..) => "group",
            Self::Slots { .. } => "slots",
            Self::Rows(_) => "rows",
            Self::Expert(_) => "expert",
            Self::Tile { .. } => "tile",
            Self::Cols { .. } => "cols",
        }
    }

    /// The loop variables that choose the rows of this accessor.
    pub(crate) fn variables(&self) -> Vec<&String> {
        match self {
            Self::Gather(one)
            | Self::RowsOf(one)
            | Self::Scatter(one)
            | Self::Slots { block: one, .. }
            | Self::Rows(one)
            | Self::Expert(one) => vec![one],
            Self::GatherTile(expert, tile) | Self::Group(expert, tile) => vec![expert, tile],
            Self::Tile { .. } | Self::Cols { .. } => Vec::new(),
        }
    }
}

/// `&tensor[rank].accessor()…`.
#[derive(Clone)]
pub(crate) struct Argument {
    /// Whether the argument is passed by `&mut`.
    pub(crate) write: bool,
    pub(crate) tensor: String,
    pub(crate) rank: Rank,
    pub(crate) accessors: Vec<(Accessor, Span)>,
    pub(crate) span: Span,
}

/// A statement of a taskflow.
#[derive(Clone)]
pub(crate) enum Stmt {
    Let(Let),
    For {
        variable: String,
        span: Span,
        over: Over,
        body: Vec<Stmt>,
    },
    Call {
        task: String,
        /// The const arguments, if the call writes them.
        generics: Vec<Expr>,
        arguments: Vec<Argument>,
        /// The call as written, on one line.
        source: String,
        span: Span,
    },
}

/// The kind of a taskflow's parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// `ep: Ranks`.
    Ranks,
    /// `route: &Route`.
    Route,
    /// A tensor; the number is its index in [`Flow::params`].
    Tensor(usize),
}

/// The route that a taskflow makes: `let route = Route::of::<EXPERTS>(ep, ids);`.
#[derive(Clone)]
pub(crate) struct MadeRoute {
    /// The number of statements of the body before it, including those of called taskflows.
    pub(crate) after: usize,
    /// Name of the tensor of ids, or of a kept route.
    pub(crate) ids: String,
    /// Whether the tensor is passed as `&ids`.
    pub(crate) by_reference: bool,
    /// The tensor in which `route.keep(routed);` keeps the route for another launch.
    pub(crate) keeps: Option<(String, Span)>,
    /// The number of experts.
    pub(crate) experts: Expr,
    /// The number of groups if routing is group-limited: `.in_groups::<GROUPS>()`.
    pub(crate) groups: Option<Expr>,
    /// The statement as written, on one line.
    pub(crate) source: String,
    pub(crate) span: Span,
}

/// A taskflow function. The statements of taskflows that it calls replace the calls.
#[derive(Clone)]
pub(crate) struct Flow {
    pub(crate) name: String,
    /// The names of its const parameters, which calls give values. Only a taskflow that others call has any.
    pub(crate) generics: Vec<String>,
    /// All parameters, in order of declaration.
    pub(crate) roles: Vec<Role>,
    /// The parameters that are tensors.
    pub(crate) params: Vec<FlowParam>,
    /// The route that a statement of the taskflow makes; `None` if the route is a parameter.
    pub(crate) route: Option<MadeRoute>,
    pub(crate) body: Vec<Stmt>,
    pub(crate) span: Span,
}
