//! What the code that makes a route is compiled for.

use crate::graph::{MadeRoute, RowKind, SpaceKind, TaskGraph};
use crate::schedule::Schedule;
use hpmoe_kernels::route::ExpertOrder;

/// The needs of a kernel's routes, as the device library names them (`routing/needs.h`); `None` if the kernel makes none. Everything that a
/// launch of the kernel can ask for is among them.
pub(super) fn needs(graph: &TaskGraph, schedule: &Schedule) -> Option<String> {
    let route = graph.route.as_ref()?;
    let space = |kind: SpaceKind| graph.spaces.iter().any(|(_, space)| space.kind == kind);
    let once = space(SpaceKind::SendsOnce) || space(SpaceKind::OnceTiles);
    let order = |order| schedule.orders.iter().any(|each| schedule.expert_orders.on(each.ranks) == order);
    let coming = schedule.orders.iter().any(|order| {
        let walks = |phase| graph.spaces[graph.phases[phase].space].kind == SpaceKind::RowTiles;
        graph.phases.ids().any(|phase| walks(phase) && schedule.coming(order, phase).is_some())
    });
    let needs = [
        ("ONCE", once),
        ("CHUNKS", graph.sizes.chunks > 1),
        ("GROUPS", route.groups.is_some()),
        ("ARRIVALS", space(SpaceKind::Arrivals)),
        ("COMING", coming),
        ("LOAD", order(ExpertOrder::Load)),
        ("MIXED", order(ExpertOrder::Mixed)),
        ("LIGHTEST", order(ExpertOrder::LightestFirst)),
        ("PLACEMENT", takes_placements(graph, route, once)),
        ("TO_KEEP", route.keeps.is_some()),
        ("KEPT", graph.tensors[route.ids].rows == RowKind::Routed),
    ];
    let named: Vec<String> =
        needs.iter().filter(|(_, needed)| *needed).map(|(name, _)| format!("NEEDS_{name}")).collect();
    Some(if named.is_empty() { "NEEDS_NOTHING".to_owned() } else { named.join(" | ") })
}

/// Whether a launch may have a placement. Those of a route in groups, and those that send tokens once, have none but the one of ranks with
/// places that no expert needs.
fn takes_placements(graph: &TaskGraph, route: &MadeRoute, once: bool) -> bool {
    let uneven = graph.named_ranks.iter().any(|ranks| graph.sizes.experts % *ranks as usize != 0);
    graph.sizes.spare > 0 || uneven || !(route.groups.is_some() || once)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::CheckedGraph;
    use crate::fixture::{Layer, moe_ffn, routed};
    use crate::graph::TaskGraph;
    use crate::schedule::{Choices, schedule_with};
    use crate::target::Target;

    fn needs_of(checked: &CheckedGraph, choices: &str) -> Option<String> {
        let choices = Choices::read(choices).expect("choices");
        needs(checked.graph(), &schedule_with(checked, &Target::ascend_a3(), &choices))
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
        // A launch with a placement is refused where the route has groups, unless ranks have places that no expert needs.
        let grouped = |graph: &mut TaskGraph| graph.route.as_mut().expect("it makes a route").groups = Some(2);
        assert_eq!(changed(grouped), Some("NEEDS_GROUPS | NEEDS_ARRIVALS".to_owned()));
        let spare = |graph: &mut TaskGraph| graph.sizes.spare = 1;
        assert_eq!(changed(spare), needs(" | NEEDS_PLACEMENT"));
    }
}
