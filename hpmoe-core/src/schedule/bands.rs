//! Chooses the band of each phase.

mod reach;

use super::Choices;
use crate::analyze::{CheckedGraph, Dependency, Index};
use crate::collections::DisjointSets;
use crate::graph::TaskGraph;
use crate::ids::{Arena, Id, PhaseId};
use crate::target::Target;
use hpmoe_kernels::op::TaskKind;
use reach::Reach;

/// The minimum number of columns for a band of more than one row. With fewer, a band of one already keeps the row panel.
const MIN_COLUMNS: u32 = 4;

/// The band of each phase. Phases that feed one another tile by tile have the same band, so that a consumer finds its tiles done in the
/// order in which it asks for them.
///
/// Short bands finish rows early, which keeps the links evenly busy and leaves few rows for the end. By default, a band is
/// short unless a taller one takes less time.
pub(super) fn bands(checked: &CheckedGraph, target: &Target, choices: &Choices) -> Arena<PhaseId, u32> {
    let graph = checked.graph();
    let alike = walked_alike(checked);
    let reach = Reach::new(graph, target);
    let mut widest = vec![1; graph.phases.len()];
    for phase in graph.phases.ids().filter(|&phase| is_wide_product(graph, phase)) {
        let puts = |d: &Dependency| d.before == phase && graph.tasks[graph.phases[d.after].task].kind == TaskKind::Put;
        let put = checked.dependencies().iter().any(puts);
        let (chosen, short) = if put { (choices.put_band, 1) } else { (choices.matrix_band, 2) };
        // Phases that are walked alike have the same number of columns.
        let joins = |&other: &PhaseId| {
            is_wide_product(graph, other)
                && if choices.join { alike.first(other.index()) == alike.first(phase.index()) } else { other == phase }
        };
        let joined: Vec<PhaseId> = graph.phases.ids().filter(joins).collect();
        let own = chosen.unwrap_or_else(|| reach.band(graph, (phase, &joined), short));
        let band = &mut widest[alike.first(phase.index())];
        *band = own.max(*band);
    }
    graph.phases.ids().map(|phase| widest[alike.first(phase.index())]).collect()
}

/// Sets of phases that feed one another tile by tile.
fn walked_alike(checked: &CheckedGraph) -> DisjointSets {
    let mut alike = DisjointSets::new(checked.graph().phases.len());
    for dependency in checked.dependencies() {
        if dependency.wait.index == Index::Tile {
            alike.join(dependency.before.index(), dependency.after.index());
        }
    }
    alike
}

fn is_wide_product(graph: &TaskGraph, phase: PhaseId) -> bool {
    let phase = &graph.phases[phase];
    graph.tasks[phase.task].kind == TaskKind::Matrix && phase.columns() >= MIN_COLUMNS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};
    use crate::graph::SpaceKind;

    fn chosen(checked: &CheckedGraph, choices: &str) -> Vec<u32> {
        let bands = bands(checked, &Target::ascend_a3(), &Choices::read(choices).unwrap());
        bands.iter().map(|(_, &band)| band).collect()
    }

    #[test]
    fn swiglu_walks_like_its_producers() {
        assert_eq!(chosen(&moe_ffn(&Layer::DEEPSEEK), "matrix_band=6 put_band=2"), [1, 6, 6, 6, 2, 1, 1]);
    }

    #[test]
    fn what_is_put_and_what_is_not_have_bands_of_their_own() {
        let layer = moe_ffn(&Layer::DEEPSEEK);
        assert_eq!(chosen(&layer, "matrix_band=3 put_band=7"), [1, 3, 3, 3, 7, 1, 1]);
        assert_eq!(chosen(&layer, "matrix_band=5"), [1, 5, 5, 5, 1, 1, 1]);
        // If phases are walked alike, the tallest of their bands counts.
        let feeds = checked_with_band_of_put_after_gate();
        assert_eq!(chosen(&feeds, "matrix_band=3 put_band=7"), [1, 7, 7, 7, 7, 1, 1]);
        assert_eq!(chosen(&feeds, "matrix_band=7 put_band=3"), [1, 7, 7, 7, 3, 1, 1]);
    }

    /// The layer with a put that would read the output of the gate projection.
    fn checked_with_band_of_put_after_gate() -> CheckedGraph {
        let layer = moe_ffn(&Layer::DEEPSEEK);
        let mut dependencies = layer.dependencies().to_vec();
        let put = dependencies.iter().find(|d| (d.before, d.after) == (PhaseId(4), PhaseId(5))).unwrap().clone();
        dependencies.push(Dependency { before: PhaseId(1), ..put });
        CheckedGraph::for_tests(layer.graph().clone(), layer.counters().clone(), dependencies)
    }

    #[test]
    fn four_columns_are_wide() {
        let columns = |inter: usize| chosen(&moe_ffn(&Layer { inter, ..Layer::DEEPSEEK }), "matrix_band=6")[1];
        assert_eq!([columns(3 * 256), columns(4 * 256)], [1, 6]);
    }

    #[test]
    fn few_columns_need_no_band() {
        assert_eq!(chosen(&moe_ffn(&Layer::SMALL), "matrix_band=6 put_band=2"), [1, 1, 1, 1, 2, 1, 1]);
    }

    #[test]
    fn products_that_are_walked_together_read_more_at_a_time() {
        // The down projection has as many columns as gate and up, but is not walked together with them.
        let square = Layer { hidden: 8192, inter: 8192, experts: 8, top_k: 2, ..Layer::DEEPSEEK };
        let checked = moe_ffn(&square);
        let graph = checked.graph();
        let mut differ = [0; 2];
        for slower in [1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0] {
            let mut target = Target::ascend_a3();
            target.memory.hbm_gb_per_s /= slower;
            let reach = Reach::new(graph, &target);
            let band = |phase: u32, joined: &[u32], short: u32| {
                let joined: Vec<PhaseId> = joined.iter().copied().map(PhaseId).collect();
                reach.band(graph, (PhaseId(phase), &joined), short)
            };
            for (choices, [of_gate, of_up]) in [("", [&[1, 2][..]; 2]), ("join=false", [&[1], &[2]])] {
                let found = bands(&checked, &target, &Choices::read(choices).unwrap());
                let both = band(1, of_gate, 2).max(band(2, of_up, 2));
                assert_eq!([1, 2, 3, 4].map(|phase| found[PhaseId(phase)]), [both, both, both, band(4, &[4], 1)]);
            }
            let others = [band(1, &[1], 2) != band(1, &[1, 2], 2), band(4, &[1, 2, 4], 1) != band(4, &[4], 1)];
            differ.iter_mut().zip(others).for_each(|(count, other)| *count += u32::from(other));
        }
        assert!(differ.iter().all(|&count| count > 0), "{differ:?}");
    }

    #[test]
    fn bands_are_short_unless_hbm_is_too_slow_for_them() {
        assert_eq!(chosen(&moe_ffn(&Layer::DEEPSEEK), ""), [1, 2, 2, 2, 1, 1, 1]);
        // Gate and up projections of this size have 235 MB of weights, which L2 does not hold from band to band.
        let mixtral = Layer { hidden: 4096, inter: 14_336, experts: 8, top_k: 2, ..Layer::DEEPSEEK };
        let checked = moe_ffn(&mixtral);
        let bands = chosen(&checked, "");
        assert!(bands[1] > 2 && bands[1] == bands[2] && bands[1] == bands[3], "{bands:?}");
        // A tile of all rows of an expert has no row tiles after it that a tall band could delay.
        let space = checked.graph().phases[PhaseId(1)].space;
        let of_experts = checked.changed(|graph| graph.spaces[space].kind = SpaceKind::Experts);
        assert_eq!(chosen(&of_experts, "")[1..5], [2, 2, 2, 1]);
    }
}
