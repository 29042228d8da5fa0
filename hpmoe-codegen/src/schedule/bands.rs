//! Which band each phase's tiles are walked in.

use super::Choices;
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::analyze::{CheckedGraph, Dependency, Index};
use hpmoe_language::graph::TaskGraph;
use hpmoe_language::ids::{Arena, Id, PhaseId};
use petgraph::unionfind::UnionFind;

/// With fewer columns a band of one already keeps the row panel.
const MIN_COLUMNS: u32 = 4;

/// The band of each phase. Phases that feed one another tile by tile walk their tiles alike, so that a consumer finds
/// its tiles done in the order in which it asks for them.
pub(super) fn bands(checked: &CheckedGraph, choices: &Choices) -> Arena<PhaseId, u32> {
    let graph = checked.graph();
    let alike = walked_alike(checked);
    let mut widest = vec![1; graph.phases.len()];
    for phase in graph.phases.ids() {
        let puts = |d: &Dependency| d.before == phase && graph.tasks[graph.phases[d.after].task].kind == TaskKind::Put;
        let put = checked.dependencies().iter().any(puts);
        let band = &mut widest[alike.find(phase.index())];
        *band =
            (*band).max(own_band(graph, phase, choices).min(if put { choices.put_band } else { choices.matrix_band }));
    }
    graph.phases.ids().map(|phase| widest[alike.find(phase.index())]).collect()
}

/// Phases that feed one another tile by tile.
pub(super) fn walked_alike(checked: &CheckedGraph) -> UnionFind<usize> {
    let mut alike = UnionFind::new(checked.graph().phases.len());
    for dependency in checked.dependencies() {
        if dependency.signal.index == Index::Tile && dependency.wait.index == Index::Tile {
            alike.union(dependency.before.index(), dependency.after.index());
        }
    }
    alike
}

fn own_band(graph: &TaskGraph, phase: PhaseId, choices: &Choices) -> u32 {
    let phase = &graph.phases[phase];
    let matrix = graph.tasks[phase.task].kind == TaskKind::Matrix;
    if matrix && phase.columns() >= MIN_COLUMNS { choices.matrix_band.max(choices.put_band) } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpmoe_language::fixture::{Layer, moe_ffn};

    #[test]
    fn swiglu_walks_like_its_producers() {
        let bands: Vec<u32> = bands(&moe_ffn(&Layer::DEEPSEEK), &Choices::read("matrix_band=6 put_band=2").unwrap())
            .iter()
            .map(|(_, &band)| band)
            .collect();
        assert_eq!(bands, [1, 6, 6, 6, 2, 1, 1]);
    }

    #[test]
    fn few_columns_need_no_band() {
        let bands: Vec<u32> = bands(&moe_ffn(&Layer::SMALL), &Choices::read("matrix_band=6 put_band=2").unwrap())
            .iter()
            .map(|(_, &band)| band)
            .collect();
        assert_eq!(bands, [1, 1, 1, 1, 2, 1, 1]);
    }
}
