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

impl OnChipMemory {
    /// The argument of a task's attribute that gives the bytes of it.
    pub(crate) const fn argument(self) -> &'static str {
        match self {
            Self::Ub => "ub",
            Self::L1 => "l1",
            Self::L0A => "l0a",
            Self::L0B => "l0b",
            Self::L0C => "l0c",
        }
    }
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
