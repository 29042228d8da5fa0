//! Digests of numbers, by which processes find that theirs differ: FNV-1a over their bytes.

/// The digest of no numbers.
pub const START: u64 = 0xcbf2_9ce4_8422_2325;

/// A digest with one number more.
#[must_use]
pub fn with(digest: u64, number: u64) -> u64 {
    number.to_le_bytes().iter().fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
