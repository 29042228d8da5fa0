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

/// Maximum number of connections that are being greeted at a time. Together with the connections of 256 ranks, these take half of the 1,024
/// file descriptors that a process usually has.
pub(super) const MOST_GUESTS: usize = 256;

/// Time limit of one connection's whole greeting.
pub(super) const GREETING: Duration = Duration::from_secs(5);

/// Minimum time that each connection gets for its greeting. After that, the oldest one makes room for a new one if [`MOST_GUESTS`] are
/// open. So rank 0 greets at least 2,560 connections per second; others wait in the system's queue.
const LEAST: Duration = Duration::from_millis(100);

/// Maximum number of connections that are accepted before the greetings of all guests continue.
const ROUND: usize = 64;

/// Time for which rank 0 waits for a file descriptor, because other threads of its process may close one.
const STARVING: Duration = Duration::from_secs(1);

/// Pauses between two rounds: while connections are being greeted, and while there are none.
const PAUSES: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(5)];

/// Rank 0's listener, with the connections that are being greeted.
pub(super) struct Door<'a> {
    listener: &'a TcpListener,
    terms: Terms,
    /// Connections that are being greeted; the oldest is first.
    guests: VecDeque<Guest>,
    pub(super) strangers: Strangers,
    /// The error of the last attempt to accept a connection; `None` if it succeeded.
    pub(super) refused: Option<String>,
    /// The time since when no file descriptor has been left for a connection although no guest holds one, and the error to report.
    starving: Option<(Instant, BootstrapError)>,
}

impl<'a> Door<'a> {
    /// Starts accepting connections.
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

    /// Accepts connections, continues all greetings, and returns the ranks of the job that have proven themselves.
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

    /// The error for a process that has had too few file descriptors for longer than [`STARVING`]. Only this process can change that.
    pub(super) fn starved(&self) -> Option<BootstrapError> {
        self.starving.as_ref().filter(|(since, _)| since.elapsed() >= STARVING).map(|(_, error)| error.clone())
    }

    /// Waits before the next round.
    pub(super) fn pause(&self) {
        sleep(PAUSES[usize::from(self.guests.is_empty())]);
    }

    /// Ends the greetings and returns all counts. Connections that are still being greeted count as silent strangers.
    pub(super) fn close(mut self) -> Strangers {
        self.strangers.silent += self.guests.len() as u64;
        self.strangers
    }

    /// Accepts waiting connections, as far as there is room for guests.
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

    /// Records the time at which the process ran out of file descriptors although no guest holds one.
    fn starve(&mut self, error: &std::io::Error) {
        let none = BootstrapError::no_descriptor("taking the connection of a rank as rank 0", error);
        let none = none.filter(|_| self.guests.is_empty());
        self.starving = none.map(|error| self.starving.take().unwrap_or_else(|| (Instant::now(), error)));
    }

    fn next(&self) -> Result<Guest> {
        Guest::new(self.listener.accept()?.0)
    }

    /// Drops the oldest connection that is still being greeted, unless it is younger than [`LEAST`]. Returns whether it was dropped.
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
