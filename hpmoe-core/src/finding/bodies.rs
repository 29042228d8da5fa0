//! Faults in the body of a task.

use hpmoe_kernels::op::{ElementType, OperandKind, Shape};

/// A statement of a task that the compiler can't carry out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BodyFault {
    /// Operands of different kinds than the operation takes.
    Operands { operation: String, given: Vec<OperandKind> },
    /// `user` takes the result of `operation`, which has none.
    NoResult { operation: String, user: String },
    /// An operation whose type argument is missing or is not an element type of values.
    ElementType {
        operation: String,
        /// The type argument in the source; `None` if there is none.
        given: Option<String>,
    },
    /// A value that is used after it was moved.
    Moved { name: String },
    /// `&name` of a name that is a reference already.
    ReferenceToReference { name: String },
    /// `&` before a literal number.
    ReferenceToNumber { number: String },
    /// A result of `operation` whose columns no use determines.
    ColumnsNotInferred { operation: String },
    /// Const arguments of an operation that contradict the number of columns given by its operands; `sizes` are
    /// the expressions in the source, and `stated` are their values. `library` says whether the operation is in a task of the library.
    Columns { operation: String, sizes: Vec<String>, stated: Vec<usize>, made: usize, library: bool },
    /// A size passed as an argument to an operation that takes it as a const argument.
    SizeInParentheses { operation: String, size: String },
    /// More iterations of loops than a body may have.
    Iterations { task: String, most: usize },
    /// More operations than a body may have.
    Operations { task: String, most: usize },
    /// An assignment to a tile, of a number to a value, or of a value to a number.
    Assigned { name: String },
    /// An assignment to a value that would change its size.
    Resized { name: String, before: Shape, after: Shape },
    /// An operation on a broadcast value that has no other value to take its size from.
    Open { operation: String },
    /// A reshape whose operand or result has a number of rows that is not a multiple of `tile`, the rows of the task's smallest tile with
    /// more than one row.
    NotByRows { operation: String, task: String, rows: usize, tile: usize },
    /// An operation of a matrix task on a result that is not a product. The store computes operations such as `relu`, so only the store can
    /// follow them.
    AfterProduct { operation: String },
    /// A product of tiles of floats that is stored in a tile of whole numbers.
    WholeProduct { param: String, element: ElementType },
    /// A tile that is written twice.
    WrittenTwice { param: String },
    /// A write to a parameter taken by `&`.
    WrittenByRef { param: String },
    /// A read of a parameter taken by `&mut`.
    ReadByMut { param: String },
    /// A task without a `&mut` parameter.
    WritesNothing { task: String },
}
