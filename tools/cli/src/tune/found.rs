//! The result of a search for one kernel, with all data about the kernel that reports and files need.

use hpmoe_core::tuned::{Candidate, NamedSizes};
use hpmoe_simulator::simulate::Time;
use hpmoe_simulator::tune::SearchResult;

/// If the default's estimated time is at least this many times the start's, the default is not simulated.
pub(super) const FAR_SLOWER: f64 = 2.0;

/// The kernel of a search. It contains no syntax, so that it can be passed between threads.
#[derive(Clone, Debug)]
pub(super) struct SearchedKernel {
    pub(super) name: String,
    /// The constants that identify the stored schedule.
    pub(super) shape: NamedSizes,
    /// The tile sizes that the command line sets.
    pub(super) set: NamedSizes,
    /// The values that a build chooses for the sizes that the source leaves open.
    pub(super) open: NamedSizes,
    /// The tile sizes of the default schedule that the search may change.
    pub(super) sizes: NamedSizes,
    /// The tile sizes that the source fixes.
    pub(super) fixed: NamedSizes,
    /// Those of the sizes with which the search starts that differ from the default's.
    pub(super) start: NamedSizes,
    /// The estimated time of the default divided by that of the start; `None` if both are the same, or if there is no estimate.
    pub(super) default_estimate: Option<f64>,
    /// Number of simulations per candidate: one for each taskflow and routing.
    pub(super) simulations: usize,
}

/// The result of a search for a kernel.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) kernel: SearchedKernel,
    pub(super) result: SearchResult,
    /// A warning about fixed tile sizes.
    pub(super) warning: Option<String>,
}

impl Found {
    /// Whether the default schedule is the best one.
    pub(super) fn is_default(&self) -> bool {
        self.result.best == Candidate::default()
    }

    /// The mean and the maximum of the times by routing, relative to the reference's.
    pub(super) fn ratios(&self) -> (f64, f64) {
        mean_and_worst(&self.result)
    }

    /// The note that is stored with the schedule.
    pub(super) fn note(&self, target: &str) -> String {
        let (mean, worst) = self.ratios();
        let routings = self.result.score.times.len();
        let plural = if routings == 1 { "" } else { "s" };
        let (reference, about_default) = match &self.result.default {
            Some(_) => ("the default's time", String::new()),
            None => ("the time with the sizes that a build chooses", format!("; {}", self.about_default())),
        };
        format!(
            "simulated on {target}: {mean:.4} of {reference} (average of {routings} routing{plural}; {worst:.4} in the \
             worst){about_default}"
        )
    }

    /// The reason why the default was not simulated.
    fn about_default(&self) -> String {
        let fixed = list(&self.kernel.fixed);
        match self.kernel.default_estimate {
            Some(times) if times >= FAR_SLOWER => format!(
                "the sizes in the source ({fixed}) are estimated to take {times:.1} times as long, so they were not simulated"
            ),
            _ => format!("the simulation with the sizes in the source ({fixed}) was stopped at twice that time"),
        }
    }
}

/// The mean and the maximum of the times by routing, relative to the reference's.
pub(super) fn mean_and_worst(result: &SearchResult) -> (f64, f64) {
    let ratios = result.score.ratios(result.reference());
    (ratios.iter().sum::<f64>() / ratios.len() as f64, ratios.iter().copied().fold(0.0, f64::max))
}

/// Simulated times in microseconds, by routing.
pub(super) fn microseconds(times: &[Time]) -> Vec<f64> {
    times.iter().map(|time| time.us()).collect()
}

/// Sizes as a printable list.
pub(super) fn list(sizes: &NamedSizes) -> String {
    sizes.iter().map(|(name, size)| format!("{name} = {size}")).collect::<Vec<_>>().join(", ")
}
