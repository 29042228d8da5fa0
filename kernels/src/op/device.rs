//! The code of operations on the device.

use super::{Columns, Shape};

/// A scalar of a [`VectorCall`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    /// A fixed number.
    Is(f32),
    /// The n-th number among the operands.
    Given(usize),
    /// The n-th number among the operands, negated.
    Negated(usize),
}

impl Scalar {
    /// The value for these numbers among the operands.
    #[must_use]
    pub fn of(self, numbers: &[f32]) -> f32 {
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
    /// The value that the operation makes.
    Out,
    /// The n-th operand; numbers are not counted.
    In(usize),
    /// The n-th scratch value.
    Scratch(usize),
}

/// One vector call on f32 values, over all elements of the piece: in the count form of AscendC, or of the device library.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum VectorCall {
    /// `Name(dst, a, b, count)`: Add, Sub, Mul, Div, Max, Min.
    Binary(&'static str, Slot, Slot, Slot),
    /// `Name(dst, a, scalar, count)`: Adds, Muls, Maxs, Mins.
    Scalar(&'static str, Slot, Slot, Scalar),
    /// `Name(dst, a, count)`: Exp, Ln, Sqrt, Abs, Relu.
    Unary(&'static str, Slot, Slot),
    /// `Cast(dst, a, RoundMode::mode, count)`, from f32 to whole numbers that are f32.
    Whole(&'static str, Slot, Slot),
    /// `Duplicate(dst, scalar, count)`.
    Fill(Slot, Scalar),
    /// `hpmoe::name(dst, operands…, scratch…, count)`: a routine that treats each element alike. It may overwrite its scratch,
    /// the last slots.
    Library(&'static str, Slot, &'static [Slot], &'static [Slot]),
}

/// The direction of a tile that a product contracts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contracted {
    /// Along its columns: the tile holds M×K, or N×K.
    Columns,
    /// Along its rows: the tile holds K×M, or K×N.
    Rows,
}

/// The code of an operation on the device.
#[derive(Clone, Copy, Debug)]
pub enum Device {
    /// Copies a tile to UB and widens it to f32.
    Load,
    /// Copies a tile of two numbers in a byte to UB, and makes a value of twice as many columns of it.
    Unpack,
    /// Copies a tile of codes to UB, and takes the number of each from a table, the second operand.
    LookUp,
    /// Rounds a value once and copies it to its tile.
    Store,
    /// Rounds a value to another type and keeps it on chip.
    Cast,
    /// A product on the cube, written by the store that follows.
    Matmul {
        /// The contracted direction of the left tile.
        x: Contracted,
        /// The contracted direction of the right tile.
        w: Contracted,
        /// Whether the product is added to a value, the first operand.
        adds: bool,
    },
    /// Adds a value to what its tile holds.
    Accumulate,
    /// A copy to another rank.
    Put,
    /// A sequence of vector calls, which run in order, with a barrier wherever one reads what another wrote.
    Vector {
        /// Columns of each scratch value.
        scratch: &'static [Columns],
        /// The calls, in the order in which they run. An operand that is one row or one column for all of the result is spread
        /// over its size before.
        calls: &'static [VectorCall],
    },
    /// A routine of the device library.
    Routine(Routine),
    /// None: operations and stores that take the value spread it over their size.
    Broadcast,
    /// Other operations, one after the other: the result is that of the last one.
    Steps(&'static [Step]),
}

/// One operation of several.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// The name of the operation, or the sign of an operator.
    pub operation: &'static str,
    /// What the operation of the step is given.
    pub operands: &'static [Part],
}

/// An operand of a [`Step`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Part {
    /// The n-th operand; numbers are not counted.
    In(usize),
    /// The result of the n-th step.
    Step(usize),
    /// The n-th number among the operands.
    Given(usize),
    /// A fixed number.
    Number(f32),
}

/// A routine, `hpmoe::name(out, operands…, scratch…, rows of out, columns of the first operand)`, and [`More`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routine {
    /// Name in `include/hpmoe/`.
    pub name: &'static str,
    /// The relation of its operands' sizes to the size of its result.
    pub sizes: Sizes,
    /// Columns of each scratch value, which has the rows of the result.
    pub scratch: &'static [Columns],
    /// The point at which it waits for earlier writes of the vector unit.
    pub waits: Waits,
}

impl Routine {
    /// Its arguments after rows and columns.
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
    /// The rows of the first operand for each row of the result.
    Terms,
    /// The columns of the result.
    Columns,
    /// The columns of the result, and the first size among the operands.
    ColumnsFrom,
}

/// The point at which a routine waits for earlier writes of the vector unit. Callers need no barrier before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// At none: its callers place a barrier if one is needed.
    Never,
    /// Before anything else, because the scalar unit reads operands.
    First,
    /// After it has begun to fill its scratch, before it reads operands or writes its result.
    BehindScratch,
}

/// The sizes of a routine's operands and of its result.
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
    /// Values of R rows with all of the columns that their types state: R rows of as many columns as the result's type states.
    Columns,
    /// The same, with columns of the operand from one on.
    Slice,
    /// R×C or 1×C values, and R×K ids: R×K.
    Picked,
    /// R×C values with all of the columns that their type states: as many numbers in other rows.
    Reshaped,
}

/// How an operand is spread over the size of a result.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Row, Self::Column, Self::Number];

    /// The routine, `hpmoe::name(out, operand, rows, columns of out)`, and where it waits.
    #[must_use]
    pub const fn routine(self) -> (&'static str, Waits) {
        match self {
            Self::Row => ("SpreadRow", Waits::Never),
            Self::Column => ("SpreadColumn", Waits::First),
            Self::Number => ("SpreadNumber", Waits::First),
        }
    }
}

/// How an operand is spread, if it has fewer rows or columns than the result.
#[must_use]
pub const fn spread(operand: &Shape, result: &Shape) -> Option<Spread> {
    match (operand.rows != result.rows, operand.cols != result.cols) {
        (false, false) => None,
        (true, false) => Some(Spread::Row),
        (false, true) => Some(Spread::Column),
        (true, true) => Some(Spread::Number),
    }
}

/// The routine that executes these calls with a second operand that is spread, without a spread copy of it.
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
