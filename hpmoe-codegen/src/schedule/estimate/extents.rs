//! The items of a rank's entries, and their rows.

use crate::schedule::Entry;
use hpmoe_language::graph::{Height, Space, SpaceKind, TaskGraph};
use hpmoe_language::ids::{Arena, SpaceId};
use std::cmp::Reverse;

/// The fractional part of the golden ratio: its multiples are spread evenly between whole numbers, however many there are.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// How much more some experts are chosen than others: the i-th of all experts in proportion to 1 / i^1.2.
const EXPONENT: f64 = 1.2;

/// How tokens are spread over the experts of the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spread {
    /// All experts have as many rows.
    Even,
    /// Few experts have most rows; the rank is the one with the most chosen expert.
    Uneven,
}

/// The rows of every group of every space.
pub(super) struct Extents {
    ranks: u32,
    spaces: Arena<SpaceId, Space>,
    /// By space: rows of its groups, by expert and then by peer.
    rows: Arena<SpaceId, Vec<u32>>,
    /// By space: items before each group, and then all items.
    before: Arena<SpaceId, Vec<u64>>,
}

impl Extents {
    pub(super) fn new(graph: &TaskGraph, ranks: u32, tokens: Spread) -> Self {
        let sizes = &graph.sizes;
        let all = sizes.chunk_tokens() * sizes.top_k;
        let of_experts = of_experts(graph, ranks, tokens);
        let of_group = |group: usize| of_experts[group % of_experts.len()];
        let rows = |space: &Space| -> Vec<u32> {
            let groups = space.groups(sizes, ranks as usize);
            let pairs = groups / sizes.chunks;
            match space.kind {
                SpaceKind::Chunks => vec![1; groups],
                SpaceKind::Blocks => vec![sizes.chunk_tokens() as u32; groups],
                SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => (0..groups).map(of_group).collect(),
                SpaceKind::Arrivals if tokens == Spread::Uneven => {
                    let mean = |group: usize| f64::from(of_group(group / ranks as usize)) / f64::from(ranks);
                    (0..groups).map(|group| dithered(mean(group), group)).collect()
                }
                SpaceKind::Sends | SpaceKind::Arrivals => spread(all as f64, pairs, groups),
                SpaceKind::SendsOnce => {
                    let once = sizes.rows_once(ranks as usize) as f64 / f64::from(ranks);
                    spread(once / sizes.chunks as f64, pairs, groups)
                }
            }
        };
        let rows: Arena<SpaceId, Vec<u32>> = graph.spaces.iter().map(|(_, space)| rows(space)).collect();
        let before = graph.spaces.iter().map(|(id, space)| {
            let mut sum = 0;
            let mut sums = vec![0];
            sums.extend(rows[id].iter().map(|&rows| {
                sum += u64::from(items(space.height, rows));
                sum
            }));
            sums
        });
        Self { ranks, before: before.collect(), spaces: graph.spaces.iter().map(|(_, &space)| space).collect(), rows }
    }

    /// Items of an entry.
    pub(super) fn items(&self, entry: Entry, space: SpaceId) -> u32 {
        items(self.spaces[space].height, self.rows[space][self.group(entry, space)])
    }

    /// Rows of an item of an entry.
    pub(super) fn rows(&self, entry: Entry, space: SpaceId, item: u32) -> u32 {
        let rows = self.rows[space][self.group(entry, space)];
        match self.spaces[space].height {
            Height::Rows(height) => height.min(rows - item * height),
            Height::WholeExpert => rows,
        }
    }

    /// Items of all entries before an entry.
    pub(super) fn before(&self, entry: Entry, space: SpaceId) -> u64 {
        self.before[space][self.group(entry, space)]
    }

    /// Items of all groups of a space.
    pub(super) fn all_items(&self, space: SpaceId) -> u64 {
        self.before[space].last().copied().unwrap_or_default()
    }

    fn group(&self, entry: Entry, space: SpaceId) -> usize {
        let peers = match self.spaces[space].kind {
            SpaceKind::Sends | SpaceKind::SendsOnce | SpaceKind::Arrivals => self.ranks,
            _ => 1,
        };
        (entry.expert * peers + entry.peer_offset) as usize
    }
}

/// Items of a group with that many rows; all rows of an expert are one item, even if there are none.
fn items(height: Height, rows: u32) -> u32 {
    match height {
        Height::Rows(height) => rows.div_ceil(height),
        Height::WholeExpert => 1,
    }
}

/// The rows of a rank's experts in a chunk, in the order in which it works on them with few ranks: the least loaded one, then from the
/// most loaded one down.
fn of_experts(graph: &TaskGraph, ranks: u32, tokens: Spread) -> Vec<u32> {
    let sizes = &graph.sizes;
    let (own, of_group) = (sizes.experts / ranks as usize, sizes.chunk_tokens() * ranks as usize);
    if tokens == Spread::Even {
        return vec![(of_group * sizes.top_k).div_ceil(sizes.experts) as u32; own];
    }
    // Tokens name an expert once: those that are chosen most have all tokens.
    let share = |expert: usize, times: f64| (times / (expert as f64 + 1.0).powf(EXPONENT)).min(1.0);
    let named = |times: f64| (0..sizes.experts).map(|expert| share(expert, times)).sum::<f64>();
    let (mut few, mut many) = (0.0, (sizes.experts as f64 + 1.0).powf(EXPONENT));
    for _ in 0..50 {
        let times = f64::midpoint(few, many);
        *if named(times) < sizes.top_k as f64 { &mut few } else { &mut many } = times;
    }
    let rows = |expert: usize| dithered(share(expert * ranks as usize, many) * of_group as f64, expert);
    let mut rows: Vec<u32> = (0..own).map(rows).collect();
    rows.sort_unstable_by_key(|&rows| Reverse(rows));
    rows.rotate_right(1);
    rows
}

/// Whole numbers for each group, whose mean is that of `all` over `pairs`.
fn spread(all: f64, pairs: usize, groups: usize) -> Vec<u32> {
    (0..groups).map(|group| dithered(all / pairs as f64, group)).collect()
}

/// The whole number below or above a mean, so that numbers in a row have it.
fn dithered(mean: f64, number: usize) -> u32 {
    (mean + (number as f64 * GOLDEN).fract()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpmoe_language::fixture::{Layer, moe_backward, moe_ffn};
    use hpmoe_language::ids::PhaseId;

    #[test]
    fn all_rows_are_spread_over_all_pairs() {
        for (tokens, ranks) in [(16, 8), (100, 64), (4096, 8), (3, 2)] {
            let checked = moe_ffn(&Layer { tokens, ..Layer::DEEPSEEK });
            let graph = checked.graph();
            let extents = Extents::new(graph, ranks, Spread::Even);
            let space = graph.phases[PhaseId(0)].space;
            let sent: u32 = extents.rows[space].iter().sum();
            let all = (tokens * graph.sizes.top_k) as u32;
            assert!(sent.abs_diff(all) <= 2, "{sent} of {all} rows");
            let (least, most) = (extents.rows[space].iter().min().unwrap(), extents.rows[space].iter().max().unwrap());
            assert!(most - least <= 1);
        }
    }

    #[test]
    fn items_of_entries_add_up() {
        let checked = moe_backward(&Layer { tokens: 200, ..Layer::DEEPSEEK });
        let graph = checked.graph();
        let extents = Extents::new(graph, 8, Spread::Even);
        for (_, phase) in graph.phases.iter() {
            let entry = |expert| Entry { phase: PhaseId(0), expert, peer_offset: 0 };
            if matches!(graph.spaces[phase.space].kind, SpaceKind::RowTiles | SpaceKind::Experts) {
                let items = extents.items(entry(0), phase.space);
                assert_eq!(extents.before(entry(1), phase.space), u64::from(items));
                let rows: u32 = (0..items).map(|item| extents.rows(entry(0), phase.space, item)).sum();
                assert_eq!(rows, 200 * 8 * 8 / 64);
                assert_eq!(extents.all_items(phase.space), 8 * u64::from(items));
            }
        }
    }

    #[test]
    fn uneven_rows_are_those_of_the_rank_with_the_most_chosen_expert() {
        for (tokens, ranks) in [(16, 2), (512, 8), (4096, 16)] {
            let checked = moe_ffn(&Layer { tokens, ..Layer::DEEPSEEK });
            let sizes = &checked.graph().sizes;
            let rows = of_experts(checked.graph(), ranks, Spread::Uneven);
            assert_eq!(rows.len(), 64 / ranks as usize);
            assert_eq!((rows[1], rows[0]), ((tokens * ranks as usize) as u32, *rows.iter().min().unwrap()));
            assert!(rows[1..].is_sorted_by(|a, b| a >= b) && rows[2] < rows[1]);
            // More than its share, and not more than there is.
            let (sum, share) = (rows.iter().sum::<u32>() as usize, tokens * sizes.top_k);
            assert!(sum > share && sum < share * ranks as usize, "{sum} rows");
        }
    }
}
