//! What a tile operation tells the compiler. Each file in `ops/` holds one [`Operation`] beside its host meaning.

use std::fmt;

/// Element types of tensors and tiles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(non_camel_case_types, reason = "spelled as in user code and in AscendC")]
pub enum ElementType {
    /// 8 exponent bits, 7 fraction bits.
    bf16,
    /// IEEE single precision.
    f32,
    /// 32-bit two's complement.
    i32,
    /// 8-bit two's complement.
    i8,
}

impl ElementType {
    /// All element types.
    pub const ALL: [Self; 4] = [Self::bf16, Self::f32, Self::i32, Self::i8];

    /// The name in Rust source.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::bf16 => "bf16",
            Self::f32 => "f32",
            Self::i32 => "i32",
            Self::i8 => "i8",
        }
    }

    /// The name in AscendC.
    #[must_use]
    pub const fn ascendc(self) -> &'static str {
        match self {
            Self::bf16 => "bfloat16_t",
            Self::f32 => "float",
            Self::i32 => "int32_t",
            Self::i8 => "int8_t",
        }
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::i8 => 1,
            Self::bf16 => 2,
            Self::f32 | Self::i32 => 4,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which core, or which use of a core, a task needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Core {
    /// Matrix core: `#[aic_task]`.
    Cube,
    /// Vector core: `#[aiv_task]`.
    Vector,
    /// Vector core used for one-sided communication: `#[comm_put]`.
    Comm,
}

impl Core {
    /// The attribute that marks such a task.
    #[must_use]
    pub const fn marker(self) -> &'static str {
        match self {
            Self::Cube => "#[aic_task]",
            Self::Vector => "#[aiv_task]",
            Self::Comm => "#[comm_put]",
        }
    }
}

/// What an operand or a result is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// A tile in global memory: a task parameter.
    Tile,
    /// A value on chip.
    Value,
    /// A number that the compiler knows: an f32 literal or constant.
    Number,
    /// A size, given as a const argument: `value.fold_rows::<BLOCK>()`. It comes last.
    Size,
}

/// The type of an operand or a result: most rows and columns, as written in the source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// Tile or value.
    pub place: Place,
    /// Element type; values loaded from any float type are `f32`.
    pub element: ElementType,
    /// Most rows.
    pub rows: usize,
    /// Most columns.
    pub cols: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            Place::Tile => "Tile",
            Place::Value => "Value",
            Place::Number => return f.write_str("a number"),
            Place::Size => return write!(f, "a size of {}", self.rows),
        };
        write!(f, "{place}<{}, {}, {}>", self.element, self.rows, self.cols)
    }
}

/// Why operands don't fit an operation: `problem` says which value breaks which rule, `help` the way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// Whether shapes (false) or element types (true) disagree.
    pub types: bool,
    /// One sentence without a full stop.
    pub problem: String,
    /// What to write instead.
    pub help: String,
}

/// How an operation is spelled in a task body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// `receiver.name(arguments)`.
    Method(&'static str),
    /// `left * right`, or `-value`; the character is the operator.
    Operator(char),
}

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
    /// It begins by waiting for the vector unit, because the scalar unit reads operands.
    pub waits: bool,
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

/// Work of an operation on one piece, for the cost model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Floating-point operations on the cube.
    pub cube_flops: u64,
    /// Bytes of f32 that the vector unit passes over, reading and writing counted once.
    pub vector_bytes: u64,
    /// Bytes between global memory and the core, or between ranks for a put.
    pub moved_bytes: u64,
}

/// One tile operation: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// How it is spelled.
    pub spelling: Spelling,
    /// The cores that have it.
    pub cores: &'static [Core],
    /// What each operand must be, the receiver first.
    pub operands: &'static [Place],
    /// Number of const arguments or a type argument is not counted: `cast::<T>()` gets T in `element`.
    pub takes_element: bool,
    /// Why it can't take these numbers, where it can't. They are finite.
    pub numbers: fn(numbers: &[f32]) -> Result<(), Misfit>,
    /// The shape of the result, or why the operands don't fit. `element` is the type argument, where there is one; numbers
    /// are left out of the operands, and a size is one of that many rows. The result of a store or a put is the tile that was written.
    pub shape: fn(operands: &[Shape], element: Option<ElementType>) -> Result<Shape, Misfit>,
    /// What it becomes.
    pub device: Device,
    /// What it costs, from its operands and its result.
    pub work: fn(operands: &[Shape], result: &Shape) -> Work,
}

impl Operation {
    /// Name as the user wrote it.
    #[must_use]
    pub fn name(&self) -> String {
        match self.spelling {
            Spelling::Method(name) => name.to_owned(),
            Spelling::Operator(sign) => sign.to_string(),
        }
    }
}
