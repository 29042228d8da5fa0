//! Runs as JSON.

use super::assumed::assumed;
use super::runs::PolicyRun;
use super::scenario::Scenario;
use hpmoe_simulator::simulate::{CoreKind, Policy, Spent, Time};
use serde_json::{Value, json};

/// The JSON object for a run. Times are in µs; times of cores are means over all cores of a kind.
pub(crate) fn json(scenario: &Scenario, run: &PolicyRun, traffic: bool) -> Value {
    let simulated = &run.simulated;
    let by_kind = |part: fn(&Spent) -> Time| {
        json!({
            "aic": mean(scenario, run, CoreKind::Aic, part(&simulated.aic)),
            "aiv": mean(scenario, run, CoreKind::Aiv, part(&simulated.aiv)),
        })
    };
    let mut value = json!({
        "policy": run.policy.name(),
        "direction": scenario.direction.name(),
        "ranks": scenario.ranks,
        "target": scenario.target.name,
        "tokens": scenario.tokens,
        "simulated_us": run.time.us(),
        "separate_kernels_us": run.separate.us(),
        "bound_us": run.bound.us(),
        "aic_useful": run.aic_useful(&scenario.target),
        "tasks": simulated.tasks,
        "empty_tasks": simulated.empty_tasks,
        "idle": {
            "dependency": by_kind(|spent| spent.dependency),
            "communication": by_kind(|spent| spent.communication),
            "contention": by_kind(|spent| spent.contention),
            "tail": by_kind(|spent| spent.tail),
        },
        "busy": {
            "work": by_kind(|spent| spent.work),
            "overhead": by_kind(|spent| spent.overhead),
            "launch": by_kind(|spent| spent.launch),
        },
        "refused_by_the_original": run.limits,
        "assumed": assumed(scenario, &[run.policy]),
    });
    if run.policy == Policy::Ours {
        value["schedule"] = json!(scenario.origin().name());
        value["tile_sizes"] = scenario.tile_sizes().into();
        value["chunks"] = json!(scenario.checked().graph().sizes.chunks);
    }
    if let Some(copies) = &scenario.copies {
        value["placement"] =
            json!({ "places_written": copies.places, "bytes_each": copies.bytes, "copies_us": copies.time.us() });
    }
    if traffic {
        value["traffic_bytes"] = json!(simulated.traffic);
    }
    value
}

/// A list with an object for each policy. If a policy does not apply to the kernel, its object gives the reason.
pub(crate) fn list(scenario: &Scenario, runs: &[PolicyRun], traffic: bool) -> Value {
    let applying = runs.iter().map(|run| json(scenario, run, traffic));
    applying.chain(scenario.foreign().map(|why| foreign(Policy::Hyperparallel, &why))).collect()
}

fn foreign(policy: Policy, why: &str) -> Value {
    json!({"policy": policy.name(), "does_not_apply": why})
}

/// The mean over the cores of a kind, in µs, given a time that is summed over these cores.
pub(crate) fn mean(scenario: &Scenario, run: &PolicyRun, kind: CoreKind, time: Time) -> f64 {
    time.us() / (f64::from(scenario.ranks) * f64::from(run.cores(kind)))
}
