//! The effect of an error on the group.

use super::LaunchError;
use crate::bootstrap::BootstrapError;

impl LaunchError {
    /// Whether a kernel that makes its route found this before it sent a row, so that the group is as it was.
    pub(crate) const fn is_of_ids(&self) -> bool {
        matches!(self, Self::Route(_) | Self::Capacity { .. } | Self::EmptySlot { .. } | Self::Unrouted { .. })
    }

    /// Whether it is an error that being cancelled ends in: waits that were given up, on this rank.
    pub(crate) const fn may_be_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Stuck(_)
                | Self::NpuLaunch { .. }
                | Self::Peers(BootstrapError::Cancelled { .. })
                | Self::Lost { cause: BootstrapError::Cancelled { .. }, .. }
        )
    }

    /// Whether the ranks may have made different numbers of exchanges, so that they can't make another one.
    pub(crate) const fn is_out_of_step(&self) -> bool {
        matches!(self, Self::Peers(_) | Self::Disagreement { .. } | Self::Lost { .. } | Self::Cancelled)
    }
}
