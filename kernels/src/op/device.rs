//! The device code of operations.

use super::{Columns, Shape};

/// A scalar of a [`VectorCall`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    /// A fixed number.
    Is(f32),
    /// The n-th number operand, from 0.
    Given(usize),
    /// The n-th number operand, from 0, negated.
    Negated(usize),
}

impl Scalar {
    /// The value of this scalar, given the operation's number operands.
    #[must_use]
    pub fn value(self, numbers: &[f32]) -> f32 {
        match self {
            Self::Is(value) => value,
            Self::Given(number) => numbers[number],
            Self::Negated(number) => -numbers[number],
        }
    }
}

/// An operand of a [`VectorCall`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The result of the operation.
    Out,
    /// The n-th operand, from 0, not counting numbers.
    In(usize),
    /// The n-th scratch value, from 0.
    Scratch(usize),
}

/// One vector call on f32 values that covers all elements of the piece: a call of AscendC (in the form with an element
/// count) or of the device library. The string is the name in
/// the call (in [`Whole`](Self::Whole), the rounding mode); the slots and the scalar follow in the order of the call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum VectorCall {
    /// `Name(dst, a, b, count)`: Add, Sub, Mul, Div, Max, Min.
    Binary(&'static str, Slot, Slot, Slot),
    /// `Name(dst, a, scalar, count)`: Adds, Muls, Maxs, Mins.
    Scalar(&'static str, Slot, Slot, Scalar),
    /// `Name(dst, a, count)`: Exp, Ln, Sqrt, Abs, Relu.
    Unary(&'static str, Slot, Slot),
    /// `Cast(dst, a, RoundMode::mode, count)`, from f32 to whole numbers stored as f32.
    Whole(&'static str, Slot, Slot),
    /// `Duplicate(dst, scalar, count)`.
    Fill(Slot, Scalar),
    /// `hpmoe::name(dst, operands…, scratch…, count)`: an elementwise routine. The first list has its operands, the second
    /// its scratch, which it may overwrite.
    Library(&'static str, Slot, &'static [Slot], &'static [Slot]),
}

/// The direction along which a product contracts a tile: the K elements that are multiplied and added up lie along it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contracted {
    /// Along the tile's columns: the tile holds M×K, or N×K.
    Columns,
    /// Along the tile's rows: the tile holds K×M, or K×N.
    Rows,
}

/// The implementation of an operation on the device.
#[derive(Clone, Copy, Debug)]
pub enum Device {
    /// Copies a tile to UB and widens it to f32.
    Load,
    /// Copies a tile with two numbers per byte to UB, and unpacks it to a value of twice as many columns.
    Unpack,
    /// Copies a tile of codes to UB, and replaces each code by its number in the table, the second operand.
    LookUp,
    /// Rounds a value once, and copies it to its tile.
    Store,
    /// Rounds a value to another type, and keeps it on chip.
    Cast,
    /// A product on the cube. The store that follows writes it.
    Matmul {
        /// The contracted direction of the left tile.
        x: Contracted,
        /// The contracted direction of the right tile.
        w: Contracted,
        /// Whether the product is added to a value, the first operand.
        adds: bool,
    },
    /// Adds a value to the contents of its tile.
    Accumulate,
    /// A copy to another rank.
    Put,
    /// A sequence of vector calls. They run in order, with a barrier wherever a call reads the result of an earlier
    /// one.
    Vector {
        /// Number of columns of each scratch value.
        scratch: &'static [Columns],
        /// The calls, in the order in which they run. Before them, an operand that is one row or one column is broadcast to
        /// the size of the result.
        calls: &'static [VectorCall],
    },
    /// A routine of the device library.
    Routine(Routine),
    /// No code: the operations and stores that use the value spread it over their own size.
    Broadcast,
    /// Other operations, one after another. The result is that of the last one.
    Steps(&'static [Step]),
}

/// One operation of a sequence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// The name of the operation, or the sign of an operator.
    pub operation: &'static str,
    /// The operands of the operation.
    pub operands: &'static [Part],
}

/// An operand of a [`Step`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Part {
    /// The n-th operand of the whole operation, from 0, not counting numbers.
    In(usize),
    /// The result of the n-th step, from 0.
    Step(usize),
    /// The n-th number operand of the whole operation, from 0.
    Given(usize),
    /// A fixed number.
    Number(f32),
}

/// A routine, called as `hpmoe::name(out, operands…, scratch…, rows of out, columns of the first operand)`, followed by
/// the arguments of [`More`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routine {
    /// Name of the routine in `include/hpmoe/`.
    pub name: &'static str,
    /// The rule by which the sizes of the operands determine the size of the result.
    pub sizes: Sizes,
    /// Number of columns of each scratch value. A scratch value has as many rows as the result, or a single row if
    /// [`Columns::is_single`].
    pub scratch: &'static [Columns],
    /// The point at which the routine waits for earlier writes of the vector unit.
    pub waits: Waits,
}

impl Routine {
    /// The arguments after rows and columns.
    #[must_use]
    pub const fn more(&self) -> More {
        match self.sizes {
            Sizes::SumOverK | Sizes::RowsForEachToken => More::Terms,
            Sizes::Same | Sizes::OneColumn | Sizes::HalfOfColumns => More::Nothing,
            Sizes::Columns | Sizes::Picked | Sizes::Reshaped => More::Columns,
            Sizes::Slice => More::ColumnsFrom,
        }
    }
}

/// The arguments of a routine after rows and columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum More {
    /// No further arguments.
    Nothing,
    /// Rows of the first operand per row of the result.
    Terms,
    /// Columns of the result.
    Columns,
    /// Columns of the result, then the first size operand.
    ColumnsFrom,
}

/// The point at which a routine waits for earlier writes of the vector unit. Callers need no barrier before a routine that
/// waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// Never: callers place a barrier if one is needed.
    Never,
    /// At the routine's start, because its scalar code reads operands.
    First,
    /// After the routine has started to fill its scratch, and before it reads operands or writes its result.
    BehindScratch,
}

/// The sizes of a routine's operands and of its result. Each variant's text names the operands, then a colon and the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// B·K×C values and B×K weights: B×C.
    SumOverK,
    /// B·K×C values: B×C.
    RowsForEachToken,
    /// R×C values: R×C.
    Same,
    /// R×C values: R×1.
    OneColumn,
    /// R×2H values: R×H.
    HalfOfColumns,
    /// R rows of as many columns as the operand's type states: R rows of as many columns as the result's type states.
    Columns,
    /// Like `Columns`, but the result is a range of the operand's columns.
    Slice,
    /// R×C or 1×C values, and R×K ids: R×K.
    Picked,
    /// Values with as many columns as the operand's type states: the same numbers in rows of another length.
    Reshaped,
}

/// The way in which an operand is spread over the size of a result: from its own size to R×C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// 1×C to R×C.
    Row,
    /// R×1 to R×C.
    Column,
    /// 1×1 to R×C.
    Number,
}

impl Spread {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Row, Self::Column, Self::Number];

    /// The routine, called as `hpmoe::name(out, operand, rows, columns of out)`, and the point at which it waits.
    #[must_use]
    pub const fn routine(self) -> (&'static str, Waits) {
        match self {
            Self::Row => ("SpreadRow", Waits::Never),
            Self::Column => ("SpreadColumn", Waits::First),
            Self::Number => ("SpreadNumber", Waits::First),
        }
    }
}

/// The way in which `operand` is spread over `result`; `None` if both have the same size.
#[must_use]
pub const fn spread(operand: &Shape, result: &Shape) -> Option<Spread> {
    match (operand.rows != result.rows, operand.cols != result.cols) {
        (false, false) => None,
        (true, false) => Some(Spread::Row),
        (false, true) => Some(Spread::Column),
        (true, true) => Some(Spread::Number),
    }
}

/// The routine that runs these calls and broadcasts the second operand itself, without copying it, and the point at which
/// the routine waits; `None` if there is no such routine.
#[must_use]
pub fn in_one_call(calls: &[VectorCall], spread: Spread) -> Option<(&'static str, Waits)> {
    match (calls, spread) {
        ([VectorCall::Binary("Add", Slot::Out, Slot::In(0), Slot::In(1))], Spread::Row) => {
            Some(("AddRow", Waits::Never))
        }
        ([VectorCall::Binary("Mul", Slot::Out, Slot::In(0), Slot::In(1))], Spread::Row) => {
            Some(("ScaleColumns", Waits::Never))
        }
        ([VectorCall::Binary("Mul", Slot::Out, Slot::In(0), Slot::In(1))], Spread::Column) => {
            Some(("ScaleRows", Waits::First))
        }
        _ => None,
    }
}
