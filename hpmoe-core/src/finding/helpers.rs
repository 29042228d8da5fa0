//! Faults of helper functions and their calls.

/// A call of a helper function that the compiler can't carry out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HelperFault {
    /// The module has no function of that name.
    Unknown { name: String, nearest: Option<String> },
    /// A call of a task in the body of another one.
    Task { name: String },
    /// The function calls itself, directly or through another function.
    Recursive { name: String },
    /// A call with too few or too many arguments.
    Arity { name: String, expected: usize, given: usize },
    /// A call with too few or too many const arguments.
    Sizes { name: String, expected: usize, given: usize },
    /// A const parameter that no argument determines.
    NotInferred { name: String, size: String },
    /// A `let` with fewer or more names than the function has results.
    Results { results: usize, names: usize },
    /// A function with several results used where one value is needed.
    Several { name: String, results: usize },
    /// A tile or a number for a parameter that takes a value; `tile` says which.
    TakesValue { name: String, param: String, tile: bool },
    /// A tile or a value for a parameter that takes a number.
    TakesNumber { name: String, param: String },
    /// A value of a different size than the parameter states; rows and columns.
    Size { name: String, param: String, stated: [usize; 2], given: [usize; 2] },
    /// A result of a different size than the function states; rows and columns.
    ReturnedSize { name: String, stated: [usize; 2], made: [usize; 2] },
    /// The function returns a number but declares a value, or the reverse.
    ReturnedKind { name: String, number: bool },
    /// A value is passed to a parameter that takes a reference, or the reverse.
    Reference { name: String, param: String, by_reference: bool },
}
