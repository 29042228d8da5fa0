//! Findings: what is wrong with a program, as data. The words are in `words.rs`.

mod errors;
mod words;

pub use errors::{Checkpoint, Errors};

use crate::plan::Overflow;
use hpmoe_kernels::op::{Misfit, TaskKind};
use proc_macro2::Span;

/// One fault in a user's program.
#[derive(Clone, Debug)]
pub enum Finding {
    /// The tokens are no Rust that a kernel module may hold.
    Syntax {
        /// What the parser says.
        problem: String,
        /// What is possible instead.
        help: String,
    },
    /// A name that nothing declares.
    Unknown {
        /// What kind of thing: `task`, `tensor`, `loop variable`, `constant`.
        what: &'static str,
        /// The name.
        name: String,
        /// The nearest name there is.
        nearest: Option<String>,
    },
    /// A kernel without one of the constants that every kernel declares.
    MissingConstant {
        /// Its name.
        name: &'static str,
    },
    /// A constant that can't be computed.
    Constant {
        /// Why.
        problem: String,
    },
    /// A number of a task, or a constant of type f32, that can't be computed.
    Number {
        /// Why, and the way out.
        problem: String,
    },
    /// A number that is too small or too large for what it is.
    OutOfRange {
        /// Which, and what is possible.
        problem: String,
    },
    /// Operands of an operation that don't fit.
    Misfit {
        /// Operation name.
        operation: String,
        /// What the operation says.
        misfit: Misfit,
    },
    /// An operation on a core that doesn't have it.
    WrongCore {
        /// Operation name.
        operation: String,
        /// The task's kind.
        kind: TaskKind,
        /// The kinds of task that have it.
        cores: &'static [TaskKind],
    },
    /// An argument whose shape is not the parameter's.
    Argument {
        /// The task.
        task: String,
        /// The parameter.
        param: String,
        /// What the parameter asks.
        expected: String,
        /// What the argument is.
        found: String,
        /// Rows, columns, element type, or mutability.
        what: &'static str,
    },
    /// A call with too few or too many arguments.
    Arity {
        /// The task.
        task: String,
        /// Parameters.
        expected: usize,
        /// Arguments.
        found: usize,
    },
    /// Loops around a call that make no iteration space.
    Loops {
        /// What is odd about them.
        problem: String,
    },
    /// An access that the executing rank can't make.
    Remote {
        /// The tensor.
        tensor: String,
        /// What is wrong.
        problem: String,
        /// The way out.
        help: String,
    },
    /// A tensor that is read although nothing has written it.
    NeverWritten {
        /// The tensor.
        tensor: String,
        /// Its declaration.
        declared: Span,
        /// A later writer, where there is one.
        later: Option<Span>,
    },
    /// Columns of a tensor that no call writes.
    PartlyWritten {
        /// The tensor.
        tensor: String,
        /// First column not written.
        from: u32,
        /// Its columns.
        columns: u32,
        /// The writer.
        writer: Span,
    },
    /// A tile that would lie outside its tensor.
    EmptyTile {
        /// The tensor.
        tensor: String,
        /// Number of the first empty tile.
        index: u32,
        /// Columns or rows of a tile.
        size: u32,
        /// Columns or rows of the tensor.
        extent: u32,
        /// `columns` or `rows`.
        what: &'static str,
        /// The index is a constant, not a range.
        fixed: bool,
    },
    /// A read inside a loop whose later iterations still write to the tensor.
    StillWritten {
        /// The tensor.
        tensor: String,
        /// The loop's variable.
        variable: String,
        /// The writer.
        writer: Span,
    },
    /// A call that reads what it writes.
    InPlace {
        /// The tensor.
        tensor: String,
    },
    /// Tiles that fit by their types and end differently.
    Uneven {
        /// The task.
        task: String,
        /// The operation that takes both.
        operation: String,
        /// Where it stands.
        at: Span,
        /// What one of them really is.
        left: String,
        /// What the other is.
        right: String,
    },
    /// A matrix whose rows lie too far apart to be copied to a matrix core.
    LongRow {
        /// The tensor.
        tensor: String,
        /// Elements from row to row.
        step: u32,
        /// Most that are possible.
        most: u32,
    },
    /// An output that nothing writes.
    OutputUnwritten {
        /// The tensor.
        tensor: String,
    },
    /// A write to what the taskflow holds by `&`.
    ReadOnly {
        /// The tensor.
        tensor: String,
        /// Its declaration.
        declared: Span,
    },
    /// Two calls, or two iterations of one call, that write the same elements in no order.
    TwoWriters {
        /// The tensor.
        tensor: String,
        /// The first writer.
        first: Span,
        /// The loop that repeats one call over the same elements, where that is the reason.
        repeats: Option<String>,
    },
    /// A write to what an earlier call reads.
    WriteAfterRead {
        /// The tensor.
        tensor: String,
        /// The reader.
        reader: Span,
    },
    /// A tile whose smallest legal piece does not fit on chip.
    Overflow {
        /// The task.
        task: String,
        /// Which memory, and who needs how much of it.
        overflow: Overflow,
    },
    /// A task without effect.
    NoEffect {
        /// The task.
        task: String,
        /// The parameter that is never written.
        param: String,
    },
    /// What the compiler can't do.
    Unsupported {
        /// What.
        problem: String,
        /// The way out.
        help: String,
    },
}

/// A finding at its place.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// What.
    pub finding: Finding,
    /// Where.
    pub at: Span,
    /// The task function it is in, so that the macro can put a stand-in for its body.
    pub function: Option<String>,
}

/// What a user reads.
#[derive(Clone, Debug)]
pub struct Words {
    /// `HP` and two digits.
    pub code: &'static str,
    /// The fault, in one sentence.
    pub message: String,
    /// The way out.
    pub help: String,
    /// Other places that belong to it, each with a sentence.
    pub also: Vec<(Span, String)>,
}
