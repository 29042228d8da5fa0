//! How many cores a rank has.

use crate::target::Target;

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
    pub const ASCEND_A3: Self = Self::of(24);

    /// A die with that many matrix cores, each with its two vector cores: other parts of the family have 20.
    #[must_use]
    pub const fn of(aic: u32) -> Self {
        Self { aic, aiv: 2 * aic }
    }

    /// A target with so many cores and everything else as it is.
    #[must_use]
    pub fn on(self, target: &Target) -> Target {
        let mut target = target.clone();
        (target.cores.aic, target.cores.aiv) = (self.aic, self.aiv);
        target
    }
}
