//! How many cores a rank has.

/// Cores of one rank, all of which the schedule uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cores {
    /// Matrix cores.
    pub aic: u32,
    /// Vector cores.
    pub aiv: u32,
}

impl Cores {
    /// One die of an Ascend A3.
    pub const ASCEND_A3: Self = Self { aic: 24, aiv: 48 };
}
