//! Sizes at run time, which differ from the sizes in types if a tensor ends inside a tile; for findings about operands whose sizes at run
//! time don't fit.

/// A number of rows or columns at run time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RealSize {
    /// The number of rows of the row tile, piece or block.
    Item,
    /// The `TOP_K` slots of each token of the block.
    Slots,
    /// This number for each of the item's rows.
    Parts(u64),
    /// A number that is equal in all iterations.
    Fixed(u64),
    /// The remainder of the tensor, for each iteration of a range.
    Tail { range: String, sizes: Vec<u64> },
}

/// An operand of an operation, with its size at run time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RealOperand {
    Rows(RealSize),
    Columns(RealSize),
    /// A value with these numbers of rows and columns.
    Value {
        rows: RealSize,
        columns: RealSize,
    },
    /// The weights of a sum over k.
    Weights {
        rows: RealSize,
        columns: RealSize,
    },
    /// Rows of a block of tokens.
    Tokens(usize),
    /// A requirement of an operation: an even number of columns, taken as pairs.
    ColumnPairs,
    /// A requirement of an operation: all columns that a type states.
    AllColumns(u64),
    /// Ids for each row of a value.
    Ids(RealSize),
    /// A requirement of an operation: rows in groups of this many.
    Together(u64),
}
