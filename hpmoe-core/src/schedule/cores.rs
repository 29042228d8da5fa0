//! The number of cores of a rank.

use crate::target::Target;

/// The number of cores of a rank, by kind. Each of these cores has a role in a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cores {
    /// Number of matrix cores (AIC).
    pub aic: u32,
    /// Number of vector cores (AIV).
    pub aiv: u32,
}

impl Cores {
    /// The cores of one die of an Ascend A3.
    pub const ASCEND_A3: Self = Self::with_matrix_cores(24);

    /// The maximum number of matrix cores of a die: a target has at most 1,024 vector cores, two for each matrix core.
    pub const MOST_MATRIX: u32 = 512;

    /// The cores of a die with `aic` matrix cores and two vector cores for each. Some chips of the Ascend family have 20 matrix cores.
    #[must_use]
    pub const fn with_matrix_cores(aic: u32) -> Self {
        Self { aic, aiv: 2 * aic }
    }

    /// A copy of `target` with these numbers of cores; all other constants are unchanged.
    #[must_use]
    pub fn on(self, target: &Target) -> Target {
        let mut target = target.clone();
        (target.cores.aic, target.cores.aiv) = (self.aic, self.aiv);
        target
    }
}
