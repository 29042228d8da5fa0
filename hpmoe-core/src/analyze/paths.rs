//! Dependencies implied by others: a chain of phases, each waiting for the previous one, for the same rows.

use super::readiness::{Cover, Dependency, Grid};
use crate::analyze::Counter;
use crate::graph::{Height, TaskGraph};
use crate::ids::{Arena, CounterId, PhaseId};

/// Marks the dependencies that a path covers.
pub(super) fn paths(graph: &TaskGraph, counters: &Arena<CounterId, Counter>, dependencies: &mut [Dependency]) {
    let edges: Vec<Edge> = dependencies.iter().map(|dependency| Edge::new(graph, counters, dependency)).collect();
    for (index, wanted) in edges.iter().enumerate() {
        if let Some(path) = find(&edges, dependencies, wanted) {
            dependencies[index].cover = Cover::Path(path);
        }
    }
}

/// A dependency as a step of a path.
struct Edge {
    before: PhaseId,
    after: PhaseId,
    /// The maximum number of rows that one counter stands for; `None` if it doesn't stand for received rows.
    height: Option<Height>,
    /// Whether the counter stands for all columns that `before` writes.
    all_columns: bool,
}

impl Edge {
    fn new(graph: &TaskGraph, counters: &Arena<CounterId, Counter>, dependency: &Dependency) -> Self {
        let (height, all_columns) = match counters[dependency.wait.counter].grid {
            Grid::RowTiles { space, columns } => (Some(graph.spaces[space].height), columns == 1),
            Grid::Experts => (Some(Height::WholeExpert), true),
            Grid::Blocks { .. } | Grid::Rank => (None, true),
        };
        Self { before: dependency.before, after: dependency.after, height, all_columns }
    }
}

/// A path of at least two counted steps from the dependency's first phase to its second.
///
/// The tile that waits last waits for whole counters of the step before, whose tiles wait for whole counters of the step
/// before that: with nested heights the rows covered are those of the largest counter on the way, which must hold the
/// rows that the dependency itself is about. The first step must count every column of the first phase.
fn find(edges: &[Edge], dependencies: &[Dependency], wanted: &Edge) -> Option<Vec<PhaseId>> {
    let (from, to, height) = (wanted.before, wanted.after, wanted.height?);
    let mut open: Vec<(PhaseId, Option<Height>, Vec<PhaseId>)> = vec![(from, None, vec![from])];
    while let Some((phase, covered, path)) = open.pop() {
        for (edge, dependency) in edges.iter().zip(dependencies) {
            let usable = edge.before == phase && matches!(dependency.cover, Cover::Counter);
            let (true, Some(step)) = (usable, edge.height) else { continue };
            let Some(covered) = covered.map_or(Some(step), |covered: Height| covered.common(step)) else { continue };
            if phase == from && !edge.all_columns {
                continue;
            }
            let mut path = path.clone();
            path.push(edge.after);
            if edge.after == to {
                if path.len() > 2 && covered.holds(height) {
                    return Some(path);
                }
            } else if edge.after < to {
                open.push((edge.after, Some(covered), path));
            }
        }
    }
    None
}
