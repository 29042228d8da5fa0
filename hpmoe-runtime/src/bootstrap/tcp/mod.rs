//! Processes joined by TCP: rank 0 listens, all others are connected to it.

mod frame;
mod links;

use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use super::{Bootstrap, BootstrapError, Place};
use frame::{Frame, MAGIC};
use links::{Links, rest};

/// The time between two looks for a peer that has not come.
const PAUSE: Duration = Duration::from_millis(5);

/// The time that whoever connects has to say who it is.
const GREETING: Duration = Duration::from_secs(1);

/// The time that a peer may take to receive what is sent to it.
const SENDING: Duration = Duration::from_secs(10);

/// A [`Bootstrap`] over TCP. Rank 0 listens; a connection that closes is the death of its rank, which all others hear of.
pub struct TcpBootstrap {
    links: Arc<Links>,
    /// Number of the next exchange.
    next: Mutex<u64>,
    readers: Vec<JoinHandle<()>>,
}

impl TcpBootstrap {
    /// Joins the group and returns once all of its ranks have.
    ///
    /// # Errors
    ///
    /// If rank 0 can't listen, a rank does not come within `limit`, or the processes do not fit together.
    pub fn join(place: &Place, limit: Duration) -> Result<Self, BootstrapError> {
        let Place { rank, ranks, address } = place;
        if rank >= ranks {
            return Err(BootstrapError::Rank { rank: *rank, ranks: *ranks });
        }
        if *rank != 0 {
            return Self::reach(place, limit);
        }
        let no_listener =
            |error: io::Error| BootstrapError::Listen { address: address.clone(), cause: error.to_string() };
        Self::host(TcpListener::bind(address).map_err(no_listener)?, *ranks, limit)
    }

    /// Joins the group as rank 0, with a listener that exists: for programs that start the other ranks themselves and tell
    /// them its port.
    ///
    /// # Errors
    ///
    /// As [`join`](Self::join).
    pub fn host(listener: TcpListener, ranks: usize, limit: Duration) -> Result<Self, BootstrapError> {
        let address = listener.local_addr().map_or_else(|_| "its address".to_owned(), |address| address.to_string());
        let no_listener =
            |error: io::Error| BootstrapError::Listen { address: address.clone(), cause: error.to_string() };
        listener.set_nonblocking(true).map_err(no_listener)?;
        let mut joined = Self::alone(0, ranks);
        let deadline = Instant::now() + limit;
        loop {
            let missing = joined.links.unconnected();
            if missing.is_empty() {
                break;
            }
            if let Some(gone) = joined.links.gone() {
                return Err(gone);
            }
            match listener.accept() {
                Ok((stream, _)) => joined.greet(stream)?,
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(no_listener(error)),
                Err(_) if rest(deadline).is_none() => {
                    return Err(BootstrapError::Missing { missing, ranks, address, limit });
                }
                Err(_) => sleep(PAUSE),
            }
        }
        joined.links.send_all(&Frame::Welcome);
        Ok(joined)
    }

    /// Rank 0: takes a peer in. Strangers are sent away; a peer of another group ends the join of all.
    fn greet(&mut self, stream: TcpStream) -> Result<(), BootstrapError> {
        let ready = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(GREETING)));
        let Ok(Frame::Hello { magic, rank, ranks }) = ready.and_then(|()| Frame::read(&stream)) else { return Ok(()) };
        let mine = self.links.ranks;
        let problem = if magic != MAGIC {
            Some(format!("rank {rank} speaks `{}` and rank 0 `{}`", lossy(&magic), lossy(MAGIC)))
        } else if ranks != mine {
            Some(format!("rank {rank} was started for {ranks} ranks and rank 0 for {mine}"))
        } else if rank == 0 || rank >= mine || !self.links.unconnected().contains(&rank) {
            Some(format!("two processes were started as rank {rank}, or it is none of the {mine} ranks"))
        } else {
            None
        };
        match problem {
            None => self.attach(rank, stream),
            Some(problem) => {
                let _ = Frame::Refused(problem.clone()).write(&stream);
                self.links.send_all(&Frame::Refused(problem.clone()));
                Err(BootstrapError::Mismatch(problem))
            }
        }
    }

    /// Any other rank: connects to rank 0 and waits until all ranks are there.
    fn reach(place: &Place, limit: Duration) -> Result<Self, BootstrapError> {
        let Place { rank, ranks, address } = place.clone();
        let deadline = Instant::now() + limit;
        let unreached = |error: io::Error| BootstrapError::Connect {
            rank,
            address: address.clone(),
            limit,
            cause: error.to_string(),
        };
        let stream = loop {
            match connect(&address, deadline) {
                Ok(stream) => break stream,
                Err(error) if rest(deadline).is_none() => return Err(unreached(error)),
                Err(_) => sleep(PAUSE),
            }
        };
        Frame::Hello { magic: MAGIC.to_vec(), rank, ranks }.write(&stream).map_err(unreached)?;
        stream.set_read_timeout(Some(rest(deadline).unwrap_or(PAUSE))).map_err(unreached)?;
        match Frame::read(&stream) {
            Ok(Frame::Welcome) => {}
            Ok(Frame::Refused(problem)) => return Err(BootstrapError::Mismatch(problem)),
            Ok(Frame::Gone { rank, .. }) => {
                return Err(BootstrapError::Gone { rank, how: "its connection closed before all ranks had joined" });
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(BootstrapError::Failed(format!(
                    "rank {rank} joined rank 0 at {address}, but not all of {ranks} ranks did within {limit:?}: rank 0 \
                     says which; start them, or raise the limit"
                )));
            }
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(BootstrapError::Failed(format!(
                    "what answers rank {rank} at {address} is not rank 0 of this group: choose another port by HPMOE_PORT, \
                     for all ranks"
                )));
            }
            Ok(_) | Err(_) => {
                return Err(BootstrapError::Gone { rank: 0, how: "its connection closed before all ranks had joined" });
            }
        }
        let mut joined = Self::alone(rank, ranks);
        joined.attach(0, stream)?;
        Ok(joined)
    }

    /// A rank that is connected with nobody yet.
    fn alone(rank: usize, ranks: usize) -> Self {
        Self { links: Arc::new(Links::new(rank, ranks)), next: Mutex::new(0), readers: Vec::new() }
    }

    /// Keeps a connection and starts the thread that reads it.
    fn attach(&mut self, peer: usize, stream: TcpStream) -> Result<(), BootstrapError> {
        let no_copy =
            |error: io::Error| BootstrapError::Failed(format!("the connection to rank {peer} failed ({error})"));
        stream.set_read_timeout(None).and_then(|()| stream.set_write_timeout(Some(SENDING))).map_err(no_copy)?;
        stream.set_nodelay(true).map_err(no_copy)?;
        self.links.connect(peer, stream.try_clone().map_err(no_copy)?);
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
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let exchange = *next;
        *next += 1;
        self.links.exchange(exchange, bytes, limit)
    }

    fn gone(&self) -> Option<BootstrapError> {
        self.links.gone()
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

/// Tries each address of a host once.
fn connect(address: &str, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, rest(deadline).unwrap_or(PAUSE)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
