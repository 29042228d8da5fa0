//! Faults in the body of a task.

use hpmoe_kernels::op::{ElementType, OperandKind, Shape};

/// A statement of a task that the compiler can't carry out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BodyFault {
    /// Operands of different kinds than the operation takes.
    Operands { operation: String, given: Vec<OperandKind> },
    /// `user` takes the result of `operation`, which has none.
    NoResult { operation: String, user: String },
    /// An operation without its element type.
    ElementType {
        operation: String,
        /// The type that is written in its place.
        given: Option<String>,
    },
    /// A value that was moved before.
    Moved { name: String },
    /// `&name` of a name that is a reference already.
    ReferenceToReference { name: String },
    /// `&` before a literal number.
    ReferenceToNumber { number: String },
    /// A result of `operation` whose columns no use determines.
    ColumnsNotInferred { operation: String },
    /// Const arguments of an operation that contradict the number of columns given by its operands; `stated` is the
    /// number in the source.
    Columns { operation: String, stated: Vec<usize>, made: usize },
    /// A size passed as an argument to an operation that takes it as a const argument.
    SizeInParentheses { operation: String, size: String },
    /// More iterations of loops than a body may have.
    Iterations { task: String, most: usize },
    /// More operations than a body may have.
    Operations { task: String, most: usize },
    /// An assignment to a tile, or of a number to a value.
    Assigned { name: String },
    /// An assignment of a value of another size.
    Resized { name: String, before: Shape, after: Shape },
    /// An operation that needs to know how many rows and columns a broadcast value has.
    Open { operation: String },
    /// A reshape whose number of rows is neither a divisor nor a multiple of the rows of the task's tiles.
    NotByRows { operation: String, task: String, rows: usize, tile: usize },
    /// An operation of a matrix core on a result that can only be stored, or a store of a result that is not a product
    /// in L0C.
    AfterProduct { operation: String },
    /// A product of tiles of floats stored in a tile of whole numbers.
    WholeProduct { param: String, element: ElementType },
    /// A tile with two writes.
    WrittenTwice { param: String },
    /// A write to a parameter taken by `&`.
    WrittenByRef { param: String },
    /// A read of a parameter taken by `&mut`.
    ReadByMut { param: String },
    /// A task without a `&mut` parameter.
    WritesNothing { task: String },
}
