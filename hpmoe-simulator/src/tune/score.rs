//! The simulated times of candidates.

use crate::simulate::{Ours, Routing, Time, simulate};
use hpmoe_codegen::schedule::schedule_with;
use hpmoe_codegen::target::Target;
use hpmoe_codegen::tuned::{Candidate, NamedSizes};
use hpmoe_codegen::validate::validate;
use hpmoe_language::analyze::CheckedGraph;

/// Builds the checked taskflows of a kernel with other tile sizes than in its source; `None` where it can't have them.
pub type BuildKernel<'a> = dyn Fn(&NamedSizes) -> Option<Vec<CheckedGraph>> + 'a;

/// The target, routings and kernel on which candidates are tried.
pub struct Trial<'a> {
    /// The target that schedules are made for and simulated on.
    pub target: &'a Target,
    /// The routings, at least one.
    pub routings: &'a [Routing],
    /// The kernel, as a function of its tile sizes.
    pub kernels: &'a BuildKernel<'a>,
}

/// The simulated times of a candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Score {
    /// Sums over all taskflows, by routing.
    pub times: Vec<Time>,
}

/// The weight of the worst routing, in addition to the mean of all.
const WORST: f64 = 0.5;

impl Trial<'_> {
    /// Builds, schedules, validates and simulates a candidate; `None` where one of the four fails.
    #[must_use]
    pub fn score(&self, candidate: &Candidate) -> Option<Score> {
        let flows = (self.kernels)(&candidate.sizes)?;
        let mut times = vec![Time::ZERO; self.routings.len()];
        for checked in &flows {
            let choices = candidate.choices_of(&checked.graph().taskflow);
            let valid = validate(checked, schedule_with(checked, self.target, &choices)).ok()?;
            for (routing, time) in self.routings.iter().zip(&mut times) {
                let workload = Ours::new(self.target, checked, valid.schedule(), routing).ok()?;
                *time += simulate(self.target, &workload, false).ok()?.time;
            }
        }
        Some(Score { times })
    }
}

impl Score {
    /// The mean over routings of the time relative to another score's, plus half of the worst. Relative to itself that is 1.5.
    #[must_use]
    pub fn relative_to(&self, other: &Self) -> f64 {
        let ratios = self.ratios(other);
        let (sum, worst) = ratios.iter().fold((0.0, 0f64), |(sum, worst), ratio| (sum + ratio, worst.max(*ratio)));
        sum / ratios.len() as f64 + WORST * worst
    }

    /// Whether no routing takes longer than with another score.
    #[must_use]
    pub fn never_slower_than(&self, other: &Self) -> bool {
        self.times.iter().zip(&other.times).all(|(own, other)| own <= other)
    }

    /// The times relative to another score's, by routing.
    #[must_use]
    pub fn ratios(&self, other: &Self) -> Vec<f64> {
        self.times.iter().zip(&other.times).map(|(own, other)| own.us() / other.us()).collect()
    }
}
