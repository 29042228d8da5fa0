//! How other ranks connect to rank 0.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::answer::{ANSWER_BYTES, Answer, Refusal};
use super::deadline::rest;
use super::hello::Hello;
use super::nonce::Nonces;
use super::patient::Patient;
use super::proof::{Key, Side, job_digest};
use crate::bootstrap::address_file::AddressFile;
use crate::bootstrap::random::random;
use crate::bootstrap::{BootstrapError, Cancel, Joining, Place};

/// Pauses between two attempts: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(100)];

/// Maximum time of one attempt to connect. If the queue of the other system is full, it drops the first packet, and this system sends it
/// again after a second.
const CONNECTING: Duration = Duration::from_secs(2);

/// Time for which an address file may name the address of another job: rank 0 may be about to write its own.
const STALE: Duration = Duration::from_secs(5);

/// Time between two attempts while the address file names the address of another job.
const AFRESH: Duration = Duration::from_millis(250);

/// Maximum time for sending the greeting.
const SENDING: Duration = Duration::from_secs(5);

/// The reason why an attempt failed.
enum Failure {
    /// The next attempt may succeed: rank 0 does not listen yet, or dropped this connection to make room.
    Again(String),
    /// Every further attempt would fail in the same way.
    Ended(BootstrapError),
}

/// A rank that is trying to join, with all that its attempts need.
struct Traveller<'a> {
    place: &'a Place,
    /// The address of rank 0 in its last known form, or the address file if it has not been read yet.
    address: String,
    joining: &'a Joining,
    key: Key,
    nonces: Nonces,
    deadline: Instant,
}

/// Connects to rank 0, retrying until both sides have proven that they belong to one job. Returns the connection and the address.
pub(super) fn reach(
    place: &Place,
    joining: &Joining,
    deadline: Instant,
) -> Result<(TcpStream, String), BootstrapError> {
    let (key, nonces) = (Key::new(joining.secret.as_ref()), Nonces::new(random()?));
    let address = place.file.as_ref().map_or_else(|| place.address.clone(), AddressFile::named);
    let mut traveller = Traveller { place, address, joining, key, nonces, deadline };
    let mut pause = PAUSES[0];
    // The address at which a program other than rank 0 answered, and the time of its first answer.
    let mut stale: Option<(String, Instant)> = None;
    loop {
        let cause = match traveller.arrive() {
            Ok(stream) => return Ok((stream, traveller.address)),
            Err(Failure::Ended(error)) if place.file.is_some() && error.is_of_another_job() => {
                let address = &traveller.address;
                let (_, since) =
                    stale.take_if(|(other, _)| other == address).unwrap_or_else(|| (address.clone(), Instant::now()));
                if since.elapsed() > STALE || rest(deadline).is_none() {
                    return Err(error);
                }
                stale = Some((address.clone(), since));
                pause = AFRESH;
                error.to_string()
            }
            Err(Failure::Ended(error)) => return Err(error),
            Err(Failure::Again(cause)) => cause,
        };
        let (rank, address) = (place.rank, traveller.named());
        if joining.cancel.is_cancelled() {
            return Err(BootstrapError::Cancelled { rank });
        }
        if rest(deadline).is_none() {
            let (limit, way_out) = (joining.limit, place.one_address());
            return Err(BootstrapError::Connect { rank, address, limit, cause, way_out });
        }
        sleep(pause.min(rest(deadline).unwrap_or(pause)));
        pause = (2 * pause).min(PAUSES[1]);
    }
}

impl Traveller<'_> {
    /// Makes one attempt.
    fn arrive(&mut self) -> Result<TcpStream, Failure> {
        let again = |error: io::Error| {
            let none = BootstrapError::no_descriptor(&format!("joining rank 0 as rank {}", self.place.rank), &error);
            none.map_or_else(|| Failure::Again(error.to_string()), Failure::Ended)
        };
        if let Some(file) = &self.place.file {
            // It can change: an old one may have been left.
            self.address = file.read().map_err(again)?;
        }
        let stream = self.connect().map_err(again)?;
        stream.set_nodelay(true).and_then(|()| stream.set_write_timeout(Some(SENDING))).map_err(again)?;
        let hello = self.hello().bytes();
        (&stream).write_all(&hello).map_err(again)?;
        let challenge = match self.answer(&stream)? {
            Answer::Challenge(challenge) => challenge,
            Answer::Refused(why) => return Err(self.refused(why)),
            Answer::Accepted(_) => return Err(self.foreign()),
        };
        (&stream).write_all(&self.key.proof(Side::Rank, &hello, &challenge)).map_err(again)?;
        match self.answer(&stream)? {
            Answer::Accepted(proof) if self.key.is_right(&proof, Side::RankZero, &hello, &challenge) => Ok(stream),
            Answer::Accepted(_) => Err(self.unproven("rank 0 did not prove that it knows the secret of this rank")),
            Answer::Refused(why) => Err(self.refused(why)),
            Answer::Challenge(_) => Err(self.foreign()),
        }
    }

    /// The address of rank 0, as messages show it.
    fn named(&self) -> String {
        match &self.place.file {
            Some(file) if self.address != file.named() => format!("{}, {}", self.address, file.named()),
            _ => self.address.clone(),
        }
    }

    fn hello(&mut self) -> Hello {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Hello {
            rank: number(self.place.rank),
            ranks: number(self.place.ranks),
            confided: self.joining.secret.is_some(),
            job: job_digest(&self.joining.job),
            nonce: self.nonces.next(),
        }
    }

    /// Tries each address of the host once.
    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
        for address in self.address.to_socket_addrs()? {
            match self.connect_to(&address) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn connect_to(&self, address: &SocketAddr) -> io::Result<TcpStream> {
        let limit = rest(self.deadline).unwrap_or(PAUSES[0]).min(CONNECTING);
        let stream = TcpStream::connect_timeout(address, limit)?;
        // While nothing listens, a system can give the connection the very port that it looks for, and connects it with itself.
        if stream.local_addr()? == stream.peer_addr()? {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        Ok(stream)
    }

    /// Waits for rank 0's next answer.
    fn answer(&self, stream: &TcpStream) -> Result<Answer, Failure> {
        let (deadline, cancel): (_, &Cancel) = (self.deadline, &self.joining.cancel);
        let mut patient = Patient { stream, deadline, cancel };
        let (mut bytes, mut filled) = ([0; ANSWER_BYTES], 0);
        while filled < ANSWER_BYTES {
            match patient.read(&mut bytes[filled..]) {
                Ok(0) => return Err(Failure::Again("it closed the connection without an answer".to_owned())),
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    return Err(Failure::Again("it accepted the connection and did not answer".to_owned()));
                }
                Err(error) => return Err(Failure::Again(error.to_string())),
            }
            // Another program's server is known by its first byte.
            if Answer::refuse(&bytes[..filled]) {
                return Err(self.foreign());
            }
        }
        Answer::read(&bytes).ok_or_else(|| self.foreign())
    }

    fn foreign(&self) -> Failure {
        let (rank, address) = (self.place.rank, self.address.clone());
        Failure::Ended(BootstrapError::Foreign { rank, address, way_out: self.place.elsewhere() })
    }

    fn unproven(&self, why: &'static str) -> Failure {
        let (rank, address) = (self.place.rank, self.address.clone());
        Failure::Ended(BootstrapError::Secret { rank, address, why, confiding: self.joining.confiding() })
    }

    fn refused(&self, why: Refusal) -> Failure {
        let Place { rank, ranks, .. } = *self.place;
        let address = self.address.clone();
        let job = &self.joining.job;
        Failure::Ended(match why {
            Refusal::Version => BootstrapError::Mismatch(format!("rank {rank} and rank 0 use different protocols")),
            Refusal::OtherJob => {
                BootstrapError::OtherJob { rank, address, job: job.clone(), naming: self.joining.naming() }
            }
            Refusal::NoSecret => return self.unproven("rank 0 has one, but this rank has none"),
            Refusal::UnknownSecret => return self.unproven("this rank has one, but rank 0 has none"),
            Refusal::Unproven => return self.unproven("their secrets differ"),
            Refusal::Ranks(others) => {
                BootstrapError::Mismatch(format!("rank {rank} was started for {ranks} ranks and rank 0 for {others}"))
            }
            Refusal::Taken => BootstrapError::Failed(format!(
                "two processes were started as rank {rank}: number the processes from 0 to {}, each by its own number",
                ranks - 1
            )),
        })
    }
}
