//! Forms of Rust that the body of a task can't contain.

/// A form of expression that the body of a task can't contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BodyForm {
    Block,
    Closure,
    Return,
    /// `loop` and `while`.
    OpenLoop,
    /// `break` and `continue`.
    Jump,
    /// `x[0]`.
    Index,
    /// `x.rows`.
    Field,
    /// `x?`.
    Try,
    Tuple,
    /// A path to something outside of the module, such as `f32::MAX`.
    Path,
    /// `value as f32`.
    Cast,
    Other,
}
