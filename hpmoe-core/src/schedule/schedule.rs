//! From a checked graph to a schedule.

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
use crate::graph::TaskGraph;
use crate::ids::{Arena, PhaseId, RoleId};
use crate::target::Target;
use hpmoe_kernels::op::TaskKind;
use std::ops::RangeInclusive;

/// The maximum number of ranks that schedules are made for, limited by the device library (`kernels/include/hpmoe/core.h`).
pub const MAX_RANKS: u32 = 256;
/// The numbers of ranks that a group may have.
const RANKS: RangeInclusive<u32> = 1..=MAX_RANKS;

/// Makes the schedule of a graph, with the default choices, for dies like those of an Ascend A3 with the given cores.
///
/// For every number of ranks in [`rank_counts`], the schedule divides the work among cores and orders it. The heuristics always give the
/// same schedule for the same graph and cores. [`validate`](crate::validate::validate) decides whether a schedule is right.
#[must_use]
pub fn schedule(checked: &CheckedGraph, cores: Cores) -> Schedule {
    schedule_for(checked, &cores.on(&Target::ascend_a3()))
}

/// Makes the schedule of a graph, with the default choices, for the dies of a target.
#[must_use]
pub fn schedule_for(checked: &CheckedGraph, target: &Target) -> Schedule {
    schedule_with(checked, target, &Choices::default())
}

/// Makes the schedule of a graph for the dies of a target, with these choices.
#[must_use]
pub fn schedule_with(checked: &CheckedGraph, target: &Target, choices: &Choices) -> Schedule {
    with_orders(checked, target, choices, rank_counts(checked.graph()).into_iter())
}

/// Makes the schedule of a graph for the dies of a target, with the default choices and only the order for `ranks` ranks.
pub(super) fn schedule_on(checked: &CheckedGraph, target: &Target, ranks: u32) -> Schedule {
    with_orders(checked, target, &Choices::default(), std::iter::once(ranks))
}

fn with_orders(
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

/// The numbers of ranks that schedules are made for, ascending: all from 1 to [`MAX_RANKS`] that divide the experts or that the build
/// names.
#[must_use]
pub fn rank_counts(graph: &TaskGraph) -> Vec<u32> {
    let named = |ranks: &u32| graph.named_ranks.contains(ranks);
    RANKS.filter(|ranks| graph.sizes.experts % *ranks as usize == 0 || named(ranks)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};

    #[test]
    fn every_divisor_has_an_order() {
        let ranks = |experts, named: &[u32]| {
            let layer = moe_ffn(&Layer { experts, ..Layer::SMALL }).changed(|graph| graph.named_ranks = named.to_vec());
            rank_counts(layer.graph())
        };
        assert_eq!(ranks(12, &[]), [1, 2, 3, 4, 6, 12]);
        assert_eq!(ranks(257, &[]), [1]);
        assert_eq!(ranks(768, &[])[9..], [32, 48, 64, 96, 128, 192, 256]);
        assert_eq!(ranks(12, &[5, 3, 256]), [1, 2, 3, 4, 5, 6, 12, 256]);
    }

    #[test]
    fn the_device_library_has_room_for_as_many_ranks() {
        let header = include_str!("../../../kernels/include/hpmoe/core.h");
        assert!(header.contains(&format!("constexpr uint32_t MAX_RANKS = {MAX_RANKS};")));
    }

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

    #[test]
    fn the_same_graph_has_the_same_schedule() {
        let checked = moe_ffn(&Layer::SMALL);
        assert_eq!(schedule(&checked, Cores::ASCEND_A3), schedule(&checked, Cores::ASCEND_A3));
    }
}
