//! The parts of the route code that a kernel needs, and their size.

use crate::graph::{MadeRoute, RowKind, SpaceKind, TaskGraph};
use crate::schedule::Schedule;
use crate::units::Bytes;
use hpmoe_kernels::route::ExpertOrder;

/// A kernel's route code on a vector core, with its estimated size.
pub(super) struct RouteCode {
    /// Its needs, as the device library names them (`routing/needs.h`).
    pub(super) needs: String,
    pub(super) bytes: Bytes,
}

/// Code that every route needs, in bytes. All sizes here are those of AArch64 code.
const EVERY_ROUTE: u64 = 16_472;
/// Additional code, in bytes, if a kernel takes placements and also keeps its route (`KEEPS`), uses a kept route (`KEPT`) or chooses its
/// number of chunks (`CHOICE`).
const PLACED_AND_KEEPS: u64 = 456;
const PLACED_AND_KEPT: u64 = 268;
const PLACED_AND_CHOICE: u64 = 528;
/// Additional code, in bytes, if a kernel has chunks and also keeps its route (`KEEPS`) or uses a kept route (`KEPT`).
const CHUNKED_AND_KEEPS: u64 = 792;
const CHUNKED_AND_KEPT: u64 = 1_376;

/// The code of a kernel's route; `None` if the kernel makes none. It covers everything that a launch of the kernel can ask for.
pub(super) fn code(graph: &TaskGraph, schedule: &Schedule) -> Option<RouteCode> {
    let route = graph.route.as_ref()?;
    let space = |kind: SpaceKind| graph.spaces.iter().any(|(_, space)| space.kind == kind);
    let once = space(SpaceKind::SendsOnce) || space(SpaceKind::OnceTiles);
    let order = |order| schedule.orders.iter().any(|each| schedule.expert_orders.on(each.ranks) == order);
    let [load, mixed, lightest] = [ExpertOrder::Load, ExpertOrder::Mixed, ExpertOrder::LightestFirst].map(order);
    let placement = takes_placements(graph, route, once);
    let (keeps, kept) = (route.keeps.is_some(), graph.tensors[route.ids].rows == RowKind::Routed);
    let arrival_order = schedule.orders.iter().any(|order| {
        let walks = |phase| graph.spaces[graph.phases[phase].space].kind == SpaceKind::RowTiles;
        graph.phases.ids().any(|phase| walks(phase) && schedule.arrival_turn(order, phase).is_some())
    });
    let chunked = graph.sizes.most_chunks() > 1;
    let with = |other: bool, bytes: u64| if other { bytes } else { 0 };
    let needs = [
        ("ONCE", once, 1_228),
        ("CHUNKS", chunked, 1_224),
        ("GROUPS", route.groups.is_some(), 672),
        ("ARRIVALS", space(SpaceKind::Arrivals), 48),
        ("ARRIVAL_ORDER", arrival_order, 1_684),
        ("LOAD", load, 2_548),
        ("MIXED", mixed, if load { 492 } else { 3_040 }),
        ("LIGHTEST", lightest, if load || mixed { 172 } else { 1_668 }),
        ("PLACEMENT", placement, 2_908),
        ("TO_KEEP", keeps, 864 + with(placement, PLACED_AND_KEEPS) + with(chunked, CHUNKED_AND_KEEPS)),
        ("KEPT", kept, 1_516 + with(placement, PLACED_AND_KEPT) + with(chunked, CHUNKED_AND_KEPT)),
        ("PARTS", graph.adds_by_parts(), 1_116),
        ("CHOICE", graph.sizes.chunks_at_most.is_some(), 1_804 + with(placement, PLACED_AND_CHOICE)),
    ];
    let needed = || needs.iter().filter(|(_, needed, _)| *needed);
    let named: Vec<String> = needed().map(|(name, ..)| format!("NEEDS_{name}")).collect();
    let bytes = Bytes(EVERY_ROUTE + needed().map(|(_, _, bytes)| bytes).sum::<u64>());
    Some(RouteCode { needs: if named.is_empty() { "NEEDS_NOTHING".to_owned() } else { named.join(" | ") }, bytes })
}

/// Estimated size of the code with which a vector core makes a route; zero if the kernel makes none.
#[must_use]
pub fn route_bytes(graph: &TaskGraph, schedule: &Schedule) -> Bytes {
    code(graph, schedule).map_or(Bytes(0), |code| code.bytes)
}

/// Whether a launch may have a placement. Routes in groups, and routes that send tokens once, allow one only if some ranks have spare
/// places or places that no expert needs.
fn takes_placements(graph: &TaskGraph, route: &MadeRoute, once: bool) -> bool {
    let uneven = graph.named_ranks.iter().any(|ranks| graph.sizes.experts % *ranks as usize != 0);
    graph.sizes.spare > 0 || uneven || !(route.groups.is_some() || once)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::CheckedGraph;
    use crate::fixture::{Layer, choosing, moe_ffn, routed};
    use crate::graph::TaskGraph;
    use crate::schedule::{Choices, schedule_with};
    use crate::target::Target;

    fn needs_of(checked: &CheckedGraph, choices: &str) -> Option<String> {
        let choices = Choices::read(choices).expect("choices");
        code(checked.graph(), &schedule_with(checked, &Target::ascend_a3(), &choices)).map(|code| code.needs)
    }

    #[test]
    fn a_route_needs_what_its_launches_may_ask_for() {
        let changed = |change: fn(&mut TaskGraph)| needs_of(&routed(&Layer::SMALL).changed(change), "by_load=false");
        let needs = |with: &str| Some(format!("NEEDS_ARRIVALS{with}"));
        assert_eq!(needs_of(&moe_ffn(&Layer::SMALL), ""), None);
        assert_eq!(changed(|_| ()), needs(" | NEEDS_PLACEMENT"));
        let by_load = needs_of(&routed(&Layer::SMALL), "").expect("it makes a route");
        assert!(by_load.contains("NEEDS_LOAD") && !by_load.contains("NEEDS_MIXED"), "{by_load}");
        let lightest = needs_of(&routed(&Layer::SMALL), "lightest_first=2").expect("it makes a route");
        assert!(lightest.contains("NEEDS_MIXED | NEEDS_LIGHTEST") && !lightest.contains("NEEDS_LOAD"), "{lightest}");
        // If the route has groups, launches refuse placements unless ranks have spare places.
        let grouped = |graph: &mut TaskGraph| graph.route.as_mut().expect("it makes a route").groups = Some(2);
        assert_eq!(changed(grouped), Some("NEEDS_GROUPS | NEEDS_ARRIVALS".to_owned()));
        let spare = |graph: &mut TaskGraph| graph.sizes.spare = 1;
        assert_eq!(changed(spare), needs(" | NEEDS_PLACEMENT"));
        let chooses = needs_of(&choosing(&Layer::SMALL, 4), "by_load=false");
        assert_eq!(chooses, Some("NEEDS_CHUNKS | NEEDS_ARRIVALS | NEEDS_PLACEMENT | NEEDS_CHOICE".to_owned()));
        // A kernel that chooses can keep its route, and add to matrices of experts.
        let keeps = |graph: &mut TaskGraph| {
            let ids = graph.route.as_ref().expect("it makes a route").ids;
            graph.route.as_mut().expect("it makes a route").keeps = Some(ids);
        };
        let chooses = needs_of(&choosing(&Layer::SMALL, 4).changed(keeps), "by_load=false");
        assert!(chooses.is_some_and(|needs| needs.ends_with("NEEDS_TO_KEEP | NEEDS_CHOICE")));
        let adds = |graph: &mut TaskGraph| {
            let matrix = graph.tensors.iter().find(|(_, tensor)| matches!(tensor.rows, RowKind::Expert(_)));
            let matrix = matrix.expect("experts have weights").0;
            graph.tensors[matrix].writable = true;
        };
        let chooses = needs_of(&choosing(&Layer::SMALL, 4).changed(adds), "by_load=false");
        assert!(chooses.is_some_and(|needs| needs.ends_with("NEEDS_PARTS | NEEDS_CHOICE")));
    }
}
