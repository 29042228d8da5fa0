//! What operations become on the device.

/// A scalar of a [`VectorCall`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    /// This one.
    Is(f32),
    /// The n-th number among the operands.
    Given(usize),
    /// That number with the other sign.
    Negated(usize),
}

impl Scalar {
    /// Its value, where these numbers are among the operands.
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
    /// The result.
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

/// Which way of a tile the sums of a product run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contracted {
    /// Along its columns: the tile holds M×K, or N×K.
    Columns,
    /// Along its rows: the tile holds K×M, or K×N.
    Rows,
}

/// What an operation becomes on the device.
#[derive(Clone, Copy, Debug)]
pub enum Device {
    /// A tile is copied to UB and widened to f32.
    Load,
    /// A value is rounded once and copied to its tile.
    Store,
    /// A value is rounded to another type and stays on chip.
    Cast,
    /// A product on the cube, written by the store that follows.
    Matmul {
        /// Which way of the left tile is contracted.
        x: Contracted,
        /// Which way of the right tile is contracted.
        w: Contracted,
        /// Whether the first operand is a value that the product is added to.
        adds: bool,
    },
    /// A value is added to what its tile holds.
    Accumulate,
    /// A copy to another rank.
    Put,
    /// A sequence of vector calls. They run in order, with a barrier wherever one reads what another wrote.
    Vector {
        /// Scratch values of the shape of the result.
        scratch: usize,
        /// The calls.
        calls: &'static [VectorCall],
    },
    /// A routine of the device library.
    Routine(Routine),
}

/// A routine, `hpmoe::name(out, operands…, scratch…, rows of out, columns of the first operand)`, and for
/// [`Sizes::SumOverK`] K.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routine {
    /// Name in `include/hpmoe/`.
    pub name: &'static str,
    /// How many rows and columns there really are.
    pub sizes: Sizes,
    /// Columns of each scratch value, which has the rows of the result.
    pub scratch: &'static [Columns],
    /// Where it waits for what the vector unit wrote before.
    pub waits: Waits,
}

/// Where a routine waits for what the vector unit wrote before: there callers need no barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// Nowhere.
    Never,
    /// Before anything else, because the scalar unit reads operands.
    First,
    /// When it has begun to fill its scratch, before it reads operands or writes its result.
    BehindScratch,
}

/// What a routine takes together, and the size of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// B·K rows and B×K weights: B rows.
    SumOverK,
    /// B·K rows: B of them.
    RowsForEachToken,
    /// Rows, and a column with a number for each: as many rows and columns.
    NumberForEachRow,
    /// Rows, and one row, whatever there are rows, with a number for each column: as many rows and columns.
    NumberForEachColumn,
    /// Rows: as many of one column.
    OneColumn,
    /// An even number of columns: half of them.
    HalfOfColumns,
}

/// Columns of a scratch value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Columns {
    /// Those of the result.
    OfResult,
    /// So many.
    Fixed(usize),
}
