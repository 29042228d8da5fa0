//! Proofs that a process knows its job's secret, without sending it.
//!
//! The proof is an HMAC-SHA-256 from the crate `hmac-sha256`. That crate is well maintained, compares in constant time, and adds 0.3 s to a
//! user's first build (`blake2b_simd` takes 1.7 s, `hmac` with `sha2` 2.9 s, `blake3` 4.5 s in pure Rust). A job without a secret uses a
//! publicly known key, so that both kinds of jobs speak one protocol.

use hmac_sha256::{HMAC, Hash};

use super::hello::HELLO_BYTES;
use super::nonce::Nonce;
use crate::bootstrap::Secret;

/// A proof.
pub(super) type Proof = [u8; 32];

/// The side that proves. Each side's proof is computed over a different word, so that neither is valid as the other's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Rank,
    RankZero,
}

/// The key of a job.
pub(super) struct Key([u8; 32]);

impl Key {
    pub(super) fn new(secret: Option<&Secret>) -> Self {
        Self(secret.map_or([0; 32], |secret| Hash::hash(secret.bytes())))
    }

    /// The proof of a side, computed over the rank's hello and rank 0's challenge.
    pub(super) fn proof(&self, side: Side, hello: &[u8; HELLO_BYTES], challenge: &Nonce) -> Proof {
        self.mac(side, hello, challenge).finalize()
    }

    /// Whether a proof is right. The comparison takes the same time for every wrong proof.
    pub(super) fn is_right(&self, proof: &Proof, side: Side, hello: &[u8; HELLO_BYTES], challenge: &Nonce) -> bool {
        self.mac(side, hello, challenge).finalize_verify(proof)
    }

    fn mac(&self, side: Side, hello: &[u8; HELLO_BYTES], challenge: &Nonce) -> HMAC {
        let words: &[u8] = match side {
            Side::Rank => b"hpmoe: a rank proves",
            Side::RankZero => b"hpmoe: rank 0 proves",
        };
        let mut mac = HMAC::new(self.0);
        mac.update(words);
        mac.update(hello);
        mac.update(challenge);
        mac
    }
}

/// Digest of a job's name. Ranks send it instead of the name: it has a fixed length, and no text that could reach a terminal.
pub(super) fn job_digest(name: &str) -> [u8; 32] {
    Hash::hash(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_right_for_its_side_greeting_challenge_and_secret_alone() {
        let secret = |text: &str| Secret::new(text).unwrap();
        let key = Key::new(Some(&secret("a secret of a job")));
        let (hello, challenge) = ([7; HELLO_BYTES], [9; 32]);
        let proof = key.proof(Side::Rank, &hello, &challenge);
        assert!(key.is_right(&proof, Side::Rank, &hello, &challenge));
        assert!(!key.is_right(&proof, Side::RankZero, &hello, &challenge), "a reflected one");
        assert!(!key.is_right(&proof, Side::Rank, &[8; HELLO_BYTES], &challenge), "of another rank");
        assert!(!key.is_right(&proof, Side::Rank, &hello, &[8; 32]), "a replayed one");
        for other in [Key::new(None), Key::new(Some(&secret("a secret of another")))] {
            assert!(!other.is_right(&proof, Side::Rank, &hello, &challenge));
        }
        for bit in 0..256 {
            let mut wrong = proof;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!key.is_right(&wrong, Side::Rank, &hello, &challenge), "bit {bit}");
        }
    }
}
