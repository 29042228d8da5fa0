//! The simulated runs of policies.

use super::scenario::Scenario;
use crate::progress::{Progress, Reader};
use hpmoe_core::target::Target;
use hpmoe_simulator::simulate::{CoreKind, Policy, Simulated, Time, bound, simulate};

/// A policy's simulated run, and figures to compare it with.
pub(crate) struct PolicyRun {
    pub(crate) policy: Policy,
    /// The latency of all that the kernel does, including the separate kernels that the policy needs.
    pub(crate) time: Time,
    /// The lower bound of the latency for any order of the same tasks.
    pub(crate) bound: Time,
    pub(crate) simulated: Simulated,
    /// Number of cores of a rank that take tasks: matrix cores, then vector cores.
    cores: [u32; 2],
    /// The part of the latency for separate kernels.
    pub(crate) separate: Time,
    /// The reasons why the original would refuse the layer.
    pub(crate) limits: Vec<String>,
}

impl PolicyRun {
    /// The FLOPs divided by those that the matrix cores could do at fused efficiency during the whole latency.
    pub(crate) fn aic_useful(&self, target: &Target) -> f64 {
        let whole = self.time.seconds().max(f64::MIN_POSITIVE);
        self.simulated.aic_useful(target) * self.simulated.time.seconds() / whole
    }

    /// Number of cores of a rank that take tasks.
    pub(crate) const fn cores(&self, kind: CoreKind) -> u32 {
        match kind {
            CoreKind::Aic => self.cores[0],
            CoreKind::Aiv => self.cores[1],
        }
    }

    /// The latency divided by its bound.
    pub(crate) fn over_bound(&self) -> f64 {
        self.time.seconds() / self.bound.seconds().max(f64::MIN_POSITIVE)
    }
}

/// Simulates the policies one after another; those in `drawn` with a timeline.
pub(crate) fn runs(
    scenario: &Scenario,
    policies: &[Policy],
    drawn: &[Policy],
    reader: Reader,
) -> Result<Vec<PolicyRun>, String> {
    let progress = Progress::new(policies.len(), reader);
    let mut all = Vec::new();
    for &policy in policies {
        progress.begins(format!("simulating {} on {} ranks", policy.name(), scenario.ranks));
        all.push(run(scenario, policy, drawn.contains(&policy))?);
        progress.ended();
    }
    Ok(all)
}

fn run(scenario: &Scenario, policy: Policy, is_drawn: bool) -> Result<PolicyRun, String> {
    let workload = scenario.workload(policy)?;
    let simulated = simulate(&scenario.target, &*workload, is_drawn);
    let simulated = simulated.map_err(|stuck| format!("{}: {stuck}", policy.name()))?;
    let separate = scenario.separate(policy)?;
    Ok(PolicyRun {
        policy,
        time: simulated.time + separate,
        separate,
        bound: bound(&fused(&scenario.target), &*workload).time() + separate,
        cores: [CoreKind::Aic, CoreKind::Aiv].map(|kind| workload.cores(kind)),
        simulated,
        limits: if policy == Policy::Hyperparallel { scenario.limits()? } else { Vec::new() },
    })
}

/// The target for bounds. Separate operators are as efficient on it as fused ones, so that all policies have the same bound.
fn fused(target: &Target) -> Target {
    let mut target = target.clone();
    target.fitted.gemm_operator_efficiency = target.fitted.gemm_fused_efficiency;
    target
}
