//! The number of ranks from which on a rank begins with the experts that have the fewest rows.

use super::Choices;
use super::cost::{EntryCosts, MANY_ROWS};
use crate::graph::{SpaceKind, TaskGraph};
use crate::ids::PhaseId;
use crate::units::Nanos;
use hpmoe_kernels::op::TaskKind;

/// The rows of an expert arrive late if they are in transit for this many times as long as the products of one rank's rows take. Products
/// that need all rows of the expert don't count.
const LATE: u64 = 4;

/// With at most this many experts in a group, even two ranks have too few experts each for [`hpmoe_kernels::route::mixed`] to put light
/// experts between heavy ones.
const FEW: usize = 8;

/// The smallest number of ranks on which experts run from the fewest rows to the most, as chosen or by default. The default is `None`
/// except in kernels with tiles that need all rows of an expert. In these, it is the number of ranks from which on the rows of an expert
/// that all tokens choose arrive late, or two if there are few experts. The gradients of the lightest expert are then computed while other
/// tiles multiply, and not at the very end, when only HBM is busy.
///
/// All ranks send the rows of such an expert at the same time, and each rank has few of them. Its row tiles therefore become ready
/// together, when nearly all rows have arrived. Other kernels would gain nothing: they would put that expert's results back last, when the
/// links have nothing else to do.
pub(super) fn lightest_first(graph: &TaskGraph, costs: &EntryCosts, aic: u32, choices: &Choices) -> Option<u32> {
    if choices.lightest_first.is_some() {
        return choices.lightest_first;
    }
    if !graph.needs_whole_experts() {
        return None;
    }
    if graph.sizes.experts <= FEW {
        return Some(2);
    }
    let total = |task: TaskKind, space: SpaceKind, time: &dyn Fn(PhaseId) -> Nanos| -> u64 {
        let phases = graph
            .phases
            .iter()
            .filter(|(_, phase)| graph.tasks[phase.task].kind == task && graph.spaces[phase.space].kind == space);
        phases.map(|(id, _)| time(id).0).sum()
    };
    let link_time = total(TaskKind::Put, SpaceKind::Sends, &|id| costs.link_time(id, MANY_ROWS));
    if link_time == 0 {
        return None;
    }
    let work = total(TaskKind::Matrix, SpaceKind::RowTiles, &|id| costs.core_time(id, MANY_ROWS, 1));
    u32::try_from((LATE * work).div_ceil(u64::from(aic)).div_ceil(link_time)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::CheckedGraph;
    use crate::fixture::{Layer, moe_backward, moe_ffn};
    use crate::target::Target;

    fn fewest(checked: &CheckedGraph, choices: &str) -> Option<u32> {
        let costs = EntryCosts::new(checked.graph(), &Target::ascend_a3());
        lightest_first(checked.graph(), &costs, 24, &Choices::read(choices).unwrap())
    }

    #[test]
    fn many_ranks_begin_with_the_lightest_experts_where_gradients_are_made() {
        // With wider experts, the rows that have arrived mean more work.
        let ranks = |inter| fewest(&moe_backward(&Layer { inter, ..Layer::DEEPSEEK }), "").unwrap();
        let [narrow, own, wide] = [1536, 2048, 14336].map(ranks);
        assert!(8 < narrow && narrow < own && own <= 16 && wide > 64, "{narrow}, {own} and {wide} ranks");
        assert_eq!(fewest(&moe_ffn(&Layer::DEEPSEEK), ""), None);
        let few = |experts| Layer { inter: 14_336, experts, top_k: 2, ..Layer::DEEPSEEK };
        assert_eq!([8, 16].map(|experts| fewest(&moe_backward(&few(experts)), "")), [Some(2), Some(wide)]);
        assert_eq!(fewest(&moe_ffn(&few(8)), ""), None);
        assert_eq!(fewest(&moe_ffn(&Layer::DEEPSEEK), "lightest_first=2"), Some(2));
    }

    #[test]
    fn rows_come_late_where_they_take_four_times_as_long_as_products_of_one_rank_s() {
        let checked = moe_backward(&Layer::DEEPSEEK);
        let graph = checked.graph();
        let costs = EntryCosts::new(graph, &Target::ascend_a3());
        let over = |kind: SpaceKind| {
            let phases = graph.phases.iter().filter(move |(_, phase)| graph.spaces[phase.space].kind == kind);
            phases.map(|(id, phase)| (id, graph.tasks[phase.task].kind))
        };
        // Only products over row tiles and rows that are sent count, not other products or rows that are put back.
        let products = over(SpaceKind::RowTiles).filter(|(_, task)| *task == TaskKind::Matrix);
        let work: u64 = products.map(|(id, _)| costs.core_time(id, MANY_ROWS, 1).0).sum();
        let link_time: u64 = over(SpaceKind::Sends).map(|(id, _)| costs.link_time(id, MANY_ROWS).0).sum();
        for cores in [1, 5, 24] {
            let found = lightest_first(graph, &costs, cores, &Choices::default()).unwrap();
            assert_eq!(u64::from(found), (4 * work).div_ceil(cores.into()).div_ceil(link_time), "{cores} cores");
        }
        // If nothing is sent, nothing arrives late.
        let mut still = graph.clone();
        let sends: Vec<_> = still.spaces.ids().filter(|&id| still.spaces[id].kind == SpaceKind::Sends).collect();
        sends.into_iter().for_each(|id| still.spaces[id].kind = SpaceKind::Arrivals);
        assert_eq!(lightest_first(&still, &costs, 24, &Choices::default()), None);
    }
}
