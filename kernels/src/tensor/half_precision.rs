//! Common code of the 16-bit float types: everything except rounding and widening.

/// Defines methods and traits of a 16-bit float type that has `from_f32` and `to_f32`. `$name` is the name both of the
/// type here and of the type in the crate `half`.
macro_rules! float_of_16_bits {
    ($name:ident) => {
        impl $name {
            /// Positive zero.
            pub const ZERO: Self = Self(0);

            /// The number with these bits.
            #[must_use]
            pub const fn from_bits(bits: u16) -> Self {
                Self(bits)
            }

            /// The sixteen bits, sign first.
            #[must_use]
            pub const fn to_bits(self) -> u16 {
                self.0
            }

            /// The number with these bytes, the lowest first.
            #[must_use]
            pub const fn from_le_bytes(bytes: [u8; 2]) -> Self {
                Self(u16::from_le_bytes(bytes))
            }

            /// The two bytes of the number, the lowest first.
            #[must_use]
            pub const fn to_le_bytes(self) -> [u8; 2] {
                self.0.to_le_bytes()
            }

            /// Widens exactly. A NaN becomes quiet.
            #[must_use]
            #[inline]
            pub const fn to_f64(self) -> f64 {
                self.to_f32() as f64
            }
        }

        impl From<$name> for f32 {
            fn from(value: $name) -> Self {
                value.to_f32()
            }
        }

        /// Compares as numbers: both zeros are equal, and a NaN equals nothing.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        #[cfg(any(feature = "half", test))]
        impl From<half::$name> for $name {
            fn from(value: half::$name) -> Self {
                Self(value.to_bits())
            }
        }

        #[cfg(any(feature = "half", test))]
        impl From<$name> for half::$name {
            fn from(value: $name) -> Self {
                Self::from_bits(value.0)
            }
        }
    };
}

pub(super) use float_of_16_bits;

#[cfg(test)]
mod tests {
    use crate::{bf16, f16};
    use proptest::prelude::*;

    macro_rules! is_as_in_the_crate_half {
        ($name:ident, $module:ident) => {
            mod $module {
                use super::*;

                #[test]
                fn widens_as_there() {
                    for bits in 0..=u16::MAX {
                        let expected = half::$name::from_bits(bits).to_f32_const();
                        assert_eq!($name::from_bits(bits).to_f32().to_bits(), expected.to_bits(), "{bits:#06x}");
                    }
                }

                /// Checks rounding for each number, its midpoint to the next number, and the neighbours of both,
                /// against the crate `half`.
                #[test]
                fn rounds_as_there() {
                    for bits in 0..=u16::MAX {
                        let exact = $name::from_bits(bits).to_f32().to_bits();
                        let next = $name::from_bits(bits.saturating_add(1)).to_f32().to_bits();
                        let middle = exact.midpoint(next);
                        for bits in
                            [exact, middle].into_iter().flat_map(|bits| [bits.saturating_sub(1), bits, bits | 1])
                        {
                            let value = f32::from_bits(bits);
                            let expected = half::$name::from_f32_const(value).to_bits();
                            assert_eq!($name::from_f32(value).to_bits(), expected, "{bits:#010x}");
                        }
                    }
                }

                #[test]
                fn converts_there_and_back() {
                    let bits = 0xc049;
                    let there = half::$name::from($name::from_bits(bits));
                    assert_eq!((there.to_bits(), $name::from(there).to_bits()), (bits, bits));
                }

                proptest! {
                    #[test]
                    fn any_number_rounds_as_there(bits: u32) {
                        let value = f32::from_bits(bits);
                        prop_assert_eq!($name::from_f32(value).to_bits(), half::$name::from_f32_const(value).to_bits());
                    }

                    #[test]
                    fn compares_as_numbers(left: u16, right: u16) {
                        let (a, b) = (half::$name::from_bits(left), half::$name::from_bits(right));
                        let (left, right) = ($name::from_bits(left), $name::from_bits(right));
                        prop_assert_eq!((left == right, left.partial_cmp(&right)), (a == b, a.partial_cmp(&b)));
                        prop_assert_eq!((left.to_string(), format!("{left:?}")), (a.to_string(), format!("{a:?}")));
                    }
                }
            }
        };
    }

    is_as_in_the_crate_half!(bf16, of_bf16);
    is_as_in_the_crate_half!(f16, of_f16);
}
