//! What a group keeps of a kernel between launches.

use crate::KernelTables;
use crate::layout::{MemoryPlan, RankSizes};
use crate::memory::Poisoned;

/// The memory of a kernel on all ranks.
pub(super) struct Session {
    pub(super) plan: MemoryPlan,
    pub(super) sizes: RankSizes,
    pub(super) ranks: Vec<RankMemory>,
    /// Launches so far.
    pub(super) launches: i32,
}

/// The memory of a kernel on one rank.
pub(super) struct RankMemory {
    pub(super) heap: Poisoned,
    pub(super) workspace: Poisoned,
}

impl Session {
    /// Workspace and tensors start poisoned; counters, ready words and the abort word as zeros. From then on each launch
    /// clears what the next one needs.
    ///
    /// # Errors
    ///
    /// The bytes that a rank needs, when there is no room for them.
    pub(super) fn new(tables: &KernelTables, sizes: &RankSizes) -> Result<Self, usize> {
        let plan = MemoryPlan::new(tables, sizes);
        let needed = plan.heap.saturating_add(plan.workspace);
        if !plan.counters.can_be_numbered() {
            return Err(needed);
        }
        let memory = |_| {
            let heap = Poisoned::new(plan.heap, plan.counters_at)?;
            let workspace = Poisoned::new(plan.workspace, plan.workspace)?;
            Some(RankMemory { heap, workspace })
        };
        let ranks = (0..sizes.ranks).map(memory).collect::<Option<_>>().ok_or(needed)?;
        Ok(Self { plan, sizes: *sizes, ranks, launches: 0 })
    }
}
