//! The effect of an error on the group.

use super::LaunchError;
use crate::bootstrap::BootstrapError;

impl LaunchError {
    /// Whether a kernel that makes its route finds this error before it sends a row. The group is then still usable.
    pub(crate) const fn is_of_ids(&self) -> bool {
        matches!(self, Self::Route(_) | Self::Capacity { .. } | Self::EmptySlot { .. } | Self::Unrouted { .. })
    }

    /// Whether the error can result from cancelling: waits of this rank that ended early.
    pub(crate) const fn may_be_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Stuck(_)
                | Self::NpuLaunch { .. }
                | Self::Peers(BootstrapError::Cancelled { .. })
                | Self::Lost { cause: BootstrapError::Cancelled { .. }, .. }
        )
    }

    /// Whether the ranks may have made different numbers of exchanges. They can then make no further exchange.
    pub(crate) const fn is_out_of_step(&self) -> bool {
        matches!(self, Self::Peers(_) | Self::Disagreement { .. } | Self::Lost { .. } | Self::Cancelled)
    }
}
