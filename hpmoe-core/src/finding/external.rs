//! Faults in a task's attribute about its external operator.

/// An argument of a task's attribute that can't be.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ExternalFault {
    /// An argument in the wrong form; `form` is the right one.
    Form { form: String },
    /// An argument without a file that it is about.
    NoFile { attribute: String, argument: String },
    /// An argument that stands there twice.
    Twice { argument: String },
    /// A text that is not a path relative to the package.
    Path { path: String },
    /// A text that is not a name of C++.
    Function { name: String },
    /// A tolerance or a time that is not more than zero.
    NotPositive { argument: &'static str, value: f32 },
}
