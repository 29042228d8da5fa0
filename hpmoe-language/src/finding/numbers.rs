//! What is wrong with constants, numbers and sizes.

/// A `usize` constant that can't be computed.
#[derive(Clone, PartialEq, Debug)]
pub enum ConstantFault {
    /// Its value needs itself.
    Circular {
        /// Name of the constant.
        name: String,
    },
    /// A build sets it to an f32.
    SetToNumber {
        /// Name of the constant.
        name: String,
        /// What the build sets it to.
        value: f32,
    },
    /// A step of its computation leaves the range of `usize`.
    Overflow {
        /// The operator of that step.
        operator: &'static str,
    },
    /// A literal that doesn't fit `usize`.
    Literal {
        /// What the parser says.
        reason: String,
    },
    /// A literal of another type.
    NotWhole,
    /// A block of several statements.
    NotOneExpression,
    /// A path to another module.
    OtherModule,
    /// The name of an f32 constant.
    IsNumber {
        /// Name of that constant.
        name: String,
    },
    /// An operator that is not computed.
    Operator,
    /// `div_ceil(0)`.
    DivisionByZero,
    /// A method that is not computed.
    Method {
        /// Name of the method.
        name: String,
    },
    /// Any other expression.
    NotComputable,
}

/// A number of a task, or an f32 constant, that can't be computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NumberFault {
    /// A path to another module.
    OtherModule,
    /// The name of a size.
    IsSize {
        /// Name of the size.
        name: String,
    },
    /// A literal that is not a number.
    Literal,
    /// A whole number.
    Whole {
        /// Its digits.
        digits: String,
    },
    /// A literal of another type.
    OtherType {
        /// Its digits.
        digits: String,
        /// Its type.
        suffix: String,
    },
    /// Digits that are not an f32.
    NotF32 {
        /// The digits.
        digits: String,
    },
    /// A result that is not finite.
    NotFinite {
        /// The expression, or the literal.
        expression: String,
    },
    /// An operation that needs a value, with numbers alone.
    NeedsValue {
        /// Name of the operation.
        operation: String,
    },
    /// An operator that is not computed.
    Operator,
    /// Any other expression.
    NotComputable,
}

/// A number that is too small or too large for what it counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RangeFault {
    /// The size in a loop's head.
    Loop {
        /// The value.
        value: usize,
        /// What it counts: `rows of a send`.
        what: &'static str,
        /// The largest that is possible.
        most: usize,
    },
    /// A size of a tensor.
    Tensor {
        /// Name of the tensor.
        tensor: String,
        /// The value.
        value: usize,
        /// What it counts: `columns`, `rows`.
        what: &'static str,
        /// The largest that is possible.
        most: usize,
    },
    /// The sizes of a tile.
    Tile {
        /// Name of the parameter.
        param: String,
        /// Most rows.
        rows: usize,
        /// Most columns.
        cols: usize,
        /// The largest that is possible.
        most: usize,
    },
    /// A constant of every kernel that is 0.
    Zero {
        /// Name of the constant.
        name: &'static str,
    },
    /// More experts for a token than there are.
    TopK {
        /// Value of `TOP_K`.
        top_k: usize,
        /// Value of `EXPERTS`.
        experts: usize,
    },
    /// More experts than descriptors can name.
    Experts {
        /// Value of `EXPERTS`.
        experts: usize,
        /// The largest that is possible.
        most: usize,
    },
    /// More (token, k) than 32 bits can number.
    Tokens {
        /// Value of `TOKENS`.
        tokens: usize,
        /// Value of `TOP_K`.
        top_k: usize,
    },
}
