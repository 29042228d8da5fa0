//! A schedule as text.

use super::{names, runs::runs};
use crate::analyze::CheckedGraph;
use crate::schedule::{Schedule, Sends, right_operand};
use hpmoe_kernels::route::{ExpertOrder, ExpertOrders};
use std::fmt::Write as _;

/// Maximum number of characters of a line of a queue.
const WIDTH: usize = 118;

/// The text of a schedule: roles with their cores, the waits and signals of each phase, and the queues for each number of ranks.
#[must_use]
pub fn schedule_text(checked: &CheckedGraph, schedule: &Schedule) -> String {
    let graph = checked.graph();
    let mut text = format!(
        "schedule of {}::{} for {} matrix and {} vector cores{}\n\nroles\n",
        graph.kernel,
        graph.taskflow,
        schedule.aic,
        schedule.aiv,
        if schedule.expert_orders == ExpertOrders::Number { "" } else { ", experts by load" }
    );
    let width = schedule.roles.iter().map(|(_, role)| role.name.len()).max().unwrap_or(0);
    for (_, role) in schedule.roles.iter() {
        let last = (role.first + role.count).saturating_sub(1);
        let _ = writeln!(text, "  {:width$}  {} {}..{last}", role.name, role.kind, role.first);
    }
    text.push_str("\nphases\n");
    for phase in graph.phases.ids() {
        let role = &schedule.roles[schedule.phases[phase].role];
        let name = graph.phase_name(phase);
        let joins = if schedule.phases[phase].joins_previous { ", tile by tile with the phase before" } else { "" };
        let by_arrival = if schedule.phases[phase].by_arrival { ", as rows come" } else { "" };
        let ahead = match right_operand(checked, phase).filter(|_| schedule.phases[phase].reads_ahead) {
            Some((_, weights)) => format!(", reads {} ahead", graph.tensors[weights].name),
            None => String::new(),
        };
        let rotation = match schedule.phases[phase].rotation {
            0 => String::new(),
            rotation => format!(", rotation {rotation}"),
        };
        let spans = if schedule.phases[phase].spans_experts { ", experts share descriptors" } else { "" };
        let band = schedule.phases[phase].band;
        let later = if schedule.shares_next_fence(graph, phase) { ", signals after the next put" } else { "" };
        let _ =
            writeln!(text, "  {name}: {}, band {band}{rotation}{by_arrival}{joins}{spans}{ahead}{later}", role.name);
        for wait in &schedule.phases[phase].waits {
            let _ = writeln!(text, "    waits for {}", names::wait(wait));
        }
        for signal in &schedule.phases[phase].signals {
            let _ = writeln!(text, "    signals {}", names::signal(signal));
        }
    }
    if let Some(wait) = &schedule.routed_after {
        let _ = writeln!(text, "  the route\n    waits for {}", names::wait(wait));
    }
    for order in &schedule.orders {
        let plural = if order.ranks == 1 { "" } else { "s" };
        let entries: usize = order.queues.iter().map(|(_, queue)| queue.len()).sum();
        let experts = match schedule.expert_orders.on(order.ranks) {
            ExpertOrder::Number | ExpertOrder::Load => "",
            ExpertOrder::Mixed => ", two light experts after each heavy one",
            ExpertOrder::LightestFirst => ", the lightest experts first",
        };
        let alike = match order.sends {
            Sends::PeerAfterPeer => String::new(),
            Sends::InTurn { rows } => format!(", rows come from all ranks in turn, {rows} at a time"),
        };
        let first = order.routed_at.as_ref().is_some_and(|at| at.iter().all(|(_, at)| *at == 0));
        let routed = if first { ", after the tables of the route" } else { "" };
        let _ = writeln!(text, "\n{} rank{plural}, {entries} entries{experts}{alike}{routed}", order.ranks);
        for (part, queue) in order.queues.iter() {
            let at = order.routed_at.as_ref().filter(|_| !first).map_or(0, |at| queue.len().min(at[part] as usize));
            let mut lines = runs(graph, &queue[..at]);
            lines.extend((order.routed_at.is_some() && !first).then(|| "tables of the route".to_owned()));
            lines.extend(runs(graph, &queue[at..]));
            queue_lines(&mut text, order.parts[part].name, width, lines);
        }
    }
    text
}

/// Writes runs after the role's name, with continuation lines below the first run.
fn queue_lines(text: &mut String, role: &str, width: usize, runs: Vec<String>) {
    let mut line = format!("  {role:width$} ");
    let indent = line.chars().count();
    let last = runs.len().saturating_sub(1);
    for (at, run) in runs.iter().enumerate() {
        let end = if at < last { ";" } else { "" };
        if line.chars().count() + run.chars().count() + 2 > WIDTH && line.trim().len() > role.len() {
            let _ = writeln!(text, "{}", line.trim_end());
            line = " ".repeat(indent);
        }
        let _ = write!(line, " {run}{end}");
    }
    let _ = writeln!(text, "{}", line.trim_end());
}
