//! The code of operations on the device.

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
    /// The n-th scratch value, of the shape of the result.
    Scratch(usize),
}

/// One AscendC vector call in count form on f32 values, over all elements of the piece.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum VectorCall {
    /// `Name(dst, a, b, count)`: Add, Sub, Mul, Div, Max, Min.
    Binary(&'static str, Slot, Slot, Slot),
    /// `Name(dst, a, scalar, count)`: Adds, Muls, Maxs, Mins.
    Scalar(&'static str, Slot, Slot, Scalar),
    /// `Name(dst, a, count)`: Exp, Ln, Sqrt, Abs, Relu.
    Unary(&'static str, Slot, Slot),
    /// `Duplicate(dst, scalar, count)`.
    Fill(Slot, Scalar),
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
        /// Scratch values of the shape of the result.
        scratch: usize,
        /// The calls, in the order in which they run.
        calls: &'static [VectorCall],
    },
    /// A routine of the device library.
    Routine(Routine),
}

/// A routine, `hpmoe::name(out, operands…, scratch…, rows of out, columns of the first operand)`, and
/// K if it [takes terms](Self::takes_terms).
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
    /// Whether it takes several rows of its first operand for each row of its result, and is told how many.
    #[must_use]
    pub const fn takes_terms(&self) -> bool {
        matches!(self.sizes, Sizes::SumOverK | Sizes::RowsForEachToken)
    }
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
    /// R×C values and an R×1 column of numbers: R×C.
    NumberForEachRow,
    /// R×C values and a 1×C row of numbers: R×C.
    NumberForEachColumn,
    /// R×C values: R×1.
    OneColumn,
    /// R×2H values: R×H.
    HalfOfColumns,
}

/// Columns of a scratch value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Columns {
    /// Those of the result.
    OfResult,
    /// A fixed number.
    Fixed(usize),
}
