//! Numbers of four bits.

use std::fmt;

/// Two 4-bit integers, -8 to 7 each, in one byte; the lower half holds the first of two neighbouring columns. A tensor
/// of `i4x2` has half as many columns as numbers.
///
/// ```
/// use hpmoe_kernels::i4x2;
///
/// let pair = i4x2::new(-1, 7);
/// assert_eq!((pair.to_bits(), pair.numbers()), (0x7f, [-1, 7]));
/// assert_eq!(i4x2::pack(&[1, 2, -8, 0]), [i4x2::new(1, 2), i4x2::new(-8, 0)]);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[expect(non_camel_case_types, reason = "spelled as other element types")]
pub struct i4x2(u8);

impl i4x2 {
    /// Packs two numbers.
    ///
    /// # Panics
    ///
    /// If a number is not within -8..=7.
    #[must_use]
    pub fn new(first: i8, second: i8) -> Self {
        for number in [first, second] {
            assert!((-8..8).contains(&number), "{number} is not a number of 4 bits, -8 to 7");
        }
        Self::from_bits(first as u8 & 15 | (second as u8) << 4)
    }

    /// Packs numbers two by two. Several rows can be packed at once, row after row, if each has an even number of columns.
    ///
    /// # Panics
    ///
    /// If the number of numbers is odd, or a number is not within -8..=7.
    #[must_use]
    pub fn pack(numbers: &[i8]) -> Vec<Self> {
        let pairs = numbers.chunks_exact(2);
        assert!(pairs.remainder().is_empty(), "{} numbers are not whole pairs", numbers.len());
        pairs.map(|pair| Self::new(pair[0], pair[1])).collect()
    }

    /// Makes a pair from its byte, with the first number in the lower half.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The byte that holds both numbers.
    #[must_use]
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// The two numbers, each from -8 to 7. The first comes from the byte's lower half.
    #[must_use]
    pub const fn numbers(self) -> [i8; 2] {
        let byte = self.0 as i8;
        [byte << 4 >> 4, byte >> 4]
    }
}

impl fmt::Debug for i4x2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.numbers();
        write!(f, "i4x2({first}, {second})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_two_numbers() {
        for bits in 0..=u8::MAX {
            let [first, second] = i4x2::from_bits(bits).numbers();
            assert_eq!(i4x2::new(first, second).to_bits(), bits);
        }
        assert_eq!(format!("{:?}", i4x2::from_bits(0x83)), "i4x2(3, -8)");
    }

    #[test]
    #[should_panic = "8 is not a number of 4 bits, -8 to 7"]
    fn larger_numbers_are_refused() {
        let _ = i4x2::new(0, 8);
    }
}
