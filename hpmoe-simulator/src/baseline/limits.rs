//! What the original refuses to run.

use super::original::ROWS;
use super::{LayerShape, Original};
use std::fmt;

/// A limit of the original that a program exceeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Tokens of a rank come in tiles of 128.
    Tokens {
        /// Tokens per rank that were asked for.
        tokens: u32,
    },
    /// At most 25,600 tasks a rank.
    Tasks {
        /// Tasks the program has.
        tasks: u32,
    },
    /// At most 1,024 counters.
    OriginalCounters {
        /// Counters the program has.
        counters: u32,
    },
    /// At most 16 experts a rank.
    Experts {
        /// Experts a rank would own.
        experts: u32,
    },
}

impl Limit {
    const TASKS: u32 = 25_600;
    const COUNTERS: u32 = 1_024;
    const EXPERTS: u32 = 16;

    pub(super) fn exceeded(original: &Original) -> Vec<Self> {
        let LayerShape { tokens, .. } = *original.shape();
        let tasks = original.tasks_per_rank();
        let counters = original.counters().met().0;
        let experts = original.shape().experts_per_rank();
        let mut found = Vec::new();
        if !tokens.is_multiple_of(ROWS) {
            found.push(Self::Tokens { tokens });
        }
        if tasks > Self::TASKS {
            found.push(Self::Tasks { tasks });
        }
        if counters > Self::COUNTERS {
            found.push(Self::OriginalCounters { counters });
        }
        if experts > Self::EXPERTS {
            found.push(Self::Experts { experts });
        }
        found
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens { tokens } => write!(f, "{tokens} tokens a rank are not a multiple of {ROWS}"),
            Self::Tasks { tasks } => write!(f, "{tasks} tasks a rank exceed {}", Self::TASKS),
            Self::OriginalCounters { counters } => write!(f, "{counters} counters exceed {}", Self::COUNTERS),
            Self::Experts { experts } => write!(f, "{experts} experts a rank exceed {}", Self::EXPERTS),
        }
    }
}
