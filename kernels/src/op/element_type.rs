//! Element types of tensors and tiles.

use std::fmt;

/// An element type of tensors and tiles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(non_camel_case_types, reason = "spelled as in user code and in AscendC")]
pub enum ElementType {
    /// 8 exponent bits, 7 fraction bits.
    bf16,
    /// IEEE half precision: 5 exponent bits, 10 fraction bits.
    f16,
    /// IEEE single precision.
    f32,
    /// 32-bit two's complement.
    i32,
    /// 8-bit two's complement.
    i8,
    /// Two numbers of 4 bits in two's complement, in one byte: the first of two columns in its lower half.
    i4x2,
}

impl ElementType {
    /// All element types.
    pub const ALL: [Self; 6] = [Self::bf16, Self::f16, Self::f32, Self::i32, Self::i8, Self::i4x2];

    /// The name in Rust source.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::bf16 => "bf16",
            Self::f16 => "f16",
            Self::f32 => "f32",
            Self::i32 => "i32",
            Self::i8 => "i8",
            Self::i4x2 => "i4x2",
        }
    }

    /// The AscendC name of the type that copies use for elements of this type.
    #[must_use]
    pub const fn ascendc(self) -> &'static str {
        match self {
            Self::bf16 => "bfloat16_t",
            Self::f16 => "half",
            Self::f32 => "float",
            Self::i32 => "int32_t",
            Self::i8 | Self::i4x2 => "int8_t",
        }
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::i8 | Self::i4x2 => 1,
            Self::bf16 | Self::f16 => 2,
            Self::f32 | Self::i32 => 4,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
