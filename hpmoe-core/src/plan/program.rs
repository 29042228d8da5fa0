//! The body of a vector task as a sequence of vector calls on buffers.

use crate::ids::{Arena, Id};
use hpmoe_kernels::op::{ElementType, More, Spread, Waits};

/// A buffer of a vector task, by its number in the [`VectorProgram`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BufferId(pub u32);

impl Id for BufferId {
    fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("a body has fewer than 2^32 values"))
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// The contents of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Rows loaded from the parameter with this number. The buffer has two stages.
    Input(usize),
    /// Rows to be stored to the parameter with this number. The buffer has two stages.
    Output(usize),
    /// A value of the body, or scratch.
    Value,
}

/// The number of columns of a buffer at run time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Width {
    /// A fixed number of columns in every tile.
    Fixed(u32),
    /// The columns of a parameter, which are a multiple of `parts`, divided by `parts`.
    Of {
        /// Number of the parameter whose columns are counted.
        param: usize,
        /// The divisor: 1, or a power of two if operations halve the columns.
        parts: u32,
    },
}

/// A buffer in UB, for one piece of a vector task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// The name in the generated code, unique in the program.
    pub name: String,
    /// The contents: a stage of a tile, or a value.
    pub holds: Holds,
    /// The type of each element.
    pub element: ElementType,
    /// Number of buffer rows for one row of a piece: 1, or `TOP_K` if the buffer's rows are slots and those of a piece are tokens.
    pub rows: u32,
    /// Whether the buffer has a single row, even if a piece has several.
    pub single: bool,
    /// The maximum number of columns.
    pub cols: u32,
    /// The number of columns at run time.
    pub width: Width,
}

/// The instruction of a vector call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Instruction {
    /// Converts the type of the read buffer to f32, exactly.
    Widen,
    /// Converts f32 to the type of the written buffer, rounding to nearest, ties to even.
    Narrow,
    /// Copies f32 without a conversion.
    Copy,
    /// The vector instruction with this name, on two operands: `Name(dst, a, b, count)`.
    Binary(&'static str),
    /// The vector instruction with this name, on an operand and this number: `Name(dst, a, scalar, count)`.
    Scalar(&'static str, f32),
    /// The vector instruction with this name, on one operand: `Name(dst, a, count)`.
    Unary(&'static str),
    /// Rounds f32 to whole numbers in f32, in the mode with this name: `Cast(dst, a, RoundMode::mode, count)`.
    Whole(&'static str),
    /// Sets all elements to this number: `Duplicate(dst, scalar, count)`.
    Fill(f32),
    /// The function of the device library with this name: `hpmoe::name(dst, operands…, scratch…, count)`.
    Library(&'static str),
    /// Broadcasts one row or one column to the size of the result.
    Spread(Spread),
    /// A routine of the device library; its scratch follows its operands.
    Routine {
        /// Name of the routine in the device library.
        name: &'static str,
        /// The point at which the routine waits for the vector unit.
        waits: Waits,
        /// The arguments after rows and columns.
        more: More,
        /// The first size operand that the routine takes; 0 if it takes none.
        size: u32,
        /// Whether the rows of the routine's first operand are slots. The routine's last argument is then the ids of these slots, so that
        /// it leaves out empty ones.
        slots: bool,
    },
}

/// One vector call of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The instruction that the call executes.
    pub instruction: Instruction,
    /// The buffer that the call writes.
    pub to: BufferId,
    /// The buffers that the call reads, in the order of the operands.
    pub from: Vec<BufferId>,
    /// Other buffers that the call overwrites.
    pub scratch: Vec<BufferId>,
    /// Number of the body's step that the call belongs to.
    pub step: usize,
}

impl Call {
    /// Whether the device library has a routine for the call, which stays out of line and takes addresses in UB.
    pub(crate) fn is_routine(&self) -> bool {
        matches!(
            self.instruction,
            Instruction::Routine { .. } | Instruction::Copy | Instruction::Library(_) | Instruction::Spread(_)
        )
    }
}

/// The body of a vector task as vector calls.
#[derive(Clone, PartialEq, Debug)]
pub struct VectorProgram {
    /// The buffers, in order of first use.
    pub buffers: Arena<BufferId, Buffer>,
    /// The calls, in the order of execution.
    pub calls: Vec<Call>,
    /// Maximum number of rows of a piece: the number of rows of the parameter that has the fewest. Parameters whose one row is for all rows
    /// of a piece don't count; 1 if there are no others.
    pub rows: u32,
    /// Number of a parameter with `rows` rows, preferably one that is written. Pieces are counted in rows of this parameter.
    pub leader: usize,
}

impl VectorProgram {
    /// Whether a call takes the ids of slots.
    #[must_use]
    pub fn takes_ids(&self) -> bool {
        self.calls.iter().any(|call| matches!(call.instruction, Instruction::Routine { slots: true, .. }))
    }
}
