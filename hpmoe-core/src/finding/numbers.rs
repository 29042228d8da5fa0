//! Faults of constants, numbers and sizes.

/// A `usize` constant that can't be computed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ConstantFault {
    /// A constant that depends on itself.
    Circular { name: String },
    /// The constant is left open (`= _`), and the build has no value for it.
    Open { name: String },
    /// The constant is left open, but is not a tile size.
    OpenButNoTileSize { name: String },
    /// A build setting of a `usize` constant that is an f32.
    SetToNumber { name: String, value: f32 },
    /// A build setting of an f32 constant that is not finite.
    SetNotFinite { name: String, value: f32 },
    /// A step of its computation leaves the range of `usize`; `values` are those of its operands.
    Overflow { operator: &'static str, values: [usize; 2] },
    /// A literal that doesn't fit `usize`, with the parser's reason.
    Literal { reason: String },
    /// A size of a type that is computed from a const parameter.
    OfParameter { parameter: String },
    /// A literal of a different type than `usize`.
    Suffix { suffix: String },
    /// A literal that is not a whole number.
    NotWhole,
    /// A block of several statements.
    NotOneExpression,
    /// A path that does not lead to a constant of the module.
    OtherModule { path: String },
    /// The name of an f32 constant.
    IsNumber { name: String },
    /// The name of a constant of a different type than usize.
    OfType { name: String, ty: String },
    /// A number below zero.
    Negative,
    /// An operator that the compiler doesn't compute in constants.
    Operator { sign: String },
    /// `/`, `%` or `div_ceil` by an expression whose value is 0.
    DivisionByZero { operator: &'static str, divisor: String },
    /// A method that the compiler doesn't compute in constants.
    Method { name: String },
    /// Any other expression.
    NotComputable,
}

/// A number of a task, or an f32 constant, that can't be computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NumberFault {
    /// A path to another module.
    OtherModule,
    /// The name of a `usize` constant, used as an f32.
    IsSize { name: String },
    /// The name of a constant that is neither a usize nor an f32.
    OfType { name: String, ty: String },
    /// A literal that is not a number.
    Literal,
    /// A whole number, used as an f32.
    Whole { digits: String },
    /// A literal with a suffix of another type than f32.
    OtherType { digits: String, suffix: String },
    /// Digits that are not an f32.
    NotF32 { digits: String },
    /// An expression or a literal that is not finite.
    NotFinite { expression: String },
    /// An operation that needs a value, but has only numbers.
    NeedsValue { operation: String },
    /// An operator that the compiler doesn't compute in numbers.
    Operator,
    /// `as` a different type than f32.
    Cast { ty: String },
    /// Any other expression.
    NotComputable,
}

/// A number that is too small or too large for what it counts; `most` is the largest that is possible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RangeFault {
    /// A size in a loop's head. In this and the next variants, `size` is the expression in the source.
    Loop { size: String, value: usize, counts: LoopSize, most: usize },
    /// The columns of a tensor.
    TensorColumns { tensor: String, size: String, value: usize, most: usize },
    /// The rows of a matrix, or of an expert's matrix.
    TensorRows { tensor: String, size: String, value: usize, most: usize },
    /// The maximum numbers of rows and columns of a tile. `sizes` are the expressions of those that are out of range.
    Tile { param: String, rows: usize, cols: usize, sizes: Vec<String>, most: usize },
    /// A constant of every kernel that is 0.
    Zero { name: &'static str },
    /// More experts for a token than there are; `most` is the largest number of experts.
    TopK { top_k: usize, experts: usize, most: usize },
    /// More experts than descriptors can name.
    Experts { experts: usize, most: usize },
    /// More places for experts than descriptors can name.
    Spare { spare: usize, most: usize },
    /// A value of `CHUNKS_AT_MOST` that is neither 0 nor a power of two up to `most`.
    Chosen { value: usize, most: usize },
    /// More (token, k) than 32 bits can number.
    Tokens { tokens: usize, top_k: usize },
}

/// The quantity that the size in a loop's head states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LoopSize {
    Chunks,
    RowsOfSend,
    RowsOfRowTile,
    TokensOfBlock,
    Iterations,
}
