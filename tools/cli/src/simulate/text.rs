//! Text tables about runs.

use super::assumed::assumed;
use super::json::mean;
use super::runs::PolicyRun;
use super::scenario::Scenario;
use crate::options::SimulateArgs;
use hpmoe_core::target::Provenance;
use hpmoe_simulator::simulate::{CoreKind, Policy, Spent, Time, depends_on};
use std::fmt::Write as _;

/// All tables about the runs, and the constants that these depend on.
pub(crate) fn text(options: &SimulateArgs, scenario: &Scenario, runs: &[PolicyRun], foreign: Option<&str>) -> String {
    let schedule = scenario.about_ours().map_or_else(String::new, |about| format!("ours: {about}\n"));
    let mut text = format!("{}\n{schedule}\n", about(&options.layer.routing, scenario));
    text.push_str(&latencies(scenario, runs));
    text.push_str(&ratios(runs));
    if let Some(copies) = &scenario.copies {
        let ours = runs.iter().find(|run| run.policy == Policy::Ours).map(|run| run.time);
        text.push_str(&format!("\n{}", copies.text(ours)));
    }
    text.extend(foreign.map(|why| format!("\n{why}\n")));
    text.push_str(&spent(scenario, runs));
    text.push_str(&compared(scenario, runs));
    if options.traffic {
        runs.iter().for_each(|run| text.push_str(&traffic(run)));
    }
    text.push_str(&constants(scenario, runs));
    text
}

/// A heading that says what is simulated.
pub(crate) fn about(routed: &str, scenario: &Scenario) -> String {
    let Scenario { name, ranks, tokens, routing, target, direction, .. } = scenario;
    let (experts, places) = (scenario.checked().graph().sizes.experts, routing.experts() as usize);
    let in_places = if places == experts { String::new() } else { format!(" in {places} places") };
    let plural = if *ranks == 1 { "" } else { "s" };
    format!(
        "{name}, {}, simulated on {}: {ranks} rank{plural} of {tokens} tokens, top {} of {experts} experts{in_places}, {routed} routing",
        direction.name(),
        target.name,
        routing.top_k(),
    )
}

fn latencies(scenario: &Scenario, runs: &[PolicyRun]) -> String {
    let mut text = format!(
        "{:<14} {:>14} {:>12} {:>15} {:>12} {:>9} {:>9}\n",
        "policy", "simulated µs", "bound µs", "simulated/bound", "AIC useful", "tasks", "empty"
    );
    for run in runs {
        let _ = writeln!(
            text,
            "{:<14} {:>14.1} {:>12.1} {:>15.3} {:>10.1} % {:>9} {:>9}",
            run.policy.name(),
            run.time.us(),
            run.bound.us(),
            run.over_bound(),
            100.0 * run.aic_useful(&scenario.target),
            run.simulated.tasks,
            run.simulated.empty_tasks
        );
    }
    text
}

fn ratios(runs: &[PolicyRun]) -> String {
    let Some(ours) = runs.iter().find(|run| run.policy == Policy::Ours) else { return String::new() };
    let others = runs.iter().filter(|run| run.policy != Policy::Ours);
    let ratio = |run: &PolicyRun| format!("{}/ours {:.3}", run.policy.name(), run.time.seconds() / ours.time.seconds());
    let ratios: Vec<String> = others.map(ratio).collect();
    if ratios.is_empty() { String::new() } else { format!("\nsimulated latencies: {}\n", ratios.join(", ")) }
}

/// Whether our schedule has products of int8.
fn int8(runs: &[PolicyRun]) -> bool {
    runs.iter().any(|run| run.simulated.int8_flops > 0.0)
}

/// The name of a part of the cores' time, and a function that returns it.
type TimeShare = (&'static str, fn(&Spent) -> Time);

fn spent(scenario: &Scenario, runs: &[PolicyRun]) -> String {
    let mut text = "\nhow cores spend their time, simulated, in % of the latency".to_owned();
    let _ = write!(text, "\n{:<14} {:<7}", "", "");
    const PARTS: [TimeShare; 7] = [
        ("work", |spent| spent.work),
        ("overhead", |spent| spent.overhead),
        ("launch", |spent| spent.launch),
        ("dependency", |spent| spent.dependency),
        ("communication", |spent| spent.communication),
        ("contention", |spent| spent.contention),
        ("tail", |spent| spent.tail),
    ];
    PARTS.iter().for_each(|(name, _)| text.push_str(&format!(" {:>1$}", name, name.len().max(6))));
    text.push('\n');
    for run in runs {
        for (kind, name) in [(CoreKind::Aic, "matrix"), (CoreKind::Aiv, "vector")] {
            let spent = if kind == CoreKind::Aic { &run.simulated.aic } else { &run.simulated.aiv };
            let _ = write!(text, "{:<14} {name:<7}", run.policy.name());
            for (name, part) in PARTS {
                let share = mean(scenario, run, kind, part(spent)) / run.simulated.time.us();
                let _ = write!(text, " {:>1$.1}", 100.0 * share, name.len().max(6));
            }
            text.push('\n');
        }
    }
    text
}

/// A note which explains how all policies do the same work.
fn compared(scenario: &Scenario, runs: &[PolicyRun]) -> String {
    let mut text = String::new();
    for run in runs {
        let (name, separate) = (run.policy.name(), run.separate.us());
        let _ = match run.policy {
            Policy::Ours => writeln!(text, "{name:<14} the kernel, whole"),
            Policy::Hyperparallel => {
                let tables = if scenario.makes_route() { "routing tables, " } else { "" };
                writeln!(
                    text,
                    "{name:<14} the original's kernel, and {separate:.1} µs of other kernels: {tables}permutation, sum over k"
                )
            }
            Policy::Serial => {
                writeln!(text, "{name:<14} the operators of this kernel one after another, collectives for its puts")
            }
        };
    }
    if !scenario.makes_route() {
        text.push_str("the host makes the routing tables: no policy is charged for them\n");
    }
    if let Some(chunks) = scenario.about_chunks() {
        let _ = writeln!(text, "a launch of {chunks}");
    }
    for limit in runs.iter().flat_map(|run| &run.limits) {
        let _ = writeln!(text, "the original itself refuses this layer: {limit}");
    }
    format!("\nwhat is simulated\n{text}")
}

fn traffic(run: &PolicyRun) -> String {
    let ranks = run.simulated.traffic.len();
    let name = run.policy.name();
    if run.policy == Policy::Serial {
        return format!("\n{name} puts nothing: its collectives are simulated as a whole\n");
    }
    let mut text = format!("\nMB put by {name}, simulated: from the rank of the row to the rank of the column\n     ");
    (0..ranks).for_each(|to| text.push_str(&format!(" {to:>8}")));
    for (from, row) in run.simulated.traffic.iter().enumerate() {
        let _ = write!(text, "\n{from:>5}");
        row.iter().for_each(|&bytes| text.push_str(&format!(" {:>8.2}", bytes as f64 / 1e6)));
    }
    let _ = writeln!(text, "\nto other ranks: {:.2} MB", run.simulated.remote_bytes() as f64 / 1e6);
    text
}

/// The estimates and the constants from the command line that the figures depend on.
fn constants(scenario: &Scenario, runs: &[PolicyRun]) -> String {
    let policies: Vec<Policy> = runs.iter().map(|run| run.policy).collect();
    let mut text = "\nsimulated figures depend on these estimates (`assumed` in the target):\n".to_owned();
    for line in assumed(scenario, &policies) {
        let _ = writeln!(text, "  {line}");
    }
    let given = scenario.target.constants().iter().filter(|constant| {
        let of_a_policy = policies.iter().any(|&policy| depends_on(policy, constant));
        constant.provenance == Provenance::Given && (of_a_policy || int8(runs) && constant.key.starts_with("int8"))
    });
    let given: Vec<String> = given.map(|constant| scenario.target.words(constant)).collect();
    if !given.is_empty() {
        let _ = writeln!(text, "and on these constants set for this run:\n  {}", given.join("\n  "));
    }
    text
}
