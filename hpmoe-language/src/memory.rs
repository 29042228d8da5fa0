//! The on-chip memories of a core.

use std::fmt;

/// An on-chip memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OnChipMemory {
    /// Unified buffer of a vector core.
    Ub,
    /// Staging memory of a matrix core.
    L1,
    /// Memory of the cube's left operand.
    L0A,
    /// Memory of the cube's right operand.
    L0B,
    /// Accumulator of the cube.
    L0C,
}

impl fmt::Display for OnChipMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ub => "UB",
            Self::L1 => "L1",
            Self::L0A => "L0A",
            Self::L0B => "L0B",
            Self::L0C => "L0C",
        })
    }
}
