//! Estimated constants of a target.

use super::scenario::Scenario;
use hpmoe_core::target::TargetConstant;
use hpmoe_simulator::simulate::{Policy, depends_on};

/// The estimates that the figures of the given policies depend on.
pub(crate) fn assumed(scenario: &Scenario, policies: &[Policy]) -> Vec<String> {
    let target = &scenario.target;
    let is_used = |constant: &&TargetConstant| policies.iter().any(|&policy| depends_on(policy, constant));
    target.assumed().filter(is_used).map(|constant| target.words(constant)).collect()
}
