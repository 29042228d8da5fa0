//! Answers of rank 0 during the [greeting](super::hello).

use super::hello::{array, number};
use super::nonce::Nonce;
use super::proof::Proof;

/// The first bytes of each message of rank 0: this protocol and its version.
const FROM_RANK_0: [u8; 16] = *b"hpmoe-join-zero2";

/// Size of each answer of rank 0, in bytes.
pub(super) const ANSWER_BYTES: usize = 56;

/// A message of rank 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// Asks the rank for a proof.
    Challenge(Nonce),
    /// The rank is accepted; contains rank 0's own proof.
    Accepted(Proof),
    /// The rank is rejected.
    Refused(Refusal),
}

/// The reason why a rank is rejected. Reasons are numbers, so that no text from a stranger is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    Version,
    OtherJob,
    /// Rank 0 has a secret, but the rank has none.
    NoSecret,
    /// The rank has a secret, but rank 0 has none.
    UnknownSecret,
    /// The proof is wrong.
    Unproven,
    /// Rank 0 was started for this number of ranks, which differs from the rank's.
    Ranks(u32),
    /// Another process has joined as this rank.
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

    /// Reads an answer; `None` if the bytes are not an answer of rank 0 in this protocol.
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

    /// Whether `start`, the first bytes of a message, can't be the start of an answer.
    pub(super) fn refuse(start: &[u8]) -> bool {
        let whole = &start[..start.len().min(16)];
        whole != &FROM_RANK_0[..whole.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::hello::Hello;
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
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

    #[test]
    fn what_is_no_answer_is_known_by_its_first_bytes() {
        let hello = Hello { rank: 2, ranks: 4, confided: true, job: [5; 32], nonce: [6; 32] }.bytes();
        assert!(Answer::refuse(b"H") && Answer::refuse(&hello) && !Answer::refuse(b"hpmoe-join"));
    }
}
