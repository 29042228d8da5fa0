//! How many rows go from where to where.

use super::Shape;

/// Rows that each rank sends to each expert: what routing leaves of itself for a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rows {
    ranks: u32,
    experts: u32,
    sent: Vec<u32>,
    received: Vec<u32>,
}

impl Rows {
    /// From the rows of source and global expert.
    #[must_use]
    pub fn new(shape: &Shape, mut sent: impl FnMut(u32, u32) -> u32) -> Self {
        let Shape { ranks, experts, .. } = *shape;
        let pairs = (0..ranks).flat_map(|source| (0..experts).map(move |expert| (source, expert)));
        let sent: Vec<u32> = pairs.map(|(source, expert)| sent(source, expert)).collect();
        let column = |expert| sent[expert as usize..].iter().step_by(experts as usize).sum();
        let received = (0..experts).map(column).collect();
        Self { ranks, experts, sent, received }
    }
    /// The same number for all, as in the original's files: what doesn't divide is left out.
    #[must_use]
    pub fn balanced(shape: &Shape) -> Self {
        Self::new(shape, |_, _| shape.balanced_rows())
    }
    /// Rows from a rank to an expert.
    #[must_use]
    pub fn sent(&self, source: u32, expert: u32) -> u32 {
        self.sent[(source * self.experts + expert) as usize]
    }
    /// Rows an expert receives from all ranks.
    #[must_use]
    pub fn received(&self, expert: u32) -> u32 {
        self.received[expert as usize]
    }
    /// Rows from a rank to all experts of another.
    #[must_use]
    pub fn between(&self, source: u32, owner: u32) -> u32 {
        let own = self.experts / self.ranks;
        (owner * own..(owner + 1) * own).map(|expert| self.sent(source, expert)).sum()
    }
}
