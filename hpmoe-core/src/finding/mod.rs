//! Findings: the faults of a program, as data, one variant per kind of fault. Two findings at the same place are the same fault if they are
//! equal. Their messages are in `words`, in one file per kind of fault.

mod bodies;
mod calls;
mod capacity;
mod chunks;
mod diagnostic;
mod errors;
mod external;
mod forms;
mod helpers;
mod numbers;
mod routes;
mod site;
mod sizes;
mod syntax;
mod words;

pub(crate) use bodies::BodyFault;
pub(crate) use calls::{ArgumentFault, CallFault, LoopFault, RemoteFault, RowsFault, SendOfRows};
pub(crate) use capacity::{Content, Overflow, Piece};
pub(crate) use chunks::ChunkFault;
pub use diagnostic::{Diagnostic, Words};
pub(crate) use errors::{Errors, FindingAt};
pub(crate) use external::ExternalFault;
pub(crate) use forms::BodyForm;
pub(crate) use helpers::HelperFault;
pub(crate) use numbers::{ConstantFault, LoopSize, NumberFault, RangeFault};
pub(crate) use routes::RouteFault;
pub(crate) use site::Site;
pub(crate) use sizes::{RealOperand, RealSize};
pub(crate) use syntax::{ArgumentForm, NotPlain, PartFault, SyntaxFault};

use hpmoe_kernels::op::{Misfit, TaskKind};
use std::ops::Range;

/// One fault of a user's program.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Finding {
    /// A part of the module whose form the language doesn't know.
    Syntax(SyntaxFault),
    /// A name that nothing declares.
    Unknown {
        kind: NameKind,
        name: String,
        /// The most similar name, if one is similar enough.
        nearest: Option<String>,
    },
    /// A kernel without one of the constants that every kernel declares.
    MissingConstant { name: &'static str },
    /// A `usize` constant that can't be computed.
    Constant(ConstantFault),
    /// A number of a task, or a constant of type f32, that can't be computed.
    Number(NumberFault),
    /// A number outside its allowed range.
    OutOfRange(RangeFault),
    /// Operands whose shapes or types don't fit their operation.
    Misfit(Misfit),
    /// An operation in a task whose cores don't have it; `cores` are the kinds of task that do.
    WrongCore {
        operation: String,
        kind: TaskKind,
        cores: &'static [TaskKind],
        /// The kind of task that has all operations of the body, if there is one.
        whole: Option<TaskKind>,
    },
    /// An argument that differs from its parameter.
    Argument { task: String, param: String, fault: ArgumentFault },
    /// A call with too few or too many arguments.
    Arity { task: String, expected: usize, given: usize },
    /// Loops around a call that make no iteration space.
    Loops(LoopFault),
    /// A tensor that the executing rank can't access.
    Remote { tensor: String, fault: RemoteFault },
    /// A tensor that is read and never written.
    NeverWritten { tensor: String, declared: Site },
    /// A tensor that is read before its first writer.
    ReadTooEarly { tensor: String, writer: Site },
    /// Columns of a tensor, or rows of a matrix, that are read and that no call writes.
    PartlyWritten { tensor: String, along: Dimension, missing: Range<u32>, writer: Site },
    /// A tile that would lie outside of its tensor.
    EmptyTile {
        tensor: String,
        /// Number of the first empty tile.
        index: u32,
        /// Rows or columns of a tile.
        size: u32,
        /// Rows or columns of the tensor, or of the outer tile, that the tile is cut from.
        extent: u32,
        /// Whether the tile is cut from an outer tile.
        inside: bool,
        along: Dimension,
        /// Whether a constant gives the index, rather than a range.
        fixed: bool,
    },
    /// A read inside of a loop whose later iterations still write to the tensor.
    StillWritten { tensor: String, variable: String, writer: Site },
    /// A call that reads elements it also writes.
    InPlace { tensor: String },
    /// Tiles that fit by their types, but differ in their sizes at run time; `at` is the operation that takes both.
    Uneven { task: String, operation: String, at: Site, left: RealOperand, right: RealOperand },
    /// A matrix whose rows lie too far apart to be copied to a matrix core; `step` and `most` count elements.
    LongRow { tensor: String, step: u32, most: u32 },
    /// A `&mut` parameter of the taskflow that no call writes.
    OutputUnwritten { tensor: String },
    /// A write to a tensor that the taskflow takes by `&`.
    ReadOnly { tensor: String, declared: Site },
    /// Two calls that write the same elements in no order, or one call that writes the same elements through two arguments.
    TwoWriters { tensor: String, first: Option<Site> },
    /// A call whose iterations over `variable` write the same elements.
    WrittenByEach { tensor: String, variable: String },
    /// A call for each row tile or send of an expert that writes the expert's one matrix.
    WrittenByItems { tensor: String },
    /// A write to elements that an earlier call reads.
    WriteAfterRead { tensor: String, reader: Site },
    /// A task whose smallest legal piece does not fit a memory of its core.
    Overflow { task: String, overflow: Overflow },
    /// A `&mut` parameter that its task never writes.
    NoEffect {
        task: String,
        param: String,
        /// The form of the item that is written instead of a store, if there is one.
        instead: Option<NotAStore>,
    },
    /// A call or a declaration that the compiler can't carry out.
    Call(CallFault),
    /// A statement of a task that the compiler can't carry out.
    Body(BodyFault),
    /// A call of a helper function that the compiler can't carry out.
    Helper(HelperFault),
    /// A wrong argument of a task's attribute about its external operator.
    External(ExternalFault),
    /// Something that a loop over chunks can't have.
    Chunk(ChunkFault),
    /// A route that a kernel can't make.
    Route(RouteFault),
}

/// An item of a task that is written instead of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotAStore {
    /// `let h = value;`
    Let,
    /// `value;`
    Statement,
}

/// The kind of item that a name refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameKind {
    Constant,
    Task,
    Taskflow,
    LibraryTask,
    LibraryTaskflow,
    Tensor,
    LoopVariable,
    Value,
    Operation,
    /// A constructor of `PerRank`.
    Constructor,
    /// A method of the route that a loop runs over.
    Loop,
    /// A method that leads from a tensor to a tile.
    Accessor,
}

/// A dimension of a tensor or a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dimension {
    Rows,
    Columns,
}
