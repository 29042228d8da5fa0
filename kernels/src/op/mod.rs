//! The description of a tile operation that the compiler reads. Each file in `ops/` holds one [`Operation`] next to its
//! meaning on the host.

mod device;
mod host;
mod scratch;

pub use device::{
    Contracted, Device, More, Part, Routine, Scalar, Sizes, Slot, Spread, Step, VectorCall, Waits, in_one_call, spread,
};
pub use host::{AnyTile, AnyValue, Given, Host, MOST};
pub use scratch::{Columns, Of};

use std::fmt;

/// An element type of tensors and tiles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(non_camel_case_types, reason = "spelled as in user code and in AscendC")]
pub enum ElementType {
    /// 8 exponent bits, 7 fraction bits.
    bf16,
    /// IEEE half precision: 5 exponent bits, 10 fraction bits.
    f16,
    /// IEEE single precision.
    f32,
    /// 32-bit two's complement.
    i32,
    /// 8-bit two's complement.
    i8,
    /// Two numbers of 4 bits in two's complement, in one byte: the first of two columns in its lower half.
    i4x2,
}

impl ElementType {
    /// All element types.
    pub const ALL: [Self; 6] = [Self::bf16, Self::f16, Self::f32, Self::i32, Self::i8, Self::i4x2];

    /// The name in Rust source.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::bf16 => "bf16",
            Self::f16 => "f16",
            Self::f32 => "f32",
            Self::i32 => "i32",
            Self::i8 => "i8",
            Self::i4x2 => "i4x2",
        }
    }

    /// The name in AscendC of what is copied.
    #[must_use]
    pub const fn ascendc(self) -> &'static str {
        match self {
            Self::bf16 => "bfloat16_t",
            Self::f16 => "half",
            Self::f32 => "float",
            Self::i32 => "int32_t",
            Self::i8 | Self::i4x2 => "int8_t",
        }
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::i8 | Self::i4x2 => 1,
            Self::bf16 | Self::f16 => 2,
            Self::f32 | Self::i32 => 4,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kind of core that a task needs, or its use of that core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TaskKind {
    /// Matrix core: `#[aic_task]`.
    Matrix,
    /// Vector core: `#[aiv_task]`.
    Vector,
    /// Vector core used for one-sided communication: `#[comm_put]`.
    Put,
}

impl TaskKind {
    /// The attribute that marks such a task.
    #[must_use]
    pub const fn marker(self) -> &'static str {
        match self {
            Self::Matrix => "#[aic_task]",
            Self::Vector => "#[aiv_task]",
            Self::Put => "#[comm_put]",
        }
    }
}

/// The kind of an operand or a result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperandKind {
    /// A tile in global memory: a task parameter.
    Tile,
    /// A value on chip.
    Value,
    /// A number that the compiler knows: an f32 literal or constant.
    Number,
    /// A size, given as a const argument: `value.fold_rows::<BLOCK>()`. It comes last.
    Size,
    /// A size, given as an argument: `value.columns::<WIDTH>(n * WIDTH)`.
    Index,
}

/// The type of an operand or a result: most rows and columns, as written in the source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// Its kind: tile, value, number or size.
    pub kind: OperandKind,
    /// Element type; values loaded from any float type are `f32`.
    pub element: ElementType,
    /// Most rows, as the type states them.
    pub rows: usize,
    /// Most columns, as the type states them.
    pub cols: usize,
}

impl Shape {
    /// Whether a value has the size of another, or is one row or one column for all of it.
    #[must_use]
    pub const fn spreads_over(&self, other: &Self) -> bool {
        (self.rows == other.rows || self.rows == 1) && (self.cols == other.cols || self.cols == 1)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            OperandKind::Tile => "Tile",
            OperandKind::Value => "Value",
            OperandKind::Number => return f.write_str("a number"),
            OperandKind::Size | OperandKind::Index => return write!(f, "a size of {}", self.rows),
        };
        write!(f, "{kind}<{}, {}, {}>", self.element, self.rows, self.cols)
    }
}

/// A reason why operands don't fit an operation: `problem` says which value breaks which rule, `help` gives the way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// Whether shapes (false) or element types (true) disagree.
    pub types: bool,
    /// One sentence without a full stop.
    pub problem: String,
    /// What to write instead.
    pub help: String,
}

/// The spelling of an operation in a task body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// A method: `receiver.name(arguments)`.
    Method(&'static str),
    /// `left * right`, or `-value`; the character is the operator.
    Operator(char),
}

/// One tile operation: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its spelling in a task body.
    pub spelling: Spelling,
    /// The kinds of task that may call it.
    pub cores: &'static [TaskKind],
    /// The kind of each operand, the receiver first.
    pub operands: &'static [OperandKind],
    /// Whether the call takes a type argument, as `cast::<T>()` does; `shape` gets it as `element`.
    pub takes_element: bool,
    /// Checks the numbers among the operands, which are finite.
    pub numbers: fn(numbers: &[f32]) -> Result<(), Misfit>,
    /// Computes the shape of the result, or says why the operands don't fit. `element` is the type argument, if the call
    /// has one. Numbers are left out of `operands`; a size is a shape with that many rows. The result of a store or a put is
    /// the tile that was written.
    pub shape: fn(operands: &[Shape], element: Option<ElementType>) -> Result<Shape, Misfit>,
    /// Its meaning on the host.
    pub host: Host,
    /// Its code on the device.
    pub device: Device,
}

impl Operation {
    /// Whether the user writes this name, or this sign.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        match self.spelling {
            Spelling::Method(method) => method == name,
            Spelling::Operator(sign) => name.chars().eq([sign]),
        }
    }

    /// The name as the user writes it.
    #[must_use]
    pub fn name(&self) -> String {
        match self.spelling {
            Spelling::Method(name) => name.to_owned(),
            Spelling::Operator(sign) => sign.to_string(),
        }
    }
}
