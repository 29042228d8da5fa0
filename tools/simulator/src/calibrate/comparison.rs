//! Published latencies compared with simulated ones.

use super::fit::with;
use super::{Latency, PUBLISHED, Published, fit};
use hpmoe_core::target::{Fitted, Target};

/// A published latency, and the latency that the simulator finds for its workload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    /// The published latency.
    pub published: Published,
    /// The simulated latency in milliseconds.
    pub simulated_ms: f64,
}

/// Fitted constants, and all twelve latencies simulated with them.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibration {
    /// The three fitted constants.
    pub fitted: Fitted,
    /// The comparisons, in the order of [`PUBLISHED`].
    pub rows: Vec<Comparison>,
}

/// Fits the constants to the latencies on 8 ranks, and simulates all published latencies with them.
#[must_use]
pub fn calibrate(target: &Target, latency: &Latency<'_>) -> Calibration {
    reproduce(&with(target, fit(target, latency)), latency)
}

/// Simulates all published latencies with the constants of a target.
#[must_use]
pub fn reproduce(target: &Target, latency: &Latency<'_>) -> Calibration {
    let row = |&published: &Published| Comparison { published, simulated_ms: latency(&published, target) };
    Calibration { fitted: target.fitted.clone(), rows: PUBLISHED.iter().map(row).collect() }
}

impl Comparison {
    /// Relative error of the simulated latency; positive if the simulated latency is too long.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.simulated_ms / self.published.ms - 1.0
    }
}

impl Calibration {
    /// The largest absolute value of the relative errors.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.rows.iter().map(|row| row.error().abs()).fold(0.0, f64::max)
    }
    /// Mean absolute value of the relative errors of latencies that the constants were not fitted to.
    #[must_use]
    pub fn mean_of_others(&self) -> f64 {
        let others = self.rows.iter().filter(|row| !row.published.fitted_on());
        let errors: Vec<f64> = others.map(|row| row.error().abs()).collect();
        let count = errors.len() as f64;
        errors.iter().sum::<f64>() / count
    }
}

#[cfg(test)]
mod tests {
    use super::{Calibration, calibrate, reproduce};
    use crate::calibrate::{PUBLISHED, Published};
    use hpmoe_core::target::Target;

    fn hold(outcome: &Calibration) {
        assert_eq!(outcome.rows.len(), PUBLISHED.len());
        for row in &outcome.rows {
            assert!(row.error().abs() <= 0.06, "{row:?}");
        }
        assert!(outcome.mean_of_others() <= 0.025, "{}", outcome.mean_of_others());
    }

    #[test]
    fn the_built_in_target_reproduces_what_was_published() {
        hold(&reproduce(&Target::ascend_a3(), &Published::simulated_ms));
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "a hundred simulations: run with --release")]
    fn a_fit_finds_the_constants_of_the_built_in_target() {
        let target = Target::ascend_a3();
        let outcome = calibrate(&target, &Published::simulated_ms);
        hold(&outcome);
        assert_eq!(outcome.fitted, target.fitted, "`hpmoe calibrate` prints the constants for the file");
    }
}
