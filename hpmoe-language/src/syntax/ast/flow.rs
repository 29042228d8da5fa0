//! Taskflows as written: `let` tensors, loops, task calls.

use hpmoe_kernels::op::ElementType;
use proc_macro2::Span;
use syn::Expr;

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
