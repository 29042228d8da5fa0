//! A table of latencies.

use super::page::escaped;
use crate::simulate::assumed;
use crate::simulate::runs::PolicyRun;
use crate::simulate::scenario::Scenario;
use hpmoe_simulator::simulate::Policy;
use std::fmt::Write as _;

/// Latency, bound and ratios of each policy, and the estimates that they depend on (HTML).
pub(super) fn figures(scenario: &Scenario, runs: &[PolicyRun]) -> String {
    let mut html = String::from(
        "<table><tr><th>policy<th>simulated, µs<th>bound, µs<th>simulated / bound<th>/ ours<th>matrix cores' useful time",
    );
    let ours = runs.iter().find(|run| run.policy == Policy::Ours).map_or(1.0, |run| run.time.seconds());
    for run in runs {
        let _ = write!(
            html,
            "<tr><td>{}<td>{:.1}<td>{:.1}<td>{:.3}<td>{:.3}<td>{:.1} %",
            run.policy.name(),
            run.time.us(),
            run.bound.us(),
            run.over_bound(),
            run.time.seconds() / ours,
            100.0 * run.aic_useful(&scenario.target)
        );
    }
    html.push_str("</table>");
    if let Some(foreign) = scenario.foreign() {
        let _ = write!(html, "<p>{}.</p>", escaped(&foreign));
    }
    html.push_str(
        "<p>All of these are simulated; nothing here is a measurement. Each policy does all that the kernel does",
    );
    if let Some(run) = runs.iter().find(|run| run.separate.0 > 0) {
        let _ = write!(
            html,
            ": {} with {:.1} µs of kernels before and after its own",
            run.policy.name(),
            run.separate.us()
        );
    }
    html.push_str(".</p>");
    if let Some(schedule) = scenario.about_ours() {
        let _ = write!(html, "<p>Ours: {}.</p>", escaped(&schedule));
    }
    let policies: Vec<Policy> = runs.iter().map(|run| run.policy).collect();
    html.push_str("<details><summary>Estimates that these figures depend on</summary><ul>");
    for estimate in assumed(scenario, &policies) {
        let _ = write!(html, "<li>{}", escaped(&estimate));
    }
    html.push_str("</ul></details>");
    html
}
