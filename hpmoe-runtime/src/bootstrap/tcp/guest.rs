//! One connection to rank 0 that has not yet proven which rank it is.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use super::answer::{Answer, Refusal};
use super::hello::{HELLO_BYTES, Hello, NoHello};
use super::nonce::{Nonce, Nonces};
use super::proof::{Key, Proof, Side};

/// A connection that is being greeted. It takes a few hundred bytes, needs no thread, and nothing waits for it.
pub(super) struct Guest {
    stream: TcpStream,
    /// The time when it was accepted.
    pub(super) came: Instant,
    bytes: [u8; HELLO_BYTES],
    /// Number of bytes of the current message that have arrived.
    filled: usize,
    /// The hello of the guest and the challenge for it, once the challenge has been sent.
    challenged: Option<([u8; HELLO_BYTES], Nonce)>,
}

/// The data with which rank 0 checks a guest.
pub(super) struct Terms {
    pub(super) job: [u8; 32],
    pub(super) confided: bool,
    pub(super) key: Key,
    pub(super) nonces: Nonces,
}

/// The outcome of a guest's greeting.
pub(super) enum Step {
    /// More data is needed.
    Waits,
    /// The connection is dropped, and counted as this kind of stranger.
    Leaves(Stranger),
    /// The guest has proven that it is a rank of the job. It waits for [`Arrival::accept`] or [`Arrival::refuse`].
    Arrived(Hello, Proof),
}

/// Kinds of strangers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stranger {
    Silent,
    Foreign,
    OtherJob,
    Unproven,
}

/// A connection that has proven to be a rank of the job, and waits for rank 0's answer.
pub(super) struct Arrival {
    pub(super) hello: Hello,
    /// Rank 0's own proof, for the rank.
    proof: Proof,
    stream: TcpStream,
}

impl Guest {
    /// Makes a guest of a connection that was just accepted.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, came: Instant::now(), bytes: [0; HELLO_BYTES], filled: 0, challenged: None })
    }

    /// Continues the greeting as far as possible without waiting.
    pub(super) fn advance(&mut self, terms: &mut Terms) -> Step {
        if self.challenged.is_none() {
            let hello = match self.fill(HELLO_BYTES) {
                Ok(whole) => match Hello::refuse(&self.bytes[..self.filled]) {
                    Some(NoHello::Version) => return self.refuse(Refusal::Version, Stranger::Foreign),
                    Some(NoHello::Foreign) => return Step::Leaves(Stranger::Foreign),
                    None if !whole => return Step::Waits,
                    None => Hello::read(&self.bytes),
                },
                Err(_) => return Step::Leaves(Stranger::Silent),
            };
            match (hello.job == terms.job, hello.confided, terms.confided) {
                (false, ..) => return self.refuse(Refusal::OtherJob, Stranger::OtherJob),
                (true, false, true) => return self.refuse(Refusal::NoSecret, Stranger::Unproven),
                (true, true, false) => return self.refuse(Refusal::UnknownSecret, Stranger::Unproven),
                (true, ..) => {}
            }
            let challenge = terms.nonces.next();
            if answer(&self.stream, &Answer::Challenge(challenge)).is_err() {
                return Step::Leaves(Stranger::Silent);
            }
            (self.challenged, self.filled) = (Some((self.bytes, challenge)), 0);
        }
        let Some((hello, challenge)) = self.challenged else { return Step::Waits };
        match self.fill(size_of::<Proof>()) {
            Ok(false) => Step::Waits,
            Ok(true) => {
                let proof = self.bytes.first_chunk().expect("a hello is longer than a proof");
                if terms.key.is_right(proof, Side::Rank, &hello, &challenge) {
                    Step::Arrived(Hello::read(&hello), terms.key.proof(Side::RankZero, &hello, &challenge))
                } else {
                    self.refuse(Refusal::Unproven, Stranger::Unproven)
                }
            }
            Err(_) => Step::Leaves(Stranger::Silent),
        }
    }

    /// Makes an arrival of a guest that has proven to be a rank of the job.
    pub(super) fn arrive(self, hello: Hello, proof: Proof) -> Arrival {
        Arrival { hello, proof, stream: self.stream }
    }

    /// Reads until `count` bytes have arrived or no more data is available. Returns whether all have arrived.
    fn fill(&mut self, count: usize) -> io::Result<bool> {
        while self.filled < count {
            match (&self.stream).read(&mut self.bytes[self.filled..count]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn refuse(&self, why: Refusal, stranger: Stranger) -> Step {
        // It may have gone already.
        let _ = answer(&self.stream, &Answer::Refused(why));
        Step::Leaves(stranger)
    }
}

impl Arrival {
    /// Tells the rank that it is refused, and closes the connection.
    pub(super) fn refuse(self, why: Refusal) {
        let _ = answer(&self.stream, &Answer::Refused(why));
    }

    /// Tells the rank that it is accepted, and returns its connection in blocking mode.
    pub(super) fn accept(self) -> io::Result<TcpStream> {
        answer(&self.stream, &Answer::Accepted(self.proof))?;
        self.stream.set_nonblocking(false)?;
        Ok(self.stream)
    }
}

/// Sends an answer. It never blocks: a connection gets at most two answers, which the system's buffer has room for.
fn answer(mut stream: &TcpStream, answer: &Answer) -> io::Result<()> {
    stream.write_all(&answer.bytes())
}
