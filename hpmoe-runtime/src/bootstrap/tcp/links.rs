//! The connections of one process, and what has come over them.
//!
//! Rank 0 is connected to every other rank, and every other rank to rank 0. A thread for each connection reads it; what it
//! reads is kept here, for the thread that waits for it.

use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::frame::Frame;
use crate::bootstrap::BootstrapError;

/// The connections of a process.
pub(super) struct Links {
    pub(super) rank: usize,
    pub(super) ranks: usize,
    /// By rank of the peer.
    writers: Vec<Mutex<Option<TcpStream>>>,
    state: Mutex<State>,
    changed: Condvar,
}

/// What is known of the group.
#[derive(Default)]
struct State {
    /// The first rank that is gone, and whether it said goodbye.
    gone: Option<(usize, bool)>,
    /// On rank 0, the parts that have come for each exchange that is not complete.
    parts: HashMap<u64, Vec<Option<Vec<u8>>>>,
    /// Complete exchanges that this rank has not taken yet.
    wholes: HashMap<u64, Vec<Vec<u8>>>,
    /// Rank 0's last answer about who is missing.
    missing: Option<(u64, Vec<usize>)>,
    /// Set when this process leaves: connections that close now mean nothing.
    leaving: bool,
}

impl Links {
    /// No connections yet.
    pub(super) fn new(rank: usize, ranks: usize) -> Self {
        let writers = (0..ranks).map(|_| Mutex::new(None)).collect();
        Self { rank, ranks, writers, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Adds the connection to a peer that has none yet.
    pub(super) fn connect(&self, peer: usize, stream: TcpStream) {
        *self.writer(peer) = Some(stream);
    }

    /// Peers of rank 0 that have not come.
    pub(super) fn unconnected(&self) -> Vec<usize> {
        (1..self.ranks).filter(|&peer| self.writer(peer).is_none()).collect()
    }

    /// Sends a frame to a peer. One that can't be reached is found gone by the thread that reads its connection.
    pub(super) fn send(&self, peer: usize, frame: &Frame) {
        if let Some(stream) = self.writer(peer).as_ref() {
            let _ = frame.write(stream);
        }
    }

    /// Sends a frame to all peers.
    pub(super) fn send_all(&self, frame: &Frame) {
        (0..self.ranks).for_each(|peer| self.send(peer, frame));
    }

    /// Reads a connection until it closes.
    pub(super) fn read(&self, peer: usize, stream: &TcpStream) {
        while let Ok(frame) = Frame::read(stream) {
            match frame {
                Frame::Part { exchange, bytes } if self.rank == 0 => self.add(peer, exchange, bytes),
                Frame::Whole { exchange, parts } => _ = self.state().wholes.insert(exchange, parts),
                Frame::Ask { exchange } => {
                    let ranks = self.missing(exchange);
                    self.send(peer, &Frame::Missing { exchange, ranks });
                }
                Frame::Missing { exchange, ranks } => self.state().missing = Some((exchange, ranks)),
                Frame::Gone { rank, left } => self.lose(rank, left),
                Frame::Goodbye => self.lose(peer, true),
                Frame::Hello { .. } | Frame::Welcome | Frame::Refused(_) | Frame::Part { .. } => break,
            }
            self.changed.notify_all();
        }
        self.lose(peer, false);
    }

    /// Which rank is gone.
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
        match self.rank {
            0 => self.add(0, exchange, bytes.to_vec()),
            _ => self.send(0, &Frame::Part { exchange, bytes: bytes.to_vec() }),
        }
        let mut state = self.state();
        let deadline = Instant::now() + limit;
        loop {
            if let Some(parts) = state.wholes.remove(&exchange) {
                return Ok(parts);
            }
            if let Some(gone) = state.gone() {
                return Err(gone);
            }
            let Some(rest) = rest(deadline) else { break };
            state = self.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        Err(BootstrapError::Late { rank: self.rank, missing: self.ask(exchange), limit })
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

    /// On rank 0: adds a part, and tells everybody when it was the last one.
    fn add(&self, from: usize, exchange: u64, bytes: Vec<u8>) {
        // Held while the parts are sent, so that no rank hears that another is gone before it has what that one sent.
        let mut state = self.state();
        let parts = state.parts.entry(exchange).or_insert_with(|| vec![None; self.ranks]);
        parts[from] = Some(bytes);
        if parts.iter().all(Option::is_some) {
            let parts: Vec<Vec<u8>> = state.parts.remove(&exchange).into_iter().flatten().flatten().collect();
            let whole = Frame::Whole { exchange, parts };
            self.send_all(&whole);
            if let Frame::Whole { parts, .. } = whole {
                state.wholes.insert(exchange, parts);
            }
            self.changed.notify_all();
        }
    }

    /// A rank is gone: on rank 0, the others are told.
    fn lose(&self, rank: usize, left: bool) {
        let mut state = self.state();
        if !state.leaving && state.gone.is_none() {
            state.gone = Some((rank, left));
            if self.rank == 0 {
                self.send_all(&Frame::Gone { rank, left });
            }
            self.changed.notify_all();
        }
    }

    /// On rank 0: who has not come to an exchange.
    fn missing(&self, exchange: u64) -> Vec<usize> {
        let state = self.state();
        let has_come = |rank: &usize| state.parts.get(&exchange).is_some_and(|parts| parts[*rank].is_some());
        (0..self.ranks).filter(|rank| !has_come(rank)).collect()
    }

    /// Who has not come to an exchange; nobody if rank 0 does not say within a second.
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

    fn writer(&self, peer: usize) -> MutexGuard<'_, Option<TcpStream>> {
        self.writers[peer].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn gone(&self) -> Option<BootstrapError> {
        let (rank, left) = self.gone?;
        let how = if left { "it left the group while others went on" } else { "its connection closed" };
        Some(BootstrapError::Gone { rank, how })
    }
}

/// The time until a moment, if it is still to come.
pub(super) fn rest(deadline: Instant) -> Option<Duration> {
    Some(deadline.saturating_duration_since(Instant::now())).filter(|rest| !rest.is_zero())
}
