//! The order in which a rank works on its experts.

use super::Choices;
use super::cost::EntryCosts;
use super::lightest::lightest_first;
use crate::graph::{SpaceKind, TaskGraph};
use hpmoe_kernels::route::ExpertOrders;

/// Experts per rank from which on a route that the device makes orders them by number. Each core that makes the route compares every expert
/// with all others of its rank. In the simulator, a router with 64 experts or more per rank takes up to 32 % less time by number, and at
/// most 3 % more with Zipf 1.2.
const MANY: usize = 64;

/// The order of experts for every number of ranks: by load, unless it is turned off, or tokens are sent once, or the device makes the route
/// for [`MANY`] experts per rank.
pub(super) fn expert_orders(graph: &TaskGraph, costs: &EntryCosts, aic: u32, choices: &Choices) -> ExpertOrders {
    // A token that is sent once is stored under the lowest number of its experts, so experts run by number.
    let sends_once = graph.spaces.iter().any(|(_, space)| space.kind == SpaceKind::SendsOnce);
    if !choices.by_load || sends_once {
        return ExpertOrders::Number;
    }
    if let Some(ranks) = lightest_first(graph, costs, aic, choices) {
        return ExpertOrders::LightestFirstFrom(ranks);
    }
    let fewest = graph.sizes.experts / MANY + 1;
    match u32::try_from(fewest) {
        Ok(fewest) if graph.route.is_some() && fewest > 1 => ExpertOrders::LoadFrom(fewest),
        _ => ExpertOrders::Load,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::CheckedGraph;
    use crate::fixture::{Layer, moe_ffn, once, routed};
    use crate::schedule::schedule_with;
    use crate::target::Target;
    use hpmoe_kernels::route::ExpertOrder;

    fn orders(checked: &CheckedGraph, choices: &str) -> ExpertOrders {
        schedule_with(checked, &Target::ascend_a3(), &Choices::read(choices).unwrap()).expert_orders
    }

    #[test]
    fn experts_run_by_load_unless_it_is_not_chosen_or_tokens_are_sent_once() {
        let (layer, once) = (moe_ffn(&Layer::SMALL), once(&Layer::SMALL));
        assert_eq!(orders(&layer, ""), ExpertOrders::Load);
        assert_eq!(orders(&layer, "lightest_first=2"), ExpertOrders::LightestFirstFrom(2));
        for (checked, choices) in [(&layer, "by_load=false"), (&once, "")] {
            assert_eq!(orders(checked, choices), ExpertOrders::Number);
            assert_eq!(orders(checked, &format!("lightest_first=2 {choices}")), ExpertOrders::Number);
        }
    }

    #[test]
    fn many_experts_of_a_rank_run_by_number_if_the_device_makes_the_route() {
        let layer = |experts| Layer { experts, ..Layer::SMALL };
        assert_eq!(orders(&moe_ffn(&layer(256)), ""), ExpertOrders::Load);
        assert_eq!(orders(&routed(&layer(63)), ""), ExpertOrders::Load);
        assert_eq!(orders(&routed(&layer(256)), "by_load=false"), ExpertOrders::Number);
        let many = orders(&routed(&layer(256)), "");
        use ExpertOrder::{Load, Number};
        assert_eq!([1, 2, 4, 8, 256].map(|ranks| many.on(ranks)), [Number, Number, Number, Load, Load]);
        assert_eq!([1, 2].map(|ranks| orders(&routed(&layer(64)), "").on(ranks)), [Number, Load]);
    }
}
