//! The greeting between rank 0 and a new connection. Its messages have fixed sizes, so rank 0 allocates no memory
//! before it knows the sender.
//!
//! The rank says hello, rank 0 sends a challenge, the rank proves that it knows the secret, and rank 0 accepts it with
//! its own proof.

use super::nonce::Nonce;

/// The first bytes of each message of a rank: this protocol and, last, its version.
const FROM_RANK: [u8; 16] = *b"hpmoe-join-rank2";

/// Size of a hello, in bytes: all that rank 0 reads of a connection before its challenge.
pub(super) const HELLO_BYTES: usize = 96;

/// The first message of a rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hello {
    pub(super) rank: u32,
    pub(super) ranks: u32,
    /// Whether the rank has a secret.
    pub(super) confided: bool,
    /// Digest of the job's name.
    pub(super) job: [u8; 32],
    pub(super) nonce: Nonce,
}

/// The reason why bytes are not a hello.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoHello {
    /// A hello of another version of this protocol.
    Version,
    /// Not a hello of this protocol.
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

    /// Checks the first bytes of a message: `Some` if it can't be a hello of this version.
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

pub(super) fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(array(bytes))
}

pub(super) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the slice has the array's length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_read_as_it_was_written() {
        let hello = Hello { rank: 2, ranks: 4, confided: true, job: [5; 32], nonce: [6; 32] };
        assert_eq!(Hello::read(&hello.bytes()), hello);
    }

    /// Checks that another program is recognised by its first byte, and another version by the last byte of the
    /// protocol's name.
    #[test]
    fn what_is_no_hello_is_known_as_soon_as_it_can_be() {
        let hello = Hello { rank: 2, ranks: 4, confided: true, job: [5; 32], nonce: [6; 32] }.bytes();
        for count in 0..=HELLO_BYTES {
            assert_eq!(Hello::refuse(&hello[..count]), None, "{count}");
        }
        assert_eq!(Hello::refuse(b"G"), Some(NoHello::Foreign));
        assert_eq!(Hello::refuse(b"hpmoe-join-rankX"), Some(NoHello::Version));
        assert_eq!(Hello::refuse(b"hpmoe-join-zero2"), Some(NoHello::Foreign));
        assert_eq!(Hello::refuse(&[0x21, 0, 0, 0, 0, 0, 0, 0]), Some(NoHello::Foreign), "the first version");
    }
}
