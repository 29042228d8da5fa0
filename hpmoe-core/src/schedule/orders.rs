//! From a checked graph, a target and choices to a schedule with the orders for some numbers of ranks.

use super::arrival::by_arrival;
use super::bands::bands;
use super::cost::EntryCosts;
use super::elide::elide;
use super::expert_orders::expert_orders;
use super::joins::joins;
use super::list::list;
use super::preceding::preceding;
use super::read_ahead::read_ahead;
use super::roles::roles;
use super::rotation::rotation;
use super::route::route;
use super::spans::{gather, spanning};
use super::{Choices, ChunkedOrders, Cores, Order, PhaseSchedule, Schedule};
use crate::analyze::CheckedGraph;
use crate::ids::{Arena, PhaseId, RoleId};
use crate::target::Target;
use hpmoe_kernels::op::TaskKind;

/// Makes the schedule of a graph for the dies of a target, with these choices and only the orders for `ranks`. If no number of putting
/// cores is chosen, it follows from the times of tiles.
pub(super) fn with_orders(
    checked: &CheckedGraph,
    target: &Target,
    choices: &Choices,
    ranks: impl Iterator<Item = u32> + Clone,
) -> Schedule {
    let graph = checked.graph();
    let cores = Cores { aic: target.cores.aic, aiv: target.cores.aiv };
    let costs = EntryCosts::new(graph, target);
    let (roles, role_of) = roles(graph, &costs, cores, choices);
    let by_arrival = by_arrival(checked);
    let orders = |checked: &CheckedGraph, costs: &EntryCosts| -> Vec<Order> {
        let of_ranks = |ranks| list(checked, costs, choices, &roles, &role_of, (ranks, &by_arrival));
        ranks.clone().map(of_ranks).collect()
    };
    let more = graph.sizes.chunk_counts().filter(|&chunks| chunks != graph.sizes.chunks);
    let chunked = more.map(|chunks| {
        let checked = checked.in_chunks(chunks);
        let costs = EntryCosts::new(checked.graph(), target);
        (checked, costs)
    });
    let chunked: Vec<(CheckedGraph, EntryCosts)> = chunked.collect();
    let mut launches = vec![(checked, orders(checked, &costs))];
    launches.extend(chunked.iter().map(|(checked, costs)| (checked, orders(checked, costs))));
    let turns = launches.iter().flat_map(|(_, orders)| orders).any(|order| order.sends.turn().is_some());
    let mut phases = phases(checked, target, choices, &role_of, turns);
    if choices.join {
        joins(checked, &mut phases, &mut launches);
    }
    spanning(graph, &costs, &roles, &mut phases);
    if phases.iter().any(|(_, phase)| phase.spans_experts) {
        let all_costs = std::iter::once(&costs).chain(chunked.iter().map(|(_, costs)| costs));
        for ((checked, orders), costs) in launches.iter_mut().zip(all_costs) {
            orders.iter_mut().for_each(|order| gather(checked, costs, &phases, order));
        }
    }
    let elided = elide(checked, &mut phases, &launches);
    if choices.read_ahead {
        read_ahead(checked, &mut phases);
    }
    let routed = launches.iter_mut().map(|(checked, orders)| route(checked, &mut phases, orders));
    let routed_after = routed.fold(None, |first, wait| first.or(wait));
    let expert_orders = expert_orders(graph, &costs, cores.aic, choices);
    let mut launches = launches.into_iter().map(|(checked, orders)| (checked.graph().sizes.chunks, orders));
    let orders = launches.next().map(|(_, orders)| orders).unwrap_or_default();
    let chosen = launches.map(|(chunks, orders)| ChunkedOrders { chunks, orders }).collect();
    Schedule { aic: cores.aic, aiv: cores.aiv, expert_orders, roles, phases, elided, routed_after, orders, chosen }
}

/// The schedule of each phase as far as it depends on single phases: role, band and deal of tiles. Nothing is joined, awaited or signalled
/// yet.
fn phases(
    checked: &CheckedGraph,
    target: &Target,
    choices: &Choices,
    role_of: &Arena<PhaseId, RoleId>,
    alike: bool,
) -> Arena<PhaseId, PhaseSchedule> {
    let bands = bands(checked, target, choices);
    let by_arrival = by_arrival(checked);
    let mut preceding = preceding(checked.graph(), role_of);
    let phase = |id| PhaseSchedule {
        role: role_of[id],
        band: bands[id],
        by_arrival: alike && by_arrival[id],
        rotation: 0,
        preceding: std::mem::take(&mut preceding[id]),
        joins_previous: false,
        spans_experts: false,
        reads_ahead: false,
        waits: Vec::new(),
        signals: Vec::new(),
    };
    let graph = checked.graph();
    let mut phases: Arena<PhaseId, PhaseSchedule> = graph.phases.ids().map(phase).collect();
    let rotation = rotation(graph, target, choices, &phases);
    let products = graph.phases.iter().filter(|(_, phase)| graph.tasks[phase.task].kind == TaskKind::Matrix);
    products.for_each(|(id, _)| phases[id].rotation = rotation);
    phases
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Layer, moe_ffn};
    use crate::schedule::{Choices, schedule_with};
    use crate::target::Target;

    #[test]
    fn row_tiles_are_walked_as_they_arrive_only_where_ranks_send_alike() {
        let layer = moe_ffn(&Layer { put: 8, ..Layer::DEEPSEEK });
        let by_arrival = |choices: &str| -> Vec<u32> {
            let made = schedule_with(&layer, &Target::ascend_a3(), &Choices::read(choices).unwrap());
            made.phases.iter().filter(|(_, phase)| phase.by_arrival).map(|(id, _)| id.0).collect()
        };
        // Checking some numbers of ranks is enough.
        assert_eq!(by_arrival("by_arrival=always peer_cores=20"), [1, 2, 3, 4]);
        assert_eq!(by_arrival(""), [1, 2, 3, 4]);
        assert_eq!(by_arrival("turn_rows=0"), [0; 0]);
        assert_eq!(by_arrival("turn_rows=0 peer_cores=20"), [0; 0]);
    }
}
