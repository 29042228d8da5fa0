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

/// The connections of a process.
pub(super) struct Links {
    pub(super) rank: usize,
    pub(super) ranks: usize,
    /// By rank of the peer.
    writers: Vec<Mutex<Option<Arc<TcpStream>>>>,
    state: Mutex<State>,
    changed: Condvar,
    /// Ends waits of this rank early.
    pub(super) cancel: Cancel,
}

/// Number of exchanges, counted from the first one that is not complete, for which a rank may send its part. A rank that has given up some
/// exchanges is ahead of the others; any other rank is ahead by at most one.
const AHEAD: u64 = 8;

/// The known state of the group.
#[derive(Default)]
struct State {
    /// The first rank that is gone, and how.
    gone: Option<(usize, End)>,
    /// On rank 0, the parts that have come for each exchange that is not complete.
    parts: HashMap<u64, Vec<Option<Vec<u8>>>>,
    /// On rank 0, the number of complete exchanges, which is that of the first one that is not.
    complete: u64,
    /// Complete exchanges that this rank has not taken yet.
    wholes: HashMap<u64, Vec<Vec<u8>>>,
    /// The first exchange that this rank has neither taken nor given up.
    awaited: u64,
    /// Rank 0's last answer to the question which ranks are missing.
    missing: Option<(u64, Vec<usize>)>,
    /// Set when this process leaves: connections that close now mean nothing.
    leaving: bool,
}

impl Links {
    /// No connections yet.
    pub(super) fn new(rank: usize, ranks: usize, cancel: Cancel) -> Self {
        let writers = (0..ranks).map(|_| Mutex::new(None)).collect();
        Self { rank, ranks, writers, state: Mutex::default(), changed: Condvar::new(), cancel }
    }

    /// Adds the connection to a peer that has none yet.
    pub(super) fn connect(&self, peer: usize, stream: Arc<TcpStream>) {
        *self.writer(peer) = Some(stream);
    }

    /// Peers of rank 0 that have not come.
    pub(super) fn unconnected(&self) -> Vec<usize> {
        (1..self.ranks).filter(|&peer| self.writer(peer).is_none()).collect()
    }

    /// Sends a frame to a peer. One that can't be reached is found gone by the thread that reads its connection: a part of a frame may have
    /// arrived, after which no other one could be read.
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

    /// Reads a connection until it closes, or something comes that no rank sends.
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

    /// The error that names the rank that is gone, if any.
    pub(super) fn gone(&self) -> Option<BootstrapError> {
        self.state().gone()
    }

    /// Takes part in an exchange.
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

    /// On rank 0: adds a contribution, and sends the whole exchange to all ranks if it was the last. `false` if this
    /// contribution was not expected; the sender then counts as gone.
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

    /// On rank 0: the ranks that have not contributed to an exchange.
    fn missing(&self, exchange: u64) -> Vec<usize> {
        let state = self.state();
        let has_come = |rank: &usize| state.parts.get(&exchange).is_some_and(|parts| parts[*rank].is_some());
        (0..self.ranks).filter(|rank| !has_come(rank)).collect()
    }

    /// The ranks that have not contributed to an exchange; empty if rank 0 does not answer within a second.
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

    /// Starts an exchange: drops the results of all earlier ones.
    fn begin(&mut self, exchange: u64) {
        self.awaited = exchange;
        self.wholes.retain(|number, _| *number >= exchange);
    }
}
