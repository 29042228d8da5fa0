//! Rank 0's side of joining: accepts connections, runs all greetings concurrently, and admits the ranks of its job.

use std::collections::VecDeque;
use std::io::{ErrorKind, Result};
use std::net::TcpListener;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::guest::{Arrival, Guest, Step, Stranger, Terms};
use super::nonce::Nonces;
use super::proof::{Key, job_digest};
use crate::bootstrap::random::random;
use crate::bootstrap::{BootstrapError, Joining, Strangers};

/// The maximum number of guests at a time. With the connections of 256 ranks, they need half of the 1,024 descriptors that a process usually has.
pub(super) const MOST_GUESTS: usize = 256;

/// The time that a guest has for its whole greeting.
pub(super) const GREETING: Duration = Duration::from_secs(5);

/// The time that a guest has in any case: the oldest one makes room for the next, but not earlier. Together with [`MOST_GUESTS`], 2,560
/// connections are greeted in a second; others wait in the system's queue.
const LEAST: Duration = Duration::from_millis(100);

/// The maximum number of connections that are taken before guests are heard.
const ROUND: usize = 64;

/// The time for which rank 0 waits for a file descriptor that other threads of its process may close.
const STARVING: Duration = Duration::from_secs(1);

/// The time between two rounds, with guests and without.
const PAUSES: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(5)];

/// The door of rank 0.
pub(super) struct Door<'a> {
    listener: &'a TcpListener,
    terms: Terms,
    /// The oldest first.
    guests: VecDeque<Guest>,
    pub(super) strangers: Strangers,
    /// Why no connection could be taken the last time.
    pub(super) refused: Option<String>,
    /// Since when this process has had no file descriptor for a connection although no guest holds one, and the error for it.
    starving: Option<(Instant, BootstrapError)>,
}

impl<'a> Door<'a> {
    /// Opens the door.
    pub(super) fn new(listener: &'a TcpListener, joining: &Joining) -> std::result::Result<Self, BootstrapError> {
        let terms = Terms {
            job: job_digest(&joining.job),
            confided: joining.secret.is_some(),
            key: Key::new(joining.secret.as_ref()),
            nonces: Nonces::new(random()?),
        };
        let (guests, strangers) = (VecDeque::new(), Strangers::default());
        Ok(Self { listener, terms, guests, strangers, refused: None, starving: None })
    }

    /// Takes connections, hears all guests, and returns those that have proven to be ranks of the job.
    pub(super) fn round(&mut self) -> Vec<Arrival> {
        self.take();
        let mut arrived = Vec::new();
        for _ in 0..self.guests.len() {
            let Some(mut guest) = self.guests.pop_front() else { break };
            match guest.advance(&mut self.terms) {
                Step::Waits if guest.came.elapsed() < GREETING => self.guests.push_back(guest),
                Step::Waits => self.strangers.silent += 1,
                Step::Leaves(stranger) => self.count(stranger),
                Step::Arrived(hello, proof) => arrived.push(guest.arrive(hello, proof)),
            }
        }
        arrived
    }

    /// The error of a process that has too few file descriptors for its ranks: nothing else than this process can change that.
    pub(super) fn starved(&self) -> Option<BootstrapError> {
        self.starving.as_ref().filter(|(since, _)| since.elapsed() >= STARVING).map(|(_, error)| error.clone())
    }

    /// Waits until a round may be worth while.
    pub(super) fn pause(&self) {
        sleep(PAUSES[usize::from(self.guests.is_empty())]);
    }

    /// Closes the door: connections that are still being greeted are not ranks.
    pub(super) fn close(mut self) -> Strangers {
        self.strangers.silent += self.guests.len() as u64;
        self.strangers
    }

    /// Accepts the waiting connections that there is room for.
    fn take(&mut self) {
        for _ in 0..ROUND {
            if self.guests.len() >= MOST_GUESTS && !self.make_room() {
                return;
            }
            match self.next() {
                Ok(guest) => {
                    (self.refused, self.starving) = (None, None);
                    self.guests.push_back(guest);
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return (self.refused, self.starving) = (None, None),
                    // The other side has gone before it was taken.
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset => {}
                    _ => {
                        // In most cases there are too many open files, and closing one connection may be enough.
                        self.refused = Some(error.to_string());
                        self.starve(&error);
                        if !self.make_room() {
                            return;
                        }
                    }
                },
            }
        }
    }

    /// Records since when the process has had no free file descriptor.
    fn starve(&mut self, error: &std::io::Error) {
        let none = BootstrapError::no_descriptor("taking the connection of a rank as rank 0", error);
        let none = none.filter(|_| self.guests.is_empty());
        self.starving = none.map(|error| self.starving.take().unwrap_or_else(|| (Instant::now(), error)));
    }

    fn next(&self) -> Result<Guest> {
        Guest::new(self.listener.accept()?.0)
    }

    /// Drops the oldest unproven connection, unless it is new.
    fn make_room(&mut self) -> bool {
        let old = |oldest: &Guest| oldest.came.elapsed() >= LEAST;
        let evicted = self.guests.front().is_some_and(old) && self.guests.pop_front().is_some();
        self.strangers.silent += u64::from(evicted);
        evicted
    }

    const fn count(&mut self, stranger: Stranger) {
        let strangers = &mut self.strangers;
        match stranger {
            Stranger::Silent => strangers.silent += 1,
            Stranger::Foreign => strangers.foreign += 1,
            Stranger::OtherJob => strangers.other_jobs += 1,
            Stranger::Unproven => strangers.unproven += 1,
        }
    }
}
