//! Processes connected by TCP: rank 0 listens, and all other ranks connect to it.

mod answer;
mod deadline;
mod door;
mod frame;
mod guest;
mod hello;
mod links;
mod nonce;
mod patient;
mod proof;
mod queue;
mod reach;

use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hpmoe_kernels::printable::printable;

use super::error::Besides;
use super::place::check_number;
use super::{Bootstrap, BootstrapError, Cancel, Joining, Place, Strangers};
use answer::Refusal;
use deadline::{deadline, rest};
use door::Door;
use frame::Frame;
use guest::Arrival;
use links::Links;
use patient::Patient;
pub(super) use queue::lengthen;
use reach::reach;

/// Maximum size, in bytes, of a frame that rank 0 sends before all ranks have joined.
const MOST_BEFORE: u64 = 1 << 16;

/// A [`Bootstrap`] over TCP. Rank 0 listens, and the other ranks connect to it. If the connection to a rank closes, that rank counts as
/// gone, and all other ranks are notified.
///
/// [`Joining`] decides who may join. Connections from strangers cost rank 0 little, are counted ([`Strangers`]), and never end rank 0's
/// wait for its ranks. Data between ranks is not encrypted.
pub struct TcpBootstrap {
    links: Arc<Links>,
    /// Number of the next exchange.
    next: Mutex<u64>,
    readers: Vec<JoinHandle<()>>,
    strangers: Strangers,
}

impl TcpBootstrap {
    /// Joins the group, and returns once all its ranks have joined.
    ///
    /// # Errors
    ///
    /// If rank 0 can't listen or can't be reached, a rank does not join within the time limit, rank 0 refuses this rank, the ranks were
    /// started for different numbers of ranks, or the wait is cancelled.
    pub fn join(place: &Place, joining: &Joining) -> Result<Self, BootstrapError> {
        let Place { rank, ranks, .. } = *place;
        check_number(rank, ranks)?;
        joining.end_with_starter(rank)?;
        match rank {
            0 => Self::host_at(joining.listen_at(place)?, place, joining),
            _ => Self::reach(place, joining),
        }
    }

    /// Joins the group as rank 0 with an existing listener ([`Joining::listen`]), for programs that tell its port to
    /// the other ranks.
    ///
    /// # Errors
    ///
    /// As [`join`](Self::join).
    pub fn host(listener: TcpListener, ranks: usize, joining: &Joining) -> Result<Self, BootstrapError> {
        let address = listener.local_addr().map_or_else(|_| "its address".to_owned(), |address| address.to_string());
        Self::host_at(listener, &Place::new(0, ranks, address), joining)
    }

    fn host_at(listener: TcpListener, place: &Place, joining: &Joining) -> Result<Self, BootstrapError> {
        check_number(0, place.ranks)?;
        joining.may_listen_by(&listener)?;
        let no_listener = |error: io::Error| place.no_listener(&error);
        listener.set_nonblocking(true).map_err(no_listener)?;
        lengthen(&listener);
        let _told = place.tell(&listener)?;
        let (limit, ranks) = (joining.limit, place.ranks);
        let address = match listener.local_addr() {
            Ok(found) if place.file.is_some() => found.to_string(),
            _ => place.address.clone(),
        };
        let deadline = deadline(limit);
        let mut joined = Self::alone(0, ranks, joining);
        let mut door = Door::new(&listener, joining)?;
        loop {
            let missing = joined.links.unconnected();
            if missing.is_empty() {
                break;
            }
            if let Some(gone) = joined.links.gone() {
                return Err(gone);
            }
            if joining.cancel.is_cancelled() {
                return Err(BootstrapError::Cancelled { rank: 0 });
            }
            if let Some(starved) = door.starved() {
                return Err(starved);
            }
            if rest(deadline).is_none() {
                let Door { strangers, refused, .. } = door;
                let besides = Box::new(Besides { strangers, refused, longer: joining.longer() });
                return Err(BootstrapError::Missing { missing, ranks, address, limit, besides });
            }
            for arrival in door.round() {
                joined.admit(arrival, &mut door.strangers, joining)?;
            }
            door.pause();
        }
        joined.strangers = door.close();
        joined.links.send_all(&Frame::Welcome(joined.strangers));
        Ok(joined)
    }

    /// On rank 0: admits a rank of the job, or refuses it if it does not fit this group.
    fn admit(&mut self, arrival: Arrival, strangers: &mut Strangers, joining: &Joining) -> Result<(), BootstrapError> {
        let (rank, ranks, mine) = (arrival.hello.rank as usize, arrival.hello.ranks as usize, self.links.ranks);
        if ranks != mine {
            arrival.refuse(Refusal::Ranks(u32::try_from(mine).unwrap_or(u32::MAX)));
            strangers.misplaced += 1;
            // With a secret, it is one of ours in any case, and the job can't begin.
            return match joining.secret {
                None => Ok(()),
                Some(_) => {
                    let problem = format!("rank {rank} was started for {ranks} ranks and rank 0 for {mine}");
                    self.links.send_all(&Frame::Refused(problem.clone()));
                    Err(BootstrapError::Mismatch(problem))
                }
            };
        }
        if !self.links.unconnected().contains(&rank) {
            arrival.refuse(Refusal::Taken);
            strangers.misplaced += 1;
            return Ok(());
        }
        match arrival.accept() {
            Ok(stream) => self.attach(rank, stream),
            Err(_) => {
                strangers.silent += 1;
                Ok(())
            }
        }
    }

    /// On other ranks: connects to rank 0, and waits until all ranks have joined.
    fn reach(place: &Place, joining: &Joining) -> Result<Self, BootstrapError> {
        let Place { rank, ranks, .. } = *place;
        let limit = joining.limit;
        let deadline = deadline(limit);
        let (stream, address) = reach(place, joining, deadline)?;
        let mut patient = Patient { stream: &stream, deadline, cancel: &joining.cancel };
        let strangers = match Frame::read(&mut patient, MOST_BEFORE) {
            Ok(Frame::Welcome(strangers)) => strangers,
            Ok(Frame::Refused(problem)) => {
                return Err(BootstrapError::Mismatch(printable(&problem).into_owned()));
            }
            Ok(Frame::Gone { rank, .. }) => {
                return Err(BootstrapError::Gone { rank, how: "its connection closed before all ranks had joined" });
            }
            Err(_) if joining.cancel.is_cancelled() => return Err(BootstrapError::Cancelled { rank }),
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                let longer = joining.longer();
                return Err(BootstrapError::Incomplete { rank, ranks, address, limit, longer });
            }
            Ok(_) | Err(_) => {
                return Err(BootstrapError::Gone { rank: 0, how: "its connection closed before all ranks had joined" });
            }
        };
        let mut joined = Self::alone(rank, ranks, joining);
        joined.strangers = strangers;
        joined.attach(0, stream)?;
        Ok(joined)
    }

    /// Makes the connection object of a rank that is connected to no other.
    fn alone(rank: usize, ranks: usize, joining: &Joining) -> Self {
        let links = Links::new(rank, ranks, joining.cancel.clone());
        Self { links: Arc::new(links), next: Mutex::new(0), readers: Vec::new(), strangers: Strangers::default() }
    }

    /// Stores the connection to a peer and starts the thread that reads it.
    fn attach(&mut self, peer: usize, stream: TcpStream) -> Result<(), BootstrapError> {
        let unusable =
            |error: io::Error| BootstrapError::Failed(format!("the connection to rank {peer} failed ({error})"));
        stream.set_read_timeout(None).map_err(unusable)?;
        // One descriptor for both directions: a process has few.
        let stream = Arc::new(stream);
        self.links.connect(peer, Arc::clone(&stream));
        let links = Arc::clone(&self.links);
        let reader = thread::Builder::new().name(format!("reads rank {peer}"));
        let reader = reader.spawn(move || links.read(peer, &stream));
        self.readers.push(reader.map_err(|error| BootstrapError::no_thread(self.links.rank, &error))?);
        Ok(())
    }
}

impl Bootstrap for TcpBootstrap {
    fn rank(&self) -> usize {
        self.links.rank
    }

    fn ranks(&self) -> usize {
        self.links.ranks
    }

    fn all_gather(&self, bytes: &[u8], limit: Duration) -> Result<Vec<Vec<u8>>, BootstrapError> {
        if bytes.len() > frame::MOST_PART {
            return Err(BootstrapError::Part { bytes: bytes.len(), most: frame::MOST_PART });
        }
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let exchange = *next;
        *next += 1;
        self.links.exchange(exchange, bytes, limit)
    }

    fn gone(&self) -> Option<BootstrapError> {
        self.links.gone()
    }

    fn cancel(&self) -> Option<Cancel> {
        Some(self.links.cancel.clone())
    }

    fn strangers(&self) -> Strangers {
        self.strangers
    }
}

impl Drop for TcpBootstrap {
    fn drop(&mut self) {
        self.links.leave();
        for reader in self.readers.drain(..) {
            // Its connection is closed. A reader that panicked has nothing more to say.
            let _ = reader.join();
        }
    }
}

impl std::fmt::Debug for TcpBootstrap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rank, ranks) = (self.links.rank, self.links.ranks);
        f.debug_struct("TcpBootstrap").field("rank", &rank).field("ranks", &ranks).finish_non_exhaustive()
    }
}
