//! Faults in a task's attribute about its external operator.

/// A wrong argument of a task's attribute.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ExternalFault {
    /// An argument in the wrong form; `form` is the right one.
    Form { form: String },
    /// An argument about an external operator, without the argument `external` that names the operator's file.
    NoFile { attribute: String, argument: String },
    /// An argument that is given twice.
    Twice { argument: String },
    /// A text that is not a path relative to the package.
    Path { path: String },
    /// A text that is not the name of a C++ function.
    Function { name: String },
    /// A tolerance or a time that is not more than zero.
    NotPositive { argument: &'static str, value: f32 },
}
