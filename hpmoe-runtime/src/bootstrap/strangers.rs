//! Connections to rank 0 that were not ranks of the job.

use std::fmt;

/// Counts of strangers: connections that rank 0 did not accept as ranks of its job, by reason, while it waited for its ranks.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Strangers {
    /// Connections that closed before they had sent a whole greeting, that rank 0 dropped because they took too long or because too many
    /// were open, or that had not finished their greeting when all ranks had joined.
    pub silent: u64,
    /// Connections that spoke another protocol, or another version of this protocol.
    pub foreign: u64,
    /// Connections of ranks of other jobs.
    pub other_jobs: u64,
    /// Connections that did not prove that they know the job's secret.
    pub unproven: u64,
    /// Connections of ranks that were started for another number of ranks, or whose rank has already joined.
    pub misplaced: u64,
}

impl Strangers {
    /// Sum of all counts: the number of strangers.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.silent + self.foreign + self.other_jobs + self.unproven + self.misplaced
    }

    /// All counts, in the order in which messages contain them.
    pub(super) const fn numbers(&self) -> [u64; 5] {
        [self.silent, self.foreign, self.other_jobs, self.unproven, self.misplaced]
    }

    /// Makes the counts from those of a message.
    pub(super) const fn from_numbers([silent, foreign, other_jobs, unproven, misplaced]: [u64; 5]) -> Self {
        Self { silent, foreign, other_jobs, unproven, misplaced }
    }
}

/// One line with the total and the number of each kind.
impl fmt::Display for Strangers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            "without a greeting",
            "with another protocol",
            "of other jobs",
            "without the secret",
            "of ranks that the group lacks or had already",
        ];
        let found = self.numbers().into_iter().zip(kinds).filter(|(count, _)| *count > 0);
        let each: Vec<String> = found.map(|(count, kind)| format!("{count} {kind}")).collect();
        let connections = if self.count() == 1 { "connection" } else { "connections" };
        write!(f, "{} {connections} of strangers to rank 0: {}", self.count(), each.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_one_line() {
        let strangers = Strangers { silent: 40, unproven: 2, ..Strangers::default() };
        assert_eq!(
            strangers.to_string(),
            "42 connections of strangers to rank 0: 40 without a greeting, 2 without the secret"
        );
        assert_eq!(Strangers::from_numbers(strangers.numbers()), strangers);
        let one = Strangers { other_jobs: 1, ..Strangers::default() };
        assert_eq!(one.to_string(), "1 connection of strangers to rank 0: 1 of other jobs");
    }
}
