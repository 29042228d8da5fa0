//! The outcome of lowering statements.

/// The outcome of lowering the statements of a taskflow, next to the phases in the graph.
pub(super) struct Lowered {
    /// Phases before the route that the taskflow makes.
    pub(super) before: usize,
    /// Faulty tensors: parameters, and those that it makes itself.
    pub(super) faulty: Vec<String>,
    /// Whether calls are missing in the graph because of faults, sends perhaps.
    pub(super) incomplete: bool,
}
