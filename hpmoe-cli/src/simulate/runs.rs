//! Running policies.

use super::scenario::Scenario;
use crate::options::Policy;
use crate::progress::{Progress, Reader};
use hpmoe_codegen::target::Target;
use hpmoe_simulator::baseline::extras;
use hpmoe_simulator::simulate::{CoreKind, Program, Simulated, Time, bound, simulate};

/// What was simulated of a policy.
pub(crate) struct Run {
    pub(crate) policy: Policy,
    /// The whole: with what the original leaves to other kernels, where that is counted.
    pub(crate) time: Time,
    /// What no order of the same tasks can beat.
    pub(crate) bound: Time,
    pub(crate) simulated: Simulated,
    /// Matrix and vector cores of a rank that take tasks.
    cores: [u32; 2],
    /// What the original leaves to other kernels takes that much more: as kernels of their own, or within `ours`, where that
    /// was asked for: it takes a second simulation.
    pub(crate) extras: Option<Time>,
    /// What the original would refuse.
    pub(crate) limits: Vec<String>,
}

impl Policy {
    /// As on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Hyperparallel => "hyperparallel",
            Self::Serial => "serial",
        }
    }
}

impl Run {
    /// FLOPs over what matrix cores could do at fused efficiency in the whole time.
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

    pub(crate) fn ratio(&self) -> f64 {
        self.time.seconds() / self.bound.seconds().max(f64::MIN_POSITIVE)
    }
}

/// What to do about the work that the original leaves to other kernels.
#[derive(Clone, Copy)]
pub(crate) struct Extras {
    /// It is part of the latency.
    pub(crate) count: bool,
    /// It is told apart, for `ours` too.
    pub(crate) tell: bool,
}

/// Simulates the policies one after another.
pub(crate) fn runs(
    scenario: &Scenario,
    policies: &[Policy],
    extras: Extras,
    reader: Reader,
) -> Result<Vec<Run>, String> {
    let progress = Progress::new(policies.len(), reader);
    let mut all = Vec::new();
    for &policy in policies {
        progress.begins(format!("simulating {} on {} ranks", policy.name(), scenario.ranks));
        all.push(run(scenario, policy, extras)?);
        progress.ended();
    }
    Ok(all)
}

fn run(scenario: &Scenario, policy: Policy, Extras { count, tell }: Extras) -> Result<Run, String> {
    let program = scenario.program(policy, count)?;
    let timed = |program: &dyn Program| {
        simulate(&scenario.target, program, false).map_err(|stuck| format!("{}: {stuck}", policy.name()))
    };
    let simulated = timed(&*program)?;
    let (extras, counted) = if policy == Policy::Ours {
        // Ours overlaps them with the rest: what they cost is the difference.
        let other = || timed(&*scenario.program(policy, !count)?).map(|other| other.time);
        let other = if tell { Some(other()?) } else { None };
        (other.map(|other| simulated.time.since(other) + other.since(simulated.time)), Time::ZERO)
    } else {
        let extras = extras(&scenario.shape()?, scenario.direction, &scenario.target);
        let extras = extras.iter().map(|extra| extra.time).sum();
        (Some(extras), if count { extras } else { Time::ZERO })
    };
    Ok(Run {
        policy,
        time: simulated.time + counted,
        bound: bound(&fused(&scenario.target), &*program).time() + counted,
        cores: [CoreKind::Aic, CoreKind::Aiv].map(|kind| program.cores(kind)),
        simulated,
        extras,
        limits: if policy == Policy::Hyperparallel { scenario.limits()? } else { Vec::new() },
    })
}

/// However slow operators of their own are: the bound is that of fused products.
fn fused(target: &Target) -> Target {
    let mut target = target.clone();
    target.fitted.gemm_operator_efficiency = target.fitted.gemm_fused_efficiency;
    target
}
