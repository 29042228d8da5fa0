//! What is wrong with the body of a task.

use hpmoe_kernels::op::OperandKind;

/// A statement of a task that the compiler can't carry out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BodyFault {
    /// Operands of other kinds than the operation takes.
    Operands {
        /// Name of the operation.
        operation: String,
        /// Kinds of the operands given.
        given: Vec<OperandKind>,
    },
    /// The result of an operation that has none.
    NoResult {
        /// Name of that operation.
        operation: String,
        /// Name of the operation that takes it.
        user: String,
    },
    /// An operation without its element type.
    ElementType {
        /// Name of the operation.
        operation: String,
    },
    /// More turns of loops than a body may have.
    Turns {
        /// The task.
        task: String,
        /// The most that are possible.
        most: usize,
    },
    /// More operations than a body may have.
    Operations {
        /// The task.
        task: String,
        /// The most that are possible.
        most: usize,
    },
    /// A tile with two writes.
    WrittenTwice {
        /// The parameter.
        param: String,
    },
    /// A write to a parameter taken by `&`.
    WrittenByRef {
        /// The parameter.
        param: String,
    },
    /// A read of a parameter taken by `&mut`.
    ReadByMut {
        /// The parameter.
        param: String,
    },
    /// A task without `&mut` parameter.
    WritesNothing {
        /// The task.
        task: String,
    },
}
