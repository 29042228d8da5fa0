//! Experts ahead: the number of experts whose first phases a role computes before it continues with an expert that another role has
//! processed meanwhile.

use super::Choices;
use super::cost::EntryCosts;
use super::spans::experts_together;
use super::typical::typical;
use crate::graph::{SpaceKind, TaskGraph};
use crate::ids::PhaseId;
use hpmoe_kernels::op::TaskKind;

/// The maximum default for experts started ahead.
const MOST: u64 = 16;

/// If an expert has at least this many row tiles, which a role computes one after another, no expert is started ahead: another role has
/// finished the first row tiles before this role computes the last ones. Half as many are enough if a rank has few experts, because the
/// rows of each are then a large part of those in transit at the start.
const MANY: u64 = 16;
/// A rank with at most this many experts has few.
const FEW: usize = 4;

/// The number of experts started ahead, as chosen or by default. The default is 0 if an expert has many row tiles: the rows of the next
/// expert can then arrive while all work on this one runs. Otherwise it is 1, or as many as give each core a tile of a product. With fewer,
/// a core without a tile of the next expert would return to the first expert before the other role has finished with it. If the entries of
/// several experts are put together, the last of them comes sooner after its first phases, so as many more experts are started ahead.
pub(super) fn ahead(graph: &TaskGraph, costs: &EntryCosts, choices: &Choices, ranks: u32, cores: u32) -> u32 {
    if let Some(chosen) = choices.experts_ahead {
        return chosen;
    }
    let products = graph.phases.iter().filter(|(_, phase)| {
        graph.tasks[phase.task].kind == TaskKind::Matrix && graph.spaces[phase.space].kind == SpaceKind::RowTiles
    });
    let tiles = products.map(|(id, phase)| {
        let tiles = costs.entry_tiles(graph, ranks, id);
        (tiles, tiles / u64::from(phase.columns()))
    });
    let Some((fewest, items)) = tiles.min() else { return 1 };
    let many = if graph.sizes.expert_chunks(ranks as usize) <= FEW { MANY / 2 } else { MANY };
    if items >= many && fewest >= 2 * u64::from(cores) {
        return 0;
    }
    let together = |ranks: u32, phase: PhaseId| experts_together(graph, costs, (ranks, cores), phase);
    let products = graph.phases.iter().filter(|(_, phase)| graph.tasks[phase.task].kind == TaskKind::Matrix);
    let spanned = products.filter(|(id, _)| together(typical(graph).ranks, *id) > 1).map(|(id, _)| together(ranks, id));
    let spanned = spanned.max().unwrap_or(1);
    (u64::from(cores).div_ceil(fewest).min(MOST) + spanned - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_backward, moe_ffn, once, only};
    use crate::target::Target;

    #[test]
    fn so_many_experts_are_started_that_all_cores_have_a_tile() {
        let started = |layer: Layer, choices: &str| {
            let checked = moe_ffn(&layer);
            let costs = EntryCosts::new(checked.graph(), &Target::ascend_a3());
            ahead(checked.graph(), &costs, &Choices::read(choices).unwrap(), 8, 24)
        };
        // An expert has three row tiles.
        let three = Layer { tokens: 3 * 128, ..Layer::DEEPSEEK };
        assert_eq!((started(three, ""), started(three, "experts_ahead=3")), (1, 3));
        // An expert has one row tile of twelve, nine, three or one columns.
        let few = |inter| Layer { tokens: 128, inter, hidden: 12 * 256, ..Layer::DEEPSEEK };
        assert_eq!([12, 9, 3, 1].map(|columns| started(few(columns * 256), "")), [2, 3, 8, 16]);
    }

    #[test]
    fn an_expert_with_many_row_tiles_is_finished_before_the_next_one_begins() {
        let started = |tokens: usize, experts: usize| {
            let checked = moe_ffn(&Layer { tokens, experts, ..Layer::DEEPSEEK });
            let costs = EntryCosts::new(checked.graph(), &Target::ascend_a3());
            ahead(checked.graph(), &costs, &Choices::default(), 8, 24)
        };
        // This holds only if each core has two tiles: three columns of sixteen row tiles are enough for 24 cores.
        let checked = moe_ffn(&Layer { tokens: 16 * 128, inter: 3 * 256, ..Layer::DEEPSEEK });
        let costs = EntryCosts::new(checked.graph(), &Target::ascend_a3());
        let by_cores = |cores| ahead(checked.graph(), &costs, &Choices::default(), 8, cores);
        assert_eq!([by_cores(24), by_cores(25)], [0, 1]);
        // An expert has one copy and eight products; the copy does not count as a product.
        let copied = once(&Layer { tokens: 128, put: 128, ..Layer::DEEPSEEK });
        let costs = EntryCosts::new(copied.graph(), &Target::ascend_a3());
        assert_eq!(ahead(copied.graph(), &costs, &Choices::default(), 8, 24), 3);
        // A gradient has fewer tiles than the products over row tiles, and comes after all of them.
        for tokens in [8192, 65_536] {
            let gradients = moe_backward(&Layer { tokens, ..Layer::DEEPSEEK });
            let costs = EntryCosts::new(gradients.graph(), &Target::ascend_a3());
            assert_eq!(ahead(gradients.graph(), &costs, &Choices::default(), 8, 24), 0);
        }
        // Without products, no work returns to the matrix cores.
        let vector = only(&Layer::SMALL, TaskKind::Vector);
        let costs = EntryCosts::new(vector.graph(), &Target::ascend_a3());
        assert_eq!(ahead(vector.graph(), &costs, &Choices::default(), 8, 24), 1);
        // With 64 experts on 8 ranks, an expert has as many rows as a rank has tokens. A rank with 4 experts of 32 needs half as many row
        // tiles.
        assert_eq!([started(16 * 128, 64), started(15 * 128, 64)], [0, 1]);
        assert_eq!([started(8 * 64, 32), started(7 * 64, 32)], [0, 1]);
    }
}
