//! The state of a group: what it keeps, or that it is broken.

use std::collections::HashMap;
use std::mem::{forget, replace, take};

use super::npus::Flight;
use super::session::Session;
use crate::LaunchError;

pub(super) enum GroupState {
    Sound(Kept),
    /// A launch failed or panicked, or an exchange with other processes failed.
    Broken,
}

/// What a group keeps between launches.
#[derive(Default)]
pub(super) struct Kept {
    /// Memory of each kernel that has run, by name and fingerprint.
    pub(super) sessions: HashMap<(&'static str, &'static str), Session>,
    /// Launches that have not been waited for, by number.
    pub(super) flights: HashMap<u64, Flight>,
    /// Number of the next launch that is added to `flights`.
    pub(super) next: u64,
}

impl Default for GroupState {
    fn default() -> Self {
        Self::Sound(Kept::default())
    }
}

impl GroupState {
    /// Takes what the group keeps. The group is broken until it is given back; `None` if it was broken before.
    pub(super) fn take(&mut self) -> Option<Kept> {
        match replace(self, Self::Broken) {
            Self::Sound(kept) => Some(kept),
            Self::Broken => None,
        }
    }

    /// What the group keeps, for uses that can't break the group.
    pub(super) const fn kept(&mut self) -> Result<&mut Kept, LaunchError> {
        match self {
            Self::Sound(kept) => Ok(kept),
            Self::Broken => Err(LaunchError::Broken),
        }
    }
}

impl Kept {
    /// Adds launches to those that have not been waited for, and returns their number.
    pub(super) fn add(&mut self, flight: Flight) -> u64 {
        let number = self.next;
        self.next += 1;
        self.flights.insert(number, flight);
        number
    }

    /// Leaks all memory instead of freeing it, because kernels may still use it.
    pub(super) fn leak(&mut self) {
        forget((take(&mut self.sessions), take(&mut self.flights)));
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Nobody has waited for these: a `Pending` was forgotten, or another launch has failed.
        let limit = self.flights.values().map(Flight::limit).sum();
        if self.flights.values().map(|flight| flight.wait(limit)).filter(Result::is_err).count() > 0 {
            self.leak();
        }
    }
}
