//! Pairs of a sending rank and an expert.

/// The rows that one rank sends to one expert.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// Number of rows.
    pub rows: usize,
    /// Position of the first of these rows among all rows of the expert.
    pub at: usize,
    /// The expert's first row among all rows that its owner receives.
    pub base: usize,
    /// Position of the first of these rows in the sender's [`order`](super::Route::order).
    pub order: usize,
}
