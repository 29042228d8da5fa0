//! Whether a group can still be used, and what it keeps while it can.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::Group;
use super::session::Session;

pub(super) enum GroupState {
    /// Memory of each kernel that has run, by name and fingerprint.
    Sound(BTreeMap<(&'static str, &'static str), Session>),
    /// A launch failed or panicked, or an exchange with other processes failed.
    Broken,
}

impl Default for GroupState {
    fn default() -> Self {
        Self::Sound(BTreeMap::new())
    }
}

impl Group {
    /// Whether an earlier launch or exchange went wrong, so that the group can no longer be used.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        matches!(*self.state.lock().unwrap_or_else(PoisonError::into_inner), GroupState::Broken)
    }
}
