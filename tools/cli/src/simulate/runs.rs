//! The simulated runs of policies.

use super::scenario::Scenario;
use crate::progress::{Progress, Reader};
use hpmoe_core::target::Target;
use hpmoe_simulator::baseline::{Direction, extras, routing_tables};
use hpmoe_simulator::simulate::{CoreKind, Policy, Simulated, Time, Workload, bound, simulate};

/// A policy's simulated run and what it is compared with.
pub(crate) struct PolicyRun {
    pub(crate) policy: Policy,
    /// The latency, with the work that the original leaves to other kernels where that is counted.
    pub(crate) time: Time,
    /// The latency that no order of the same tasks can beat.
    pub(crate) bound: Time,
    pub(crate) simulated: Simulated,
    /// Cores of a rank that take tasks: matrix, then vector.
    cores: [u32; 2],
    /// The part of the latency that separate kernels take.
    pub(crate) separate: Time,
    /// The additional time of the work that the original leaves to other kernels: as separate kernels, or within `ours`. The
    /// latter takes a second simulation, and is there only where it was asked for.
    pub(crate) extras: Option<Time>,
    /// The reasons why the original would refuse the layer.
    pub(crate) limits: Vec<String>,
}

impl PolicyRun {
    /// FLOPs divided by what the matrix cores could do at fused efficiency in the whole latency.
    pub(crate) fn aic_useful(&self, target: &Target) -> f64 {
        let whole = self.time.seconds().max(f64::MIN_POSITIVE);
        self.simulated.aic_useful(target) * self.simulated.time.seconds() / whole
    }

    /// Cores of a rank that take tasks.
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

/// How to treat the work that the original leaves to other kernels.
#[derive(Clone, Copy)]
pub(crate) struct Extras {
    /// Whether it is part of the latency.
    pub(crate) count: bool,
    /// Whether its time is reported for `ours`, too.
    pub(crate) report: bool,
}

/// Simulates the policies one after another; those of `drawn` with a timeline.
pub(crate) fn runs(
    scenario: &Scenario,
    policies: &[Policy],
    drawn: &[Policy],
    extras: Extras,
    reader: Reader,
) -> Result<Vec<PolicyRun>, String> {
    let progress = Progress::new(policies.len(), reader);
    let mut all = Vec::new();
    for &policy in policies {
        progress.begins(format!("simulating {} on {} ranks", policy.name(), scenario.ranks));
        all.push(run(scenario, policy, drawn.contains(&policy), extras)?);
        progress.ended();
    }
    Ok(all)
}

fn run(
    scenario: &Scenario,
    policy: Policy,
    is_drawn: bool,
    Extras { count, report }: Extras,
) -> Result<PolicyRun, String> {
    let workload = scenario.workload(policy, count)?;
    let timed = |workload: &dyn Workload, timeline| {
        simulate(&scenario.target, workload, timeline).map_err(|stuck| format!("{}: {stuck}", policy.name()))
    };
    let simulated = timed(&*workload, is_drawn)?;
    let (extras, counted) = if policy == Policy::Ours {
        // `ours` overlaps them with the rest: their time is the difference.
        let other = || timed(&*scenario.workload(policy, !count)?, false).map(|other| other.time);
        let other = if report { Some(other()?) } else { None };
        let tables = tables(scenario);
        let extras = other.map(|other| simulated.time.since(other) + other.since(simulated.time) + tables);
        (extras, if count { tables } else { Time::ZERO })
    } else {
        let extras = extras(&scenario.shape()?, scenario.direction, &scenario.target);
        let extras = extras.iter().map(|extra| extra.time).sum();
        (Some(extras), if count { extras } else { Time::ZERO })
    };
    Ok(PolicyRun {
        policy,
        time: simulated.time + counted,
        separate: counted,
        bound: bound(&fused(&scenario.target), &*workload).time() + counted,
        cores: [CoreKind::Aic, CoreKind::Aiv].map(|kind| workload.cores(kind)),
        simulated,
        extras,
        limits: if policy == Policy::Hyperparallel { scenario.limits()? } else { Vec::new() },
    })
}

/// The time of the kernel that makes routing tables, which `ours` needs like the others unless it makes them itself, in its own time. The
/// backward pass has those of the forward pass.
fn tables(scenario: &Scenario) -> Time {
    match scenario.direction {
        Direction::Forward if scenario.makes_route() => Time::ZERO,
        Direction::Forward => {
            let rows = u64::from(scenario.tokens) * u64::from(scenario.routing.top_k());
            routing_tables(rows, &scenario.target).time
        }
        Direction::Backward => Time::ZERO,
    }
}

/// The target of the bound: separate operators count at the efficiency of fused ones, so that all policies have one bound.
fn fused(target: &Target) -> Target {
    let mut target = target.clone();
    target.fitted.gemm_operator_efficiency = target.fitted.gemm_fused_efficiency;
    target
}
