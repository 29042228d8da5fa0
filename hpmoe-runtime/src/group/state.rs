//! Whether a group can still be used, and what it keeps while it can.

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

/// The state that a group keeps.
#[derive(Default)]
pub(super) struct Kept {
    /// Memory of each kernel that has run, by name and fingerprint.
    pub(super) sessions: HashMap<(&'static str, &'static str), Session>,
    /// Launches that have not been waited for, by number.
    pub(super) flights: HashMap<u64, Flight>,
    /// The number of the next one.
    pub(super) next: u64,
}

impl Default for GroupState {
    fn default() -> Self {
        Self::Sound(Kept::default())
    }
}

impl GroupState {
    /// Takes what is kept, and leaves a broken group until it is given back.
    pub(super) fn take(&mut self) -> Option<Kept> {
        match replace(self, Self::Broken) {
            Self::Sound(kept) => Some(kept),
            Self::Broken => None,
        }
    }

    /// The kept state, for uses that can't break the group.
    pub(super) const fn kept(&mut self) -> Result<&mut Kept, LaunchError> {
        match self {
            Self::Sound(kept) => Ok(kept),
            Self::Broken => Err(LaunchError::Broken),
        }
    }
}

impl Kept {
    /// Keeps launches until they have been waited for: their number.
    pub(super) fn add(&mut self, flight: Flight) -> u64 {
        let number = self.next;
        self.next += 1;
        self.flights.insert(number, flight);
        number
    }

    /// Gives nothing back: kernels may still be using it.
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
