//! What a group keeps of a kernel between launches.

use crate::KernelTables;
use crate::layout::{Plan, Sizes};
use crate::memory::Arena;

/// The memory of a kernel on all ranks.
pub(super) struct Session {
    pub(super) plan: Plan,
    pub(super) ranks: Vec<RankMemory>,
    /// Launches so far.
    pub(super) launches: i32,
}

/// The memory of a kernel on one rank.
pub(super) struct RankMemory {
    pub(super) heap: Arena,
    pub(super) workspace: Arena,
}

impl Session {
    /// Workspace and tensors start poisoned; counters, ready words and the abort word as zeros. From then on each launch
    /// clears what the next one needs.
    pub(super) fn new(tables: &KernelTables, sizes: &Sizes) -> Self {
        let plan = Plan::new(tables, sizes);
        let memory = |_| {
            let mut heap = Arena::poisoned(plan.heap);
            heap.bytes_mut()[plan.counters_at..].fill(0);
            RankMemory { heap, workspace: Arena::poisoned(plan.workspace) }
        };
        let ranks = (0..sizes.ranks).map(memory).collect();
        Self { plan, ranks, launches: 0 }
    }
}
