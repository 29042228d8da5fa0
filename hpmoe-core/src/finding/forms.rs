//! Forms of Rust that the body of a task doesn't have.

/// An expression of Rust that no task body has.
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
