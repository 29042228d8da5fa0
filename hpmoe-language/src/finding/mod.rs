//! Findings: what is wrong with a program, as data: one variant for each fault. Their words are in `words`, by stage.

mod bodies;
mod calls;
mod errors;
mod numbers;
mod syntax;
mod words;

pub use bodies::BodyFault;
pub use calls::{CallFault, ChunkFault, Loops, Remote, SendKind};
pub use errors::{Checkpoint, Errors};
pub use numbers::{ConstantFault, NumberFault, RangeFault};
pub use syntax::{NotPlain, Syntax};

use crate::plan::Overflow;
use hpmoe_kernels::op::{Misfit, TaskKind};
use proc_macro2::Span;

/// One fault in a user's program.
#[derive(Clone, PartialEq, Debug)]
pub enum Finding {
    /// A part of the module that has another form than the language knows.
    Syntax(Syntax),
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
    Constant(ConstantFault),
    /// A number of a task, or a constant of type f32, that can't be computed.
    Number(NumberFault),
    /// A number that is too small or too large for what it is.
    OutOfRange(RangeFault),
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
    Loops(Loops),
    /// An access that the executing rank can't make.
    Remote {
        /// The tensor.
        tensor: String,
        /// Why.
        fault: Remote,
    },
    /// A tensor that is read although nothing has written it.
    NeverWritten {
        /// The tensor.
        tensor: String,
        /// Its declaration.
        declared: Site,
        /// A later writer, where there is one.
        later: Option<Site>,
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
        writer: Site,
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
        writer: Site,
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
        at: Site,
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
        declared: Site,
    },
    /// Two calls, or two iterations of one call, that write the same elements in no order.
    TwoWriters {
        /// The tensor.
        tensor: String,
        /// The first writer.
        first: Site,
        /// The loop that repeats one call over the same elements, where that is the reason.
        repeats: Option<String>,
    },
    /// A write to what an earlier call reads.
    WriteAfterRead {
        /// The tensor.
        tensor: String,
        /// The reader.
        reader: Site,
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
    /// A call or a declaration that the compiler can't carry out.
    Call(CallFault),
    /// A body of a task that the compiler can't carry out.
    Body(BodyFault),
    /// What a loop over chunks can't have.
    Chunk(ChunkFault),
}

/// A place in the source. Places are equal where they cover the same text.
#[derive(Clone, Copy, Debug)]
pub struct Site(pub Span);

impl PartialEq for Site {
    fn eq(&self, other: &Self) -> bool {
        (self.0.start(), self.0.end()) == (other.0.start(), other.0.end())
    }
}

impl From<Span> for Site {
    fn from(span: Span) -> Self {
        Self(span)
    }
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
