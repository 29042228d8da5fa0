//! The outcome of lowering statements.

/// The outcome of lowering the statements of a taskflow, next to the phases in the graph.
pub(super) struct Lowered {
    /// The number of phases before the route that the taskflow makes.
    pub(super) before: usize,
    /// Names of faulty tensors: parameters, and tensors that the taskflow makes.
    pub(super) faulty: Vec<String>,
    /// Whether faults have kept calls, possibly sends, out of the graph.
    pub(super) incomplete: bool,
}
