//! How many experts a role starts before it continues with what another role has made of the first.

use super::Choices;
use super::cost::EntryCosts;
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::graph::{SpaceKind, TaskGraph};

/// The most experts that are started where nothing is chosen.
const MOST: u64 = 16;

/// The number of experts: as chosen, or one, or as many as have a tile of a product for each core together. With fewer, a core that
/// has no tile of the next expert would come back to the first one before the other role is done with it.
pub(super) fn ahead(graph: &TaskGraph, costs: &EntryCosts, choices: &Choices, (ranks, cores): (u32, u32)) -> u32 {
    if let Some(chosen) = choices.experts_ahead {
        return chosen;
    }
    let products = graph.phases.iter().filter(|(_, phase)| {
        graph.tasks[phase.task].kind == TaskKind::Matrix && graph.spaces[phase.space].kind == SpaceKind::RowTiles
    });
    let fewest = products.map(|(phase, _)| costs.entry_tiles(graph, ranks, phase)).min();
    fewest.map_or(1, |tiles| u64::from(cores).div_ceil(tiles.max(1)).min(MOST)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;
    use hpmoe_language::fixture::{Layer, moe_ffn};

    #[test]
    fn so_many_experts_are_started_that_all_cores_have_a_tile() {
        let started = |layer: Layer, choices: &str| {
            let checked = moe_ffn(&layer);
            let costs = EntryCosts::new(checked.graph(), &Target::ascend_a3());
            ahead(checked.graph(), &costs, &Choices::read(choices).unwrap(), (8, 24))
        };
        let large = Layer::DEEPSEEK;
        assert_eq!((started(large, ""), started(large, "experts_ahead=3")), (1, 3));
        // One row tile of twelve columns, of nine, of three, and of one.
        let few = |inter| Layer { tokens: 128, inter, hidden: 12 * 256, ..Layer::DEEPSEEK };
        assert_eq!([12, 9, 3, 1].map(|columns| started(few(columns * 256), "")), [2, 3, 8, 16]);
    }
}
