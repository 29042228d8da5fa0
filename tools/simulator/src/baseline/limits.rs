//! The limits beyond which the original refuses a layer.

use super::original::ROWS;
use super::{LayerShape, Original};
use std::fmt;

/// A limit of the original that a program exceeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The tokens of a rank must be a multiple of 128.
    Tokens {
        /// Tokens per rank of the layer.
        tokens: u32,
    },
    /// A rank has at most 25,600 tasks.
    Tasks {
        /// Tasks per rank of the program.
        tasks: u32,
    },
    /// A rank has at most 1,024 counters.
    OriginalCounters {
        /// Counters per rank of the program.
        counters: u32,
    },
    /// A rank has at most 16 local experts.
    Experts {
        /// Local experts of each rank.
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
        let mut limits = Vec::new();
        if tokens % ROWS != 0 {
            limits.push(Self::Tokens { tokens });
        }
        if tasks > Self::TASKS {
            limits.push(Self::Tasks { tasks });
        }
        if counters > Self::COUNTERS {
            limits.push(Self::OriginalCounters { counters });
        }
        if experts > Self::EXPERTS {
            limits.push(Self::Experts { experts });
        }
        limits
    }
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
