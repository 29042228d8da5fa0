//! The limits beyond which the original refuses a layer.

use super::sizes::ROWS;
use super::{LayerShape, Original};
use std::fmt;

/// A limit of the original that a program exceeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The tokens of a rank must be a multiple of 128.
    Tokens {
        /// Number of tokens per rank in the layer.
        tokens: u32,
    },
    /// A rank has at most 25,600 tasks.
    Tasks {
        /// Number of tasks per rank in the program.
        tasks: u32,
    },
    /// A rank has at most 1,024 counters.
    OriginalCounters {
        /// Number of counters per rank in the program.
        counters: u32,
    },
    /// A rank has at most 16 local experts.
    Experts {
        /// Number of local experts of each rank.
        experts: u32,
    },
}

impl Limit {
    const TASKS: u32 = 25_600;
    const COUNTERS: u32 = 1_024;
    const EXPERTS: u32 = 16;
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens { tokens } => write!(f, "{tokens} tokens per rank are not a multiple of {ROWS}"),
            Self::Tasks { tasks } => write!(f, "{tasks} tasks per rank exceed {}", Self::TASKS),
            Self::OriginalCounters { counters } => write!(f, "{counters} counters exceed {}", Self::COUNTERS),
            Self::Experts { experts } => write!(f, "{experts} experts per rank exceed {}", Self::EXPERTS),
        }
    }
}

impl Original {
    /// The limits of the original that this program exceeds; empty if the original accepts the program.
    #[must_use]
    pub fn limits(&self) -> Vec<Limit> {
        let LayerShape { tokens, .. } = *self.shape();
        let tasks = self.tasks_per_rank();
        let counters = self.counters().met().0;
        let experts = self.shape().experts_per_rank();
        let mut limits = Vec::new();
        if tokens % ROWS != 0 {
            limits.push(Limit::Tokens { tokens });
        }
        if tasks > Limit::TASKS {
            limits.push(Limit::Tasks { tasks });
        }
        if counters > Limit::COUNTERS {
            limits.push(Limit::OriginalCounters { counters });
        }
        if experts > Limit::EXPERTS {
            limits.push(Limit::Experts { experts });
        }
        limits
    }
}
