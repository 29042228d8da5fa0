//! What an error means for the group.

use super::LaunchError;

impl LaunchError {
    /// Whether a kernel that makes its route found this before it sent a row, so that the group is as it was.
    pub(crate) const fn is_of_ids(&self) -> bool {
        matches!(self, Self::Route(_) | Self::Capacity { .. } | Self::EmptySlot { .. } | Self::Unrouted { .. })
    }

    /// Whether the ranks may have made different numbers of exchanges, so that they can't make another one.
    pub(crate) const fn is_out_of_step(&self) -> bool {
        matches!(self, Self::Peers(_) | Self::Disagreement { .. } | Self::Lost { .. })
    }
}
