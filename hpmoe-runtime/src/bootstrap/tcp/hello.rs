//! The greeting between rank 0 and whoever connects: messages of fixed sizes, which need no memory before it is known who sends them.
//!
//! A rank says hello, rank 0 challenges it, the rank proves that it knows the secret, and rank 0 lets it in with a proof of its own.

use super::proof::Proof;

/// A number that is used once.
pub(super) type Nonce = [u8; 32];

/// The first bytes of a rank: this protocol and, last, its version.
const FROM_RANK: [u8; 16] = *b"hpmoe-join-rank2";

/// The first bytes of rank 0.
const FROM_RANK_0: [u8; 16] = *b"hpmoe-join-zero2";

/// Bytes of a hello, the only thing that is read of a stranger.
pub(super) const HELLO_BYTES: usize = 96;

/// Bytes of each answer of rank 0.
pub(super) const ANSWER_BYTES: usize = 56;

/// The first message of a rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hello {
    pub(super) rank: u32,
    pub(super) ranks: u32,
    /// Whether it has a secret.
    pub(super) confided: bool,
    /// Of the name of its job.
    pub(super) job: [u8; 32],
    pub(super) nonce: Nonce,
}

/// A hello that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoHello {
    /// Of another version of this protocol.
    Version,
    /// Of something else.
    Foreign,
}

impl Hello {
    pub(super) fn bytes(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..16].copy_from_slice(&FROM_RANK);
        bytes[16..20].copy_from_slice(&self.rank.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.ranks.to_le_bytes());
        bytes[24] = self.confided.into();
        bytes[32..64].copy_from_slice(&self.job);
        bytes[64..].copy_from_slice(&self.nonce);
        bytes
    }

    pub(super) fn read(bytes: &[u8; HELLO_BYTES]) -> Self {
        Self {
            rank: number(&bytes[16..20]),
            ranks: number(&bytes[20..24]),
            confided: bytes[24] != 0,
            job: array(&bytes[32..64]),
            nonce: array(&bytes[64..]),
        }
    }

    /// Whether the first bytes can't be those of a hello.
    pub(super) fn refuse(start: &[u8]) -> Option<NoHello> {
        let (name, whole) = (&FROM_RANK[..15], &start[..start.len().min(16)]);
        if whole == &FROM_RANK[..whole.len()] {
            None
        } else if whole.len() == 16 && whole[..15] == *name {
            Some(NoHello::Version)
        } else if whole[..whole.len().min(15)] == name[..whole.len().min(15)] {
            None
        } else {
            Some(NoHello::Foreign)
        }
    }
}

/// A message of rank 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// Asks for a proof.
    Challenge(Nonce),
    /// The rank is in; rank 0 proves, too.
    Accepted(Proof),
    /// The rank is not let in.
    Refused(Refusal),
}

/// Why a rank is not let in. The reasons are numbers: no text of a stranger is shown to anybody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    Version,
    OtherJob,
    /// Rank 0 has a secret, and the rank has none.
    NoSecret,
    /// The rank has a secret, and rank 0 has none.
    UnknownSecret,
    /// The proof is wrong.
    Unproven,
    /// Rank 0 was started for so many ranks.
    Ranks(u32),
    /// Another process is this rank.
    Taken,
}

impl Answer {
    pub(super) fn bytes(&self) -> [u8; ANSWER_BYTES] {
        let (kind, value, data) = match self {
            Self::Challenge(nonce) => (0, 0, *nonce),
            Self::Accepted(proof) => (1, 0, *proof),
            Self::Refused(Refusal::Version) => (2, 0, [0; 32]),
            Self::Refused(Refusal::OtherJob) => (3, 0, [0; 32]),
            Self::Refused(Refusal::NoSecret) => (4, 0, [0; 32]),
            Self::Refused(Refusal::UnknownSecret) => (5, 0, [0; 32]),
            Self::Refused(Refusal::Unproven) => (6, 0, [0; 32]),
            Self::Refused(Refusal::Ranks(ranks)) => (7, *ranks, [0; 32]),
            Self::Refused(Refusal::Taken) => (8, 0, [0; 32]),
        };
        let mut bytes = [0; ANSWER_BYTES];
        bytes[..16].copy_from_slice(&FROM_RANK_0);
        bytes[16..20].copy_from_slice(&u32::to_le_bytes(kind));
        bytes[20..24].copy_from_slice(&u32::to_le_bytes(value));
        bytes[24..].copy_from_slice(&data);
        bytes
    }

    /// `None` if it is not one of rank 0 of this protocol.
    pub(super) fn read(bytes: &[u8; ANSWER_BYTES]) -> Option<Self> {
        let (kind, value, data) = (number(&bytes[16..20]), number(&bytes[20..24]), array(&bytes[24..]));
        if bytes[..16] != FROM_RANK_0 {
            return None;
        }
        Some(match kind {
            0 => Self::Challenge(data),
            1 => Self::Accepted(data),
            2 => Self::Refused(Refusal::Version),
            3 => Self::Refused(Refusal::OtherJob),
            4 => Self::Refused(Refusal::NoSecret),
            5 => Self::Refused(Refusal::UnknownSecret),
            6 => Self::Refused(Refusal::Unproven),
            7 => Self::Refused(Refusal::Ranks(value)),
            8 => Self::Refused(Refusal::Taken),
            _ => return None,
        })
    }

    /// Whether the first bytes can't be those of an answer.
    pub(super) fn refuse(start: &[u8]) -> bool {
        let whole = &start[..start.len().min(16)];
        whole != &FROM_RANK_0[..whole.len()]
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(array(bytes))
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the length is fixed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_are_read_as_they_were_written() {
        let hello = Hello { rank: 2, ranks: 4, confided: true, job: [5; 32], nonce: [6; 32] };
        assert_eq!(Hello::read(&hello.bytes()), hello);
        let refusals =
            [Refusal::Version, Refusal::OtherJob, Refusal::NoSecret, Refusal::UnknownSecret, Refusal::Unproven];
        let refusals = refusals.into_iter().chain([Refusal::Ranks(3), Refusal::Taken]);
        let answers = [Answer::Challenge([1; 32]), Answer::Accepted([2; 32])];
        for answer in answers.into_iter().chain(refusals.map(Answer::Refused)) {
            assert_eq!(Answer::read(&answer.bytes()), Some(answer));
        }
        let mut unknown = Answer::Challenge([1; 32]).bytes();
        unknown[16] = 77;
        assert_eq!(Answer::read(&unknown), None);
    }

    /// A stranger is known by its first byte, and a rank of another version by the last one of the name.
    #[test]
    fn what_is_no_greeting_is_known_as_soon_as_it_can_be() {
        let hello = Hello { rank: 2, ranks: 4, confided: true, job: [5; 32], nonce: [6; 32] }.bytes();
        for count in 0..=HELLO_BYTES {
            assert_eq!(Hello::refuse(&hello[..count]), None, "{count}");
        }
        assert_eq!(Hello::refuse(b"G"), Some(NoHello::Foreign));
        assert_eq!(Hello::refuse(b"hpmoe-join-rankX"), Some(NoHello::Version));
        assert_eq!(Hello::refuse(b"hpmoe-join-zero2"), Some(NoHello::Foreign));
        assert_eq!(Hello::refuse(&[0x21, 0, 0, 0, 0, 0, 0, 0]), Some(NoHello::Foreign), "the first version");
        assert!(Answer::refuse(b"H") && Answer::refuse(&hello) && !Answer::refuse(b"hpmoe-join"));
    }
}
