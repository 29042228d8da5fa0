//! Targets: machines described by constants, each with its source.
//!
//! A target is a TOML file; the comment after a constant says where its value comes from. Reading is strict: a key that is
//! unknown or missing, or a value out of range, is a fault with its line.

mod constants;
mod fault;
mod fingerprint;
mod kernels;
mod provenance;
mod read;
mod source;

use crate::time::Time;
pub use constants::{Cores, Cube, Fitted, Launch, Link, Memory, Original, Sync, Target, Vector};
pub use fault::FileFault;
pub(crate) use fault::without_faults;
pub use provenance::{Provenance, TargetConstant};

/// The text of the built-in target's file.
pub const ASCEND_A3: &str = include_str!("../../targets/ascend-a3.toml");

impl Target {
    /// One die of an Ascend A3, built in.
    ///
    /// ```
    /// use hpmoe_core::target::Target;
    ///
    /// let target = Target::ascend_a3();
    /// assert_eq!((target.cores.aic, target.cores.aiv), (24, 48));
    /// ```
    ///
    /// # Panics
    ///
    /// Never: a test reads the file.
    #[must_use]
    pub fn ascend_a3() -> Self {
        Self::read(ASCEND_A3).expect("the built-in target is valid")
    }

    /// The built-in target with this name. The only one is `ascend-a3`; `None` for all other names.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        (name == "ascend-a3").then(Self::ascend_a3)
    }

    /// Peak FLOP/s of one matrix core in bf16.
    #[must_use]
    pub fn cube_flops(&self) -> f64 {
        f64::from(self.cube.bf16_flop_per_cycle) * self.cores.clock_ghz * 1e9
    }

    /// FLOP/s of all matrix cores of a die at the efficiency of a fused kernel.
    #[must_use]
    pub fn fused_flops(&self) -> f64 {
        self.cube_flops() * f64::from(self.cores.aic) * self.fitted.gemm_fused_efficiency
    }

    /// Operations per second of one matrix core in int8, at the efficiency that products reach.
    #[must_use]
    pub fn int8_flops(&self) -> f64 {
        f64::from(self.cube.int8_op_per_cycle) * self.cores.clock_ghz * 1e9 * self.cube.int8_efficiency
    }

    /// Whether two ranks lie in one package.
    #[must_use]
    pub const fn same_package(&self, a: u32, b: u32) -> bool {
        a / self.link.dies_per_package == b / self.link.dies_per_package
    }

    /// The latency of a link between two ranks; zero from a rank to itself.
    #[must_use]
    pub fn way(&self, from: u32, to: u32) -> Time {
        Time::from_ns(match (from == to, self.same_package(from, to)) {
            (true, _) => 0.0,
            (false, true) => self.link.same_package_ns,
            (false, false) => self.link.other_package_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprint;

    /// The constants of the machine, with the comments that name their sources, must not change unnoticed; only the fitted ones may. If a
    /// constant is corrected by a new source, the fingerprint below must be renewed.
    #[test]
    fn nothing_but_the_fit_differs_from_the_description_of_the_machine() {
        let (described, fitted) = ASCEND_A3.split_once("[fitted]").unwrap();
        let fingerprint = Fingerprint::default().text(described).hex();
        assert_eq!((described.len(), fingerprint.as_str()), (2988, "c4eae7ed845a3746"));
        let keys: Vec<&str> = fitted.lines().skip(1).filter_map(|line| line.split(" = ").next()).collect();
        assert_eq!(keys, ["gemm_fused_efficiency", "gemm_operator_efficiency", "collective_efficiency"]);
    }
}
