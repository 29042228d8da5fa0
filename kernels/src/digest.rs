//! Digests of numbers, which processes compare to find differences: FNV-1a over the numbers' bytes.

/// The digest of an empty list.
pub const START: u64 = 0xcbf2_9ce4_8422_2325;

/// Extends a digest by one number.
#[must_use]
pub fn with(digest: u64, number: u64) -> u64 {
    number.to_le_bytes().iter().fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
