//! `hpmoe simulate`: the kernel, the original and the serial execution on a described target.

mod json;
mod runs;
mod scenario;
mod text;

use crate::options::{Policy, Simulate};
use hpmoe_core::simulate::depends;
use hpmoe_core::target::Constant;
use runs::Extras;
use scenario::Scenario;
use std::process::ExitCode;

const ALL: [Policy; 3] = [Policy::Ours, Policy::Hyperparallel, Policy::Serial];

pub(crate) fn simulate(options: &Simulate) -> Result<ExitCode, String> {
    let policies = options.policy.map_or_else(|| ALL.to_vec(), |policy| vec![policy]);
    let scenario = Scenario::read(options, &policies)?;
    // A script that asks for one policy wants its time soon.
    let extras = Extras { count: options.count_extras, tell: !options.json || options.policy.is_none() };
    let runs = runs::runs(&scenario, &policies, extras)?;
    if options.json {
        let mut objects: Vec<_> = runs.iter().map(|run| json::json(&scenario, run, options.traffic)).collect();
        let value = if options.policy.is_some() { objects.remove(0) } else { objects.into() };
        println!("{value}");
    } else {
        print!("{}", text::text(options, &scenario, &runs));
    }
    Ok(ExitCode::SUCCESS)
}

/// The estimates that figures of these policies rest on.
fn assumed(scenario: &Scenario, policies: &[Policy]) -> Vec<String> {
    let target = &scenario.target;
    let used = |of: &&Constant| policies.iter().any(|policy| depends(policy.name(), of));
    target.assumed().filter(used).map(|of| target.words(of)).collect()
}
