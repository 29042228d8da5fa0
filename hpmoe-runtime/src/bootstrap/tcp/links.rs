//! The connections of one process, and the messages received over them.
//!
//! Rank 0 is connected to every other rank. One thread per connection reads it and stores each message here, for the
//! thread that waits for it.

use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::deadline::{deadline, rest};
use super::frame::{End, Frame, most_bytes};
use super::patient::Urgent;
use crate::bootstrap::{BootstrapError, Cancel};

/// The connections of a process, and the messages that have arrived on them.
pub(super) struct Links {
    pub(super) rank: usize,
    pub(super) ranks: usize,
    /// Sending halves of the connections, by rank of the peer.
    writers: Vec<Mutex<Option<Arc<TcpStream>>>>,
    state: Mutex<State>,
    changed: Condvar,
    /// The handle that ends waits of this rank early.
    pub(super) cancel: Cancel,
}

/// Number of exchanges, counted from the first incomplete one, that a rank may send its part for. Without given-up exchanges, a rank is at
/// most one ahead of the others; with them, it may be further ahead.
const AHEAD: u64 = 8;

/// The state of the group, as far as this process knows it.
#[derive(Default)]
struct State {
    /// The first rank that was found gone, and how it ended.
    gone: Option<(usize, End)>,
    /// On rank 0, the parts that have arrived for each incomplete exchange.
    parts: HashMap<u64, Vec<Option<Vec<u8>>>>,
    /// On rank 0, the number of the first incomplete exchange.
    complete: u64,
    /// Complete exchanges that this rank has not taken yet.
    wholes: HashMap<u64, Vec<Vec<u8>>>,
    /// Number of the current exchange; earlier ones are finished or given up.
    awaited: u64,
    /// Rank 0's last answer to the question which ranks are missing, with the number of the exchange.
    missing: Option<(u64, Vec<usize>)>,
    /// Set when this process leaves the group: connections that close from then on are no errors.
    leaving: bool,
}

impl Links {
    /// Makes the links of a process, without connections.
    pub(super) fn new(rank: usize, ranks: usize, cancel: Cancel) -> Self {
        let writers = (0..ranks).map(|_| Mutex::new(None)).collect();
        Self { rank, ranks, writers, state: Mutex::default(), changed: Condvar::new(), cancel }
    }

    /// Adds the connection to a peer that has none yet.
    pub(super) fn connect(&self, peer: usize, stream: Arc<TcpStream>) {
        *self.writer(peer) = Some(stream);
    }

    /// On rank 0: the peers that are not connected yet.
    pub(super) fn unconnected(&self) -> Vec<usize> {
        (1..self.ranks).filter(|&peer| self.writer(peer).is_none()).collect()
    }

    /// Sends a frame to a peer, if it is connected. If that fails, the connection is closed, because the peer may have received a part of
    /// the frame. The thread that reads the connection then finds that the peer is gone.
    pub(super) fn send(&self, peer: usize, frame: &Frame) {
        if let Some(stream) = self.writer(peer).as_ref() {
            if frame.write(Urgent(stream)).is_err() {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// Sends a frame to all peers.
    pub(super) fn send_all(&self, frame: &Frame) {
        (0..self.ranks).for_each(|peer| self.send(peer, frame));
    }

    /// Reads a connection until it closes or receives a frame that no rank sends there. The peer then counts as gone.
    pub(super) fn read(&self, peer: usize, stream: &TcpStream) {
        let end = self.read_frames(peer, stream);
        self.lose(peer, end);
        // With the reader's share of the connection gone as well, it closes: what else the peer sends is refused, and does not fill up.
        drop(self.writer(peer).take());
    }

    fn read_frames(&self, peer: usize, stream: &TcpStream) -> End {
        // A rank sends its own part, and rank 0 those of all.
        let most = most_bytes(if self.rank == 0 { 1 } else { self.ranks });
        while let Ok(frame) = Frame::read(stream, most) {
            match frame {
                Frame::Part { exchange, bytes } if self.rank == 0 => {
                    if !self.add(peer, exchange, bytes) {
                        return End::Unexpected;
                    }
                }
                Frame::Whole { exchange, parts } if self.rank != 0 => {
                    let mut state = self.state();
                    // One that this rank has given up is complete too late.
                    if exchange >= state.awaited {
                        state.wholes.insert(exchange, parts);
                    }
                }
                Frame::Ask { exchange } => {
                    let ranks = self.missing(exchange);
                    self.send(peer, &Frame::Missing { exchange, ranks });
                }
                Frame::Missing { exchange, ranks } => self.state().missing = Some((exchange, ranks)),
                Frame::Gone { rank, how } => self.lose(rank, how),
                Frame::Goodbye => self.lose(peer, End::Left),
                Frame::Welcome(_) | Frame::Refused(_) | Frame::Part { .. } | Frame::Whole { .. } => break,
            }
            self.changed.notify_all();
        }
        End::Closed
    }

    /// The error that names the first rank that is gone; `None` if none is.
    pub(super) fn gone(&self) -> Option<BootstrapError> {
        self.state().gone()
    }

    /// Sends this rank's part of an exchange, and waits for the parts of all ranks.
    pub(super) fn exchange(
        &self,
        exchange: u64,
        bytes: &[u8],
        limit: Duration,
    ) -> Result<Vec<Vec<u8>>, BootstrapError> {
        if self.cancel.is_cancelled() {
            return Err(self.cancelled());
        }
        self.state().begin(exchange);
        match self.rank {
            // Rank 0 expects its own, unless it has given up more exchanges than a rank may be ahead: then it waits for others in vain.
            0 => drop(self.add(0, exchange, bytes.to_vec())),
            _ => self.send(0, &Frame::Part { exchange, bytes: bytes.to_vec() }),
        }
        let mut state = self.state();
        let deadline = deadline(limit);
        loop {
            if let Some(parts) = state.wholes.remove(&exchange) {
                return Ok(parts);
            }
            if let Some(gone) = state.gone() {
                return Err(gone);
            }
            if self.cancel.is_cancelled() {
                drop(state);
                return Err(self.cancelled());
            }
            let Some(rest) = rest(deadline) else { break };
            let pause = rest.min(Cancel::PAUSE);
            state = self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        Err(BootstrapError::Late { rank: self.rank, missing: self.ask(exchange), limit })
    }

    /// Leaves the group early, so that the other ranks don't wait until their time limits.
    fn cancelled(&self) -> BootstrapError {
        self.leave();
        BootstrapError::Cancelled { rank: self.rank }
    }

    /// Says goodbye and closes all connections.
    pub(super) fn leave(&self) {
        self.state().leaving = true;
        self.send_all(&Frame::Goodbye);
        for peer in 0..self.ranks {
            if let Some(stream) = self.writer(peer).take() {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }

    /// On rank 0: stores a rank's part of an exchange. If it was the last part, all parts are sent to all ranks. Returns `false` if the
    /// part was not expected; its sender then counts as gone.
    fn add(&self, from: usize, exchange: u64, bytes: Vec<u8>) -> bool {
        // Held while the parts are sent, so that no rank hears that another is gone before it has what that one sent.
        let mut state = self.state();
        if !(state.complete..state.complete + AHEAD).contains(&exchange) {
            return false;
        }
        let parts = state.parts.entry(exchange).or_insert_with(|| vec![None; self.ranks]);
        if parts[from].replace(bytes).is_some() {
            return false;
        }
        if parts.iter().all(Option::is_some) {
            state.complete = exchange + 1;
            let parts: Vec<Vec<u8>> = state.parts.remove(&exchange).into_iter().flatten().flatten().collect();
            let whole = Frame::Whole { exchange, parts };
            self.send_all(&whole);
            match whole {
                Frame::Whole { parts, .. } if exchange >= state.awaited => {
                    state.wholes.insert(exchange, parts);
                }
                _ => {}
            }
            self.changed.notify_all();
        }
        true
    }

    /// Marks a rank as gone. On rank 0, also notifies the other ranks.
    fn lose(&self, rank: usize, how: End) {
        let mut state = self.state();
        if !state.leaving && state.gone.is_none() {
            state.gone = Some((rank, how));
            if self.rank == 0 {
                self.send_all(&Frame::Gone { rank, how });
            }
            self.changed.notify_all();
        }
    }

    /// On rank 0: the ranks whose parts of an exchange have not arrived.
    fn missing(&self, exchange: u64) -> Vec<usize> {
        let state = self.state();
        let has_come = |rank: &usize| state.parts.get(&exchange).is_some_and(|parts| parts[*rank].is_some());
        (0..self.ranks).filter(|rank| !has_come(rank)).collect()
    }

    /// The ranks whose parts of an exchange have not arrived at rank 0; empty if rank 0 does not answer within a second.
    fn ask(&self, exchange: u64) -> Vec<usize> {
        if self.rank == 0 {
            return self.missing(exchange);
        }
        self.send(0, &Frame::Ask { exchange });
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut state = self.state();
        loop {
            match (state.missing.take(), rest(deadline)) {
                (Some((asked, ranks)), _) if asked == exchange => return ranks,
                (_, None) => return Vec::new(),
                (_, Some(rest)) => {
                    state = self.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    fn writer(&self, peer: usize) -> MutexGuard<'_, Option<Arc<TcpStream>>> {
        self.writers[peer].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn gone(&self) -> Option<BootstrapError> {
        let (rank, how) = self.gone?;
        Some(BootstrapError::Gone { rank, how: how.words() })
    }

    /// Starts an exchange, and drops the results of earlier ones.
    fn begin(&mut self, exchange: u64) {
        self.awaited = exchange;
        self.wholes.retain(|number, _| *number >= exchange);
    }
}
