//! The simulated times of candidates.

use crate::simulate::{Halted, Ours, Routing, Time, default_chunks, schedule_in_chunks, simulate_while};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::schedule::schedule_with;
use hpmoe_core::target::Target;
use hpmoe_core::tuned::{Candidate, NamedSizes};
use hpmoe_core::validate::validate;

/// A function that builds the checked taskflows of a kernel with the given tile sizes in place of those in its source; `None` if the kernel
/// can't have these sizes.
pub type BuildKernel<'a> = dyn Fn(&NamedSizes) -> Option<Vec<CheckedGraph>> + 'a;

/// The target, the routings and the kernel that candidates are tried on.
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
    /// Simulated time for each routing, summed over all taskflows.
    pub times: Vec<Time>,
}

/// Weight of the worst routing's ratio, which is added to the mean of all ratios.
const WORST: f64 = 0.5;

/// The step at which a candidate turned out to be impossible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FailedAt {
    /// Place of the taskflow; `None` if the kernel can't be built.
    pub taskflow: Option<usize>,
    /// Place of the routing; `None` if the kernel can't be built, or the taskflow has no valid schedule.
    pub routing: Option<usize>,
}

/// The outcome of trying a candidate.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Outcome {
    /// All routings were simulated.
    Score(Score),
    /// The candidate can't be built, scheduled, validated or simulated.
    Invalid(FailedAt),
    /// The simulation was stopped early, because the candidate is too slow. Contains a lower bound on the candidate's value.
    TooSlow(f64),
    /// The simulation was stopped, because the time limit was reached.
    Ended,
}

/// A limit for the value of a candidate, and the score that values are relative to.
#[derive(Clone, Copy)]
pub(super) struct Limit<'a> {
    pub(super) below: f64,
    pub(super) reference: &'a Score,
}

impl Trial<'_> {
    /// Builds, schedules, validates and simulates a candidate; `None` if one of these steps fails.
    #[must_use]
    pub fn score(&self, candidate: &Candidate) -> Option<Score> {
        match self.outcome(candidate, None, &mut |_| true) {
            Outcome::Score(score) => Some(score),
            Outcome::Invalid(_) | Outcome::TooSlow(_) | Outcome::Ended => None,
        }
    }

    /// Tries a candidate. Stops as soon as the candidate can't stay below the limit, or `going` returns false. `going` is called again and
    /// again with the number of finished simulations.
    pub(super) fn outcome(
        &self,
        candidate: &Candidate,
        limit: Option<Limit<'_>>,
        going: &mut dyn FnMut(usize) -> bool,
    ) -> Outcome {
        // The value of a score that reaches the limit.
        let too_slow = |score: &Score| {
            let Limit { below, reference } = limit?;
            Some(score.relative_to(reference)).filter(|value| *value >= below)
        };
        if !going(0) {
            return Outcome::Ended;
        }
        let Some(flows) = (self.kernels)(&candidate.sizes) else { return Outcome::Invalid(FailedAt::default()) };
        let mut score = Score { times: vec![Time::ZERO; self.routings.len()] };
        let mut simulated = 0;
        for (flow, checked) in flows.iter().enumerate() {
            let invalid = |routing| Outcome::Invalid(FailedAt { taskflow: Some(flow), routing });
            let choices = candidate.choices_of(&checked.graph().taskflow);
            let schedule = schedule_with(checked, self.target, &choices);
            if !going(simulated) {
                return Outcome::Ended;
            }
            let Ok(valid) = validate(checked, schedule) else { return invalid(None) };
            for (place, routing) in self.routings.iter().enumerate() {
                if !going(simulated) {
                    return Outcome::Ended;
                }
                // If no number of chunks fits the default capacity, a group with room for the rows takes the most chunks.
                let chunks = default_chunks(checked.graph(), routing).unwrap_or(checked.graph().sizes.most_chunks());
                let (launched, schedule) = (checked.in_chunks(chunks), schedule_in_chunks(valid.schedule(), chunks));
                let Ok(workload) = Ours::new(self.target, &launched, &schedule, routing) else {
                    return invalid(Some(place));
                };
                let before = score.times[place];
                let run = simulate_while(self.target, &workload, &mut |reached| {
                    score.times[place] = before + reached;
                    too_slow(&score).is_none() && going(simulated)
                });
                match run {
                    Ok(run) => score.times[place] = before + run.time,
                    Err(Halted::Stuck(_)) => return invalid(Some(place)),
                    Err(Halted::GivenUp) => return too_slow(&score).map_or(Outcome::Ended, Outcome::TooSlow),
                }
                simulated += 1;
                if let Some(value) = too_slow(&score) {
                    return Outcome::TooSlow(value);
                }
            }
        }
        Outcome::Score(score)
    }
}

impl Score {
    /// The value of this score relative to `other`, of which less is better: the mean over routings of the ratios of times, plus half of
    /// the largest ratio. A score relative to itself is 1.5.
    #[must_use]
    pub fn relative_to(&self, other: &Self) -> f64 {
        let ratios = self.ratios(other);
        let (sum, worst) = ratios.iter().fold((0.0, 0f64), |(sum, worst), ratio| (sum + ratio, worst.max(*ratio)));
        sum / ratios.len() as f64 + WORST * worst
    }

    /// Whether no routing takes longer than in `other`.
    #[must_use]
    pub fn never_slower_than(&self, other: &Self) -> bool {
        self.times.iter().zip(&other.times).all(|(own, other)| own <= other)
    }

    /// For each routing, the time divided by that of `other`.
    #[must_use]
    pub fn ratios(&self, other: &Self) -> Vec<f64> {
        self.times.iter().zip(&other.times).map(|(own, other)| own.us() / other.us()).collect()
    }
}
