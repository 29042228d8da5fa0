//! The body of a vector task as a sequence of vector calls on buffers.

use super::flatten::flatten;
use crate::graph::Task;
use crate::ids::{Arena, Id};
use hpmoe_kernels::op::{ElementType, Waits};

/// A buffer of a program.
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

/// What a buffer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Rows of the parameter with that number on their way in, in two stages.
    Input(usize),
    /// Rows of that parameter on their way out, in two stages.
    Output(usize),
    /// A value or scratch.
    Value,
}

/// How many columns there are at run time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Width {
    /// One.
    One,
    /// As many as a parameter has, divided by a number that they are a multiple of.
    Of {
        /// Number of the parameter.
        param: usize,
        /// The divisor.
        parts: u32,
    },
}

/// A place in UB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// Its name in the generated code.
    pub name: String,
    /// What it holds.
    pub holds: Holds,
    /// Element type.
    pub element: ElementType,
    /// Rows of it for one row of a piece.
    pub rows: u32,
    /// It is one row, whatever rows a piece has.
    pub single: bool,
    /// Most columns.
    pub cols: u32,
    /// Columns at run time.
    pub width: Width,
}

/// What a call does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Instruction {
    /// To f32, exactly.
    Widen,
    /// From f32, to nearest, ties to even.
    Narrow,
    /// Bits as they are.
    Copy,
    /// `Name(dst, a, b, count)`.
    Binary(&'static str),
    /// `Name(dst, a, scalar, count)`.
    Scalar(&'static str, f32),
    /// `Name(dst, a, count)`.
    Unary(&'static str),
    /// `Duplicate(dst, scalar, count)`.
    Fill(f32),
    /// A routine of the device library; its scratch follows its operands.
    Routine {
        /// Its name.
        name: &'static str,
        /// Where it waits for the vector unit.
        waits: Waits,
        /// It takes the rows of its first operand for each row that it makes.
        terms: bool,
    },
}

/// One call.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// What it does.
    pub instruction: Instruction,
    /// The buffer that it writes.
    pub to: BufferId,
    /// The buffers that it reads.
    pub from: Vec<BufferId>,
    /// Buffers that a routine overwrites besides.
    pub scratch: Vec<BufferId>,
    /// Number of the step that it belongs to.
    pub step: usize,
}

/// A vector task's body.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// Buffers in order of first use.
    pub buffers: Arena<BufferId, Buffer>,
    /// Calls in order.
    pub calls: Vec<Call>,
    /// Rows of the task's smallest parameter: a piece is so many of them or fewer.
    pub rows: u32,
    /// A parameter with as many rows, written where there is one that is.
    pub leader: usize,
}

impl Program {
    /// Flattens a body.
    #[must_use]
    pub fn new(task: &Task) -> Self {
        flatten(task)
    }
}
