//! Checks that nothing reads the tables of a route before they are made, and that the route reads no ids before they
//! are written.

use super::Violation;
use crate::analyze::CheckedGraph;
use crate::graph::{MadeRoute, Rows, SpaceKind};
use crate::ids::PhaseId;
use crate::schedule::{Entry, Order, Schedule};

/// If the kernel makes its route, the cores of each queue must make its tables, or wait for them, before the first
/// entry of the queue that follows the route in the taskflow, because any such entry may need the tables. Entries
/// before the route run over tokens only.
///
/// Vector cores read all ids of their rank. Each phase that writes ids must therefore signal the counter that the route
/// waits for, and must come before the route. Three other checks cover the rest: [`forms`](super::forms::forms) that
/// the counter is one for the whole rank, [`thresholds`](super::thresholds::thresholds) that the wait is for exactly
/// what is signalled, and [`total_order`](super::total_order::total_order) that no entry before the route waits for one
/// that needs it.
///
/// In a taskflow with chunks, everything comes after the route. The route is then at the same position in the queues of
/// every number of chunks, so that cores can continue in the queues of the number that they choose.
///
/// If the host makes the route, no core makes one.
pub(super) fn route(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let made = checked.graph().route.as_ref();
    if let Some(made) = made {
        before(checked, schedule, made, violations);
        ids(checked, schedule, made, violations);
    }
    for order in &schedule.orders {
        let ranks = order.ranks;
        match (&order.routed_at, made) {
            (Some(_), None) => violations.push(Violation::SecondRoute { ranks }),
            (Some(at), Some(made)) if at.len() == order.queues.len() => {
                let late = order.queues.iter().filter(|&(part, queue)| is_late(schedule, queue, at[part], made));
                violations.extend(late.map(|(part, _)| Violation::Unrouted { ranks, part }));
            }
            (None, None) => {}
            _ => violations.extend(unrouted(order)),
        }
    }
}

/// Checks phases before the route: they run over blocks of tokens, use rows of tokens or of matrices, and the tiles that precede theirs in
/// the deal are those of such phases.
fn before(checked: &CheckedGraph, schedule: &Schedule, made: &MadeRoute, violations: &mut Vec<Violation>) {
    let graph = checked.graph();
    let by_token = |space| graph.spaces[space].kind == SpaceKind::Blocks;
    for (id, phase) in graph.phases.iter().filter(|(id, _)| made.follows(*id)) {
        let rows = |rows: Rows| matches!(rows, Rows::Block | Rows::BlockSlots | Rows::Expert { .. });
        let fits = by_token(phase.space)
            && schedule.phases[id].preceding.iter().all(|&(space, _)| by_token(space))
            && phase.accesses.iter().all(|access| !access.remote && rows(access.region.rows));
        if !fits {
            violations.push(Violation::NeedsRoute { phase: id });
        }
    }
}

/// Checks that the route waits for each phase that writes ids.
fn ids(checked: &CheckedGraph, schedule: &Schedule, made: &MadeRoute, violations: &mut Vec<Violation>) {
    let awaited = schedule.routed_after.as_ref().map(|wait| wait.counter);
    let writes = |id: PhaseId| {
        let accesses = &checked.graph().phases[id].accesses;
        accesses.iter().any(|access| access.write && access.tensor == made.ids)
    };
    for phase in checked.graph().phases.ids().filter(|&phase| writes(phase)) {
        let mut signals = schedule.phases[phase].signals.iter();
        let tells = signals.any(|s| Some(s.counter) == awaited && !s.remote);
        if !tells || !made.follows(phase) {
            violations.push(Violation::RoutedEarly { phase });
        }
    }
}

/// Whether a queue has an entry that may need the tables before they are made, or its cores never reach the route
/// because it is inside a joined walk.
fn is_late(schedule: &Schedule, queue: &[Entry], at: u32, made: &MadeRoute) -> bool {
    let at = at as usize;
    let joined = |entry: &Entry| schedule.phases[entry.phase].joins_previous;
    at > queue.len() || queue.get(at).is_some_and(joined) || queue[..at].iter().any(|entry| !made.follows(entry.phase))
}

/// Queues whose cores never make or await the tables.
fn unrouted(order: &Order) -> impl Iterator<Item = Violation> {
    order.queues.ids().map(|part| Violation::Unrouted { ranks: order.ranks, part })
}

#[cfg(test)]
mod tests;
