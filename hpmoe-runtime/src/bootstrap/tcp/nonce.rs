//! Random numbers that are used once.

use hmac_sha256::HMAC;

/// A number that is used once.
pub(super) type Nonce = [u8; 32];

/// A generator of numbers that are used once. All derive from one random number, so later ones need no system call.
pub(super) struct Nonces {
    seed: [u8; 32],
    used: u64,
}

impl Nonces {
    pub(super) const fn new(seed: [u8; 32]) -> Self {
        Self { seed, used: 0 }
    }

    pub(super) fn next(&mut self) -> Nonce {
        self.used += 1;
        HMAC::mac(self.used.to_le_bytes(), self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_are_used_once() {
        let mut nonces = Nonces::new([1; 32]);
        let mut all: Vec<Nonce> = (0..1000).map(|_| nonces.next()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1000);
        assert_ne!(Nonces::new([2; 32]).next(), Nonces::new([1; 32]).next());
    }
}
