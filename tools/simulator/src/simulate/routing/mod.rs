//! The number of rows that each rank sends to each expert, and the tokens that they come from.

mod drawn;
mod error;
mod placed;
#[cfg(test)]
mod tests;
mod tokens;
mod weights;

pub use error::RoutingError;

/// The number of rows from each source rank to each expert of the group. For a simulation, all ranks must have the same number of experts,
/// numbered consecutively. A placement turns a routing of logical experts into such a routing of physical experts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routing {
    experts: u32,
    top_k: u32,
    /// Number of rows by source, then by expert.
    rows: Vec<u32>,
    /// The token of each row, by source and expert; empty if only the numbers of rows are known.
    tokens: Vec<Vec<Vec<u32>>>,
    /// Number of logical experts (which ids name) if the experts of this routing are physical ones; otherwise `None`.
    logical: Option<u32>,
}

/// The sizes that a routing is drawn for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoutingSizes {
    /// Number of ranks in the group.
    pub ranks: u32,
    /// Number of experts of the group.
    pub experts: u32,
    /// Number of experts that each token goes to.
    pub top_k: u32,
    /// Number of tokens per rank.
    pub tokens: u32,
}

impl Routing {
    /// A routing with the given numbers of rows: `rows[source][expert]`, with experts numbered in the group.
    ///
    /// # Errors
    ///
    /// If there are no experts, if sources differ in their number of experts, or if the rows of a source can't belong to whole tokens
    /// with `top_k` different experts each.
    pub fn new(rows: &[Vec<u32>], top_k: u32) -> Result<Self, RoutingError> {
        let (ranks, experts) = (rows.len(), rows.first().map_or(0, Vec::len));
        if experts == 0 || top_k == 0 {
            return Err(RoutingError::Nothing { ranks, experts });
        }
        for (rank, counts) in rows.iter().enumerate() {
            let sum: u64 = counts.iter().map(|&rows| u64::from(rows)).sum();
            if counts.len() != experts {
                return Err(RoutingError::ExpertCount { rank, found: counts.len(), expected: experts });
            }
            if sum % u64::from(top_k) != 0 {
                return Err(RoutingError::PartOfToken { rank, rows: sum, top_k });
            }
            let tokens = sum / u64::from(top_k);
            if let Some(expert) = counts.iter().position(|&rows| u64::from(rows) > tokens) {
                return Err(RoutingError::RowsOfExpert { rank, expert, rows: counts[expert], tokens });
            }
        }
        Ok(Self { experts: experts as u32, top_k, rows: rows.concat(), tokens: Vec::new(), logical: None })
    }

    /// Number of ranks in the group.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.rows.len() as u32 / self.experts
    }

    /// Number of logical experts if the experts of this routing are physical ones ([`placed`](Self::placed)); otherwise `None`.
    #[must_use]
    pub const fn logical_experts(&self) -> Option<u32> {
        self.logical
    }

    /// Number of experts of the group.
    #[must_use]
    pub const fn experts(&self) -> u32 {
        self.experts
    }

    /// Number of local experts of each rank.
    #[must_use]
    pub fn local_experts(&self) -> u32 {
        self.experts / self.ranks()
    }

    /// Number of experts that each token goes to.
    #[must_use]
    pub const fn top_k(&self) -> u32 {
        self.top_k
    }

    /// Number of tokens of a source rank.
    #[must_use]
    pub fn tokens(&self, source: u32) -> u32 {
        self.counts(source).iter().sum::<u32>() / self.top_k
    }

    /// Number of rows from a source rank to an expert of the group.
    #[must_use]
    pub fn rows(&self, source: u32, expert: u32) -> u32 {
        self.rows[(source * self.experts + expert) as usize]
    }

    /// Number of rows that an expert of the group receives from all ranks.
    #[must_use]
    pub fn expert_rows(&self, expert: u32) -> u32 {
        (0..self.ranks()).map(|source| self.rows(source, expert)).sum()
    }

    /// Number of rows that all local experts of a rank receive together.
    #[must_use]
    pub fn received_rows(&self, rank: u32) -> u32 {
        let local = self.local_experts();
        (rank * local..(rank + 1) * local).map(|expert| self.expert_rows(expert)).sum()
    }

    /// Number of tokens that a rank receives if each token is sent to it once, however many of its experts the token goes
    /// to.
    #[must_use]
    pub fn received_once(&self, rank: u32) -> u32 {
        let local = self.local_experts() as usize;
        let own = |source| self.once_sent_rows(source).iter().skip(rank as usize * local).take(local).sum::<u32>();
        (0..self.ranks()).map(own).sum()
    }

    /// Number of rows of a source rank, for each expert of the group.
    fn counts(&self, source: u32) -> &[u32] {
        &self.rows[(source * self.experts) as usize..][..self.experts as usize]
    }
}
