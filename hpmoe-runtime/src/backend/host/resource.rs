//! Resources of this machine.

use std::fmt;

/// A resource of this machine that a launch needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Resource {
    /// The thread that a rank runs on.
    RankThread,
    /// A further thread of a rank, which runs some of the rank's cores.
    WorkerThread,
    /// The stack of a core.
    Stack,
    /// Memory for the cores of a rank.
    Memory,
}

impl Resource {
    pub(crate) const fn way_out(self) -> &'static str {
        match self {
            Self::RankThread => "use fewer ranks or raise the limit on threads (`ulimit -u`, pids.max of a container)",
            Self::WorkerThread => {
                "lower Group::threads or raise the limit on threads (`ulimit -u`, pids.max of a container)"
            }
            Self::Stack => "use fewer ranks or raise the limits on memory maps (vm.max_map_count, `ulimit -v`)",
            Self::Memory => "use fewer ranks, free memory or raise its limit (`ulimit -v`, memory.max of a container)",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RankThread => "its thread",
            Self::WorkerThread => "a worker thread",
            Self::Stack => "the stack of a core",
            Self::Memory => "memory for its cores",
        })
    }
}
