//! The required order, derived from regions alone.

use super::instance::{Instance, RANKS};
use super::tiles::{Tile, tiles};
use super::touched::{Touched, touched};
use crate::collections::IdSet;
use crate::graph::TaskGraph;
use crate::ids::TensorId;

/// The tiles of the instance in program order. The first nodes are words, one per rank, that free the memory for this
/// chunk; the last nodes are the words, one per rank, that free it again. Edges thus lead from lower to higher nodes.
pub(super) struct Nodes {
    tiles: Vec<Tile>,
}

impl Nodes {
    pub(super) fn new(graph: &TaskGraph, instance: &Instance) -> Self {
        Self { tiles: tiles(graph, instance) }
    }

    pub(super) fn len(&self) -> usize {
        self.word_after(RANKS)
    }

    /// All tiles with their nodes.
    pub(super) fn tiles(&self) -> impl Iterator<Item = (usize, &Tile)> {
        (RANKS..).zip(&self.tiles)
    }

    /// The tile of a node; `None` for words.
    pub(super) fn tile(&self, node: usize) -> Option<&Tile> {
        self.tiles.get(node.checked_sub(RANKS)?)
    }

    /// The word after which this chunk may use memory on the rank.
    pub(super) fn word_before(&self, rank: usize) -> usize {
        rank
    }

    /// The word that says that this chunk no longer uses memory on the rank.
    pub(super) fn word_after(&self, rank: usize) -> usize {
        RANKS + self.tiles.len() + rank
    }
}

/// Two nodes in the required order: the first must come before the second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Required {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The tensor that both touch.
    pub(super) tensor: TensorId,
}

/// All pairs of tiles that access the same element, if at least one of them writes it. The pairs are sorted and have no duplicates.
///
/// If chunks share memory, the routing decides which of their rows do. Each tile that accesses memory of the taskflow therefore also
/// forms a pair with each of the two words of the rank that holds the memory.
pub(super) fn required(graph: &TaskGraph, instance: &Instance, nodes: &Nodes) -> Vec<Required> {
    let accesses = graph.phases.iter().flat_map(|(_, phase)| &phase.accesses);
    let origins = graph.phases.iter().filter_map(|(_, phase)| phase.origins).map(|origins| origins.tensor);
    let written: IdSet<TensorId> =
        accesses.filter(|access| access.write).map(|access| access.tensor).chain(origins).collect();
    let all = nodes.tiles().flat_map(|(node, tile)| {
        let all = touched(graph, instance, tile).into_iter();
        all.filter(|touched| written.contains(touched.place.0)).map(move |touched| (node, touched))
    });
    let mut all: Vec<(usize, Touched)> = all.collect();
    all.sort_by_key(|(_, touched)| touched.place);
    let mut found = Vec::new();
    for of_place in all.chunk_by(|(_, a), (_, b)| a.place == b.place) {
        shared(of_place, &mut found);
    }
    if graph.sizes.reuses() {
        let of_chunk = all.iter().filter(|(_, touched)| !graph.tensors[touched.place.0].storage.is_argument());
        for (node, Touched { place: (tensor, rank, ..), .. }) in of_chunk {
            found.push(Required { from: *node, to: nodes.word_after(*rank), tensor: *tensor });
            found.push(Required { from: nodes.word_before(*rank), to: *node, tensor: *tensor });
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Finds the pairs among all accesses of one row.
fn shared(of_place: &[(usize, Touched)], found: &mut Vec<Required>) {
    for (node, made) in of_place.iter().filter(|(_, touched)| touched.write) {
        for (other, touched) in of_place.iter().filter(|(other, touched)| other != node && touched.meets(made)) {
            found.push(Required { from: *node.min(other), to: *node.max(other), tensor: touched.place.0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, chunked};
    use crate::ids::PhaseId;
    use std::collections::BTreeSet;

    #[test]
    fn what_writes_a_chunk_follows_the_word_before_and_all_precede_the_word_after() {
        let checked = chunked(&Layer::TINY, 4);
        let (graph, instance) = (checked.graph(), Instance::new(&checked));
        let nodes = Nodes::new(graph, &instance);
        let required = required(graph, &instance, &nodes);
        let phases_of = |word_of: &dyn Fn(&Required) -> Option<usize>| {
            let nodes_of = required.iter().filter_map(word_of);
            nodes_of.map(|node| nodes.tile(node).unwrap().phase).collect::<BTreeSet<PhaseId>>()
        };
        let [squares, dispatch, .., back, combine] = graph.phases.ids().take(8).collect::<Vec<_>>()[..] else {
            panic!("eight phases")
        };
        let after_first_word = phases_of(&|required| (required.from < RANKS).then_some(required.to));
        let before_last_word = phases_of(&|required| (required.to >= nodes.word_after(0)).then_some(required.from));
        // The sums over k write the caller's memory, but read slots, which may be empty.
        assert!([squares, dispatch, back, combine].iter().all(|phase| after_first_word.contains(phase)));
        assert!(before_last_word.contains(&combine) && before_last_word.contains(&squares));
        assert_eq!(nodes.tiles().last().unwrap().0 + 1, nodes.word_after(0));
    }
}
