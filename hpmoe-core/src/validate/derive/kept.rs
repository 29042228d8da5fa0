//! The order that the graph's dependencies and freed words enforce.

use super::counted::{ordered, signalled};
use super::instance::Instance;
use super::required::{Nodes, Required};
use crate::analyze::{CheckedGraph, Dependency, Index, Whose};
use crate::ids::{PhaseId, TensorId};
use std::collections::HashMap;

/// The reason why one tile, or one freed word of a rank, comes after another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OrderStep {
    /// The dependency with this number in the checked graph.
    Dependency(usize),
    /// The tiles of this phase wait for a freed word.
    Word(PhaseId),
}

/// Number of bits in a word of a bit set.
const BITS: usize = u64::BITS as usize;

/// Dependencies with their numbers, by their two phases and their tensor.
type ByEnds<'a> = HashMap<(PhaseId, PhaseId, TensorId), Vec<(usize, &'a Dependency)>>;

/// The enforced order of nodes.
///
/// A dependency orders two tiles only if they share elements of its tensor, because the schedule may keep it in another
/// way than by a counter. A word is ordered by its own counters.
pub(super) struct KeptOrder {
    /// For each node, the nodes directly before it, with the reasons.
    steps: Vec<Vec<(usize, OrderStep)>>,
    /// For each node, all nodes before it, as a bit set.
    before: Vec<Vec<u64>>,
}

impl KeptOrder {
    pub(super) fn new(checked: &CheckedGraph, instance: &Instance, nodes: &Nodes, required: &[Required]) -> Self {
        let mut kept = Self { steps: vec![Vec::new(); nodes.len()], before: Vec::new() };
        kept.dependencies(checked, instance, nodes, required);
        kept.words(checked, instance, nodes);
        kept.close();
        kept
    }

    fn dependencies(&mut self, checked: &CheckedGraph, instance: &Instance, nodes: &Nodes, required: &[Required]) {
        let mut by_ends = ByEnds::new();
        for (number, dependency) in checked.dependencies().iter().enumerate() {
            let ends = (dependency.before, dependency.after, dependency.tensor);
            by_ends.entry(ends).or_default().push((number, dependency));
        }
        for &Required { from, to, tensor } in required {
            let (Some(before), Some(after)) = (nodes.tile(from), nodes.tile(to)) else { continue };
            for (number, dependency) in by_ends.get(&(before.phase, after.phase, tensor)).into_iter().flatten() {
                if ordered(checked, instance, dependency, (before, after)) {
                    self.steps[to].push((from, OrderStep::Dependency(*number)));
                }
            }
        }
    }

    fn words(&mut self, checked: &CheckedGraph, instance: &Instance, nodes: &Nodes) {
        let Some(reuse) = checked.reuse() else { return };
        for (number, dependency) in checked.dependencies().iter().enumerate() {
            let (signal, wait) = (&dependency.signal, &dependency.wait);
            let counted = (signal.counter, signal.index) == (wait.counter, Index::Rank) && wait.index == Index::Rank;
            if dependency.after != reuse.frees || !counted {
                continue;
            }
            for (node, tile) in nodes.tiles().filter(|(_, tile)| tile.phase == dependency.before) {
                for (rank, ..) in signalled(checked, instance, tile, signal) {
                    self.steps[nodes.word_after(rank)].push((node, OrderStep::Dependency(number)));
                }
            }
        }
        for (node, tile) in nodes.tiles() {
            let rank = match reuse.waits[tile.phase] {
                Some(Whose::Own) => tile.rank,
                Some(Whose::Peer) => tile.peer,
                None => continue,
            };
            self.steps[node].push((nodes.word_before(rank), OrderStep::Word(tile.phase)));
        }
    }

    /// Adds to each node everything that comes before its predecessors.
    fn close(&mut self) {
        let words = self.steps.len().div_ceil(BITS);
        for node in 0..self.steps.len() {
            let mut all = vec![0; words];
            for &(before, _) in &self.steps[node] {
                all[before / BITS] |= 1 << (before % BITS);
                all.iter_mut().zip(&self.before[before]).for_each(|(all, before)| *all |= before);
            }
            self.before.push(all);
        }
    }

    /// Whether one node comes before another.
    pub(super) fn orders(&self, from: usize, to: usize) -> bool {
        self.before[to][from / BITS] >> (from % BITS) & 1 == 1
    }

    /// The steps from one node to another, if they are ordered: a single one, if possible.
    pub(super) fn path(&self, from: usize, to: usize) -> Option<Vec<OrderStep>> {
        let mut path = Vec::new();
        let mut at = to;
        while at != from {
            let mut steps = self.steps[at].iter();
            let direct = steps.clone().find(|(before, _)| *before == from);
            let (before, step) = direct.or_else(|| steps.find(|(before, _)| self.orders(from, *before)))?;
            path.push(*step);
            at = *before;
        }
        path.reverse();
        Some(path)
    }
}
