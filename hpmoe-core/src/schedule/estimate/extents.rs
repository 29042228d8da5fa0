//! The items of a rank's entries, and their rows.

use crate::graph::{Height, Space, SpaceKind, TaskGraph};
use crate::ids::{Arena, SpaceId};
use crate::schedule::Entry;
use crate::schedule::typical::GOLDEN;
use std::cmp::Reverse;
use std::f64::consts::SQRT_2;

/// The skew of the uneven choice of experts: the i-th most chosen expert is chosen in proportion to 1 / i^1.2.
const EXPONENT: f64 = 1.2;

/// Number of halvings in the search for the constant of that proportion. They narrow its range to less than a row.
const HALVINGS: u32 = 50;

/// The distribution of tokens over the experts of the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spread {
    /// Every expert has the same number of rows.
    Even,
    /// Few experts have most rows. The modelled rank is the one with the most chosen expert.
    Uneven,
}

/// The rows of every group of every space.
pub(super) struct Extents {
    ranks: u32,
    spaces: Arena<SpaceId, Space>,
    /// For each space, its groups, ordered by expert and then by peer.
    groups: Arena<SpaceId, Vec<GroupRows>>,
    /// For each space, the number of items before each group, and at the end the number of all items.
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
                    spread(sizes.rows_once(ranks as usize) as f64 / sizes.chunks as f64, pairs, groups)
                }
            }
        };
        let groups = graph.spaces.iter().map(|(_, &space)| {
            let rows = rows(&space);
            let starts = starts(space, ranks, &rows, tokens);
            let group = |(count, start)| GroupRows { height: space.height, start, count };
            rows.into_iter().zip(starts).map(group).collect()
        });
        let groups: Arena<SpaceId, Vec<GroupRows>> = groups.collect();
        let before = groups.iter().map(|(_, groups)| {
            let mut sum = 0;
            let mut sums = vec![0];
            sums.extend(groups.iter().map(|group| {
                sum += u64::from(group.items());
                sum
            }));
            sums
        });
        let before = before.collect();
        Self { ranks, spaces: graph.spaces.iter().map(|(_, &space)| space).collect(), groups, before }
    }

    /// The groups of a space.
    pub(super) fn of_groups(&self, space: SpaceId) -> &[GroupRows] {
        &self.groups[space]
    }

    /// Number of items of an entry.
    pub(super) fn items(&self, entry: Entry, space: SpaceId) -> u32 {
        self.groups[space][self.group(entry, space)].items()
    }

    /// Rows of all items of an entry.
    pub(super) fn all_rows(&self, entry: Entry, space: SpaceId) -> u32 {
        self.groups[space][self.group(entry, space)].count
    }

    /// Rows of one item of an entry.
    pub(super) fn rows(&self, entry: Entry, space: SpaceId, item: u32) -> u32 {
        self.groups[space][self.group(entry, space)].of_item(item)
    }

    /// Number of items of all groups before an entry's.
    pub(super) fn before(&self, entry: Entry, space: SpaceId) -> u64 {
        self.before[space][self.group(entry, space)]
    }

    /// Number of items of all groups of a space.
    pub(super) fn all_items(&self, space: SpaceId) -> u64 {
        self.before[space].last().copied().unwrap_or_default()
    }

    fn group(&self, entry: Entry, space: SpaceId) -> usize {
        let peers = if self.spaces[space].kind.by_peer() { self.ranks } else { 1 };
        (entry.expert * peers + entry.peer_offset) as usize
    }
}

/// The rows of a group, which items divide.
#[derive(Clone, Copy)]
pub(super) struct GroupRows {
    height: Height,
    /// Number of rows of other ranks that the first item would have if ranks shared items.
    start: u32,
    count: u32,
}

impl GroupRows {
    /// Number of items. All rows of an expert are one item, even if there are none.
    pub(super) fn items(self) -> u32 {
        match self.height {
            Height::Rows(_) if self.count == 0 => 0,
            Height::Rows(height) => (self.start + self.count).div_ceil(height),
            Height::WholeExpert => 1,
        }
    }

    /// Rows of one item.
    pub(super) fn of_item(self, item: u32) -> u32 {
        match self.height {
            Height::Rows(height) => {
                let end = ((item + 1) * height).min(self.start + self.count);
                end - (item * height).max(self.start)
            }
            Height::WholeExpert => self.count,
        }
    }
}

/// For each group of a space, the number of rows between the last cut and the group's first row. An expert's rows are numbered, and pieces are cut at
/// multiples of their height, so the start depends on how many rows the ranks before send. With even tokens, each group that the modelled rank
/// sends starts like that of another rank, so that this rank stands for all. With uneven tokens, the starts are spread evenly.
fn starts(space: Space, ranks: u32, rows: &[u32], tokens: Spread) -> Vec<u32> {
    let Height::Rows(height) = space.height else { return vec![0; rows.len()] };
    match space.kind {
        SpaceKind::Sends | SpaceKind::SendsOnce => {
            let mean = rows.iter().sum::<u32>() as f64 / rows.len().max(1) as f64;
            let any_of = |group: usize, all: u32| ((group as f64 * SQRT_2).fract() * f64::from(all)) as u32;
            let start = |group: usize| match tokens {
                Spread::Even => (f64::from(any_of(group, ranks)) * mean) as u32 % height,
                Spread::Uneven => any_of(group, height.min((ranks - 1) * rows[group] + 1)),
            };
            (0..rows.len()).map(start).collect()
        }
        SpaceKind::Arrivals => {
            let mut starts = Vec::with_capacity(rows.len());
            for of_expert in rows.chunks(ranks as usize) {
                let mut before = 0;
                for &rows in of_expert {
                    starts.push(before % height);
                    before += rows;
                }
            }
            starts
        }
        _ => vec![0; rows.len()],
    }
}

/// The rows of a rank's experts in a chunk, in the order in which the rank works on them if ranks are few: the least loaded expert, then
/// from the most loaded one down.
fn of_experts(graph: &TaskGraph, ranks: u32, tokens: Spread) -> Vec<u32> {
    let sizes = &graph.sizes;
    let (own, of_group) = (sizes.local_experts(ranks as usize), sizes.chunk_tokens() * ranks as usize);
    if tokens == Spread::Even {
        return vec![(of_group * sizes.top_k).div_ceil(sizes.used_experts(ranks as usize)) as u32; own];
    }
    // The experts of the group belong to the ranks in turn, so the modelled rank has the most chosen one.
    let shares: Vec<f64> = uneven(graph).into_iter().step_by(ranks as usize).collect();
    let share = |expert: usize| shares.get(expert).copied().unwrap_or_default();
    let mut rows: Vec<u32> = (0..own).map(|expert| dithered(share(expert) * of_group as f64, expert)).collect();
    rows.sort_unstable_by_key(|&rows| Reverse(rows));
    // Experts without rows come last.
    let least = rows.iter().rposition(|&rows| rows > 0).unwrap_or_default();
    rows[..=least].rotate_right(1);
    rows
}

/// The share of tokens that name each expert, the most chosen one first, with uneven tokens. A token names an expert at most once, so no share
/// exceeds 1.
fn uneven(graph: &TaskGraph) -> Vec<f64> {
    let sizes = &graph.sizes;
    let share = |expert: usize, times: f64| (times / (expert as f64 + 1.0).powf(EXPONENT)).min(1.0);
    let named = |times: f64| (0..sizes.experts).map(|expert| share(expert, times)).sum::<f64>();
    let (mut few, mut many) = (0.0, (sizes.experts as f64 + 1.0).powf(EXPONENT));
    for _ in 0..HALVINGS {
        let times = f64::midpoint(few, many);
        *if named(times) < sizes.top_k as f64 { &mut few } else { &mut many } = times;
    }
    (0..sizes.experts).map(|expert| share(expert, many)).collect()
}

/// Whole numbers of rows for `groups` groups, with a mean of `all / pairs`.
fn spread(all: f64, pairs: usize, groups: usize) -> Vec<u32> {
    (0..groups).map(|group| dithered(all / pairs as f64, group)).collect()
}

/// The whole number below or above a mean, chosen so that consecutive numbers have this mean.
fn dithered(mean: f64, number: usize) -> u32 {
    (mean + (number as f64 * GOLDEN).fract()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, chunked, moe_backward, moe_ffn, once};
    use crate::ids::PhaseId;
    use crate::schedule::groups::Groups;

    /// The rows of the groups of a space.
    fn rows_of(extents: &Extents, space: SpaceId) -> Vec<u32> {
        extents.of_groups(space).iter().map(|group| group.count).collect()
    }

    #[test]
    fn all_rows_are_spread_over_all_pairs() {
        for (tokens, ranks) in [(16, 8), (100, 64), (4096, 8), (3, 2)] {
            let checked = moe_ffn(&Layer { tokens, ..Layer::DEEPSEEK });
            let graph = checked.graph();
            let extents = Extents::new(graph, ranks, Spread::Even);
            let space = graph.phases[PhaseId(0)].space;
            let rows = rows_of(&extents, space);
            let sent: u32 = rows.iter().sum();
            let all = (tokens * graph.sizes.top_k) as u32;
            assert!(sent.abs_diff(all) <= 2, "{sent} of {all} rows");
            let (least, most) = (rows.iter().min().unwrap(), rows.iter().max().unwrap());
            assert!(most - least <= 1);
            // As many rows are put back.
            let arrivals = graph.spaces.iter().find(|(_, space)| space.kind == SpaceKind::Arrivals).unwrap().0;
            let arrived: u32 = rows_of(&extents, arrivals).iter().sum();
            assert!(arrived.abs_diff(all) <= 2, "{arrived} of {all} rows");
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
            // Experts without rows come last.
            let least = *rows.iter().filter(|&&rows| rows > 0).min().unwrap();
            assert_eq!((rows[1], rows[0]), ((tokens * ranks as usize) as u32, least));
            assert!(rows[1..].is_sorted_by(|a, b| a >= b) && rows[2] < rows[1]);
            // The rank has more than its even share of the rows, but not all of them.
            let (sum, share) = (rows.iter().sum::<u32>() as usize, tokens * sizes.top_k);
            assert!(sum > share && sum < share * ranks as usize, "{sum} rows");
        }
    }

    #[test]
    fn each_group_has_the_items_of_its_rows_after_those_of_the_groups_before_it() {
        let layer = Layer { tokens: 200, put: 8, ..Layer::DEEPSEEK };
        for checked in [moe_ffn(&layer), moe_backward(&layer), once(&layer), chunked(&layer, 4)] {
            for (ranks, tokens) in [(8, Spread::Even), (8, Spread::Uneven), (2, Spread::Uneven)] {
                let graph = checked.graph();
                let (extents, groups) = (Extents::new(graph, ranks, tokens), Groups::new(graph, ranks));
                for (id, phase) in graph.phases.iter() {
                    let space = graph.spaces[phase.space];
                    let mut before = 0;
                    for (group, entry) in groups.of_phase(id).enumerate() {
                        let of_group = extents.of_groups(phase.space)[group].count;
                        let items = extents.items(entry, phase.space);
                        assert_eq!(extents.before(entry, phase.space), before);
                        before += u64::from(items);
                        let rows: Vec<u32> = (0..items).map(|item| extents.rows(entry, phase.space, item)).collect();
                        assert_eq!(rows.iter().sum::<u32>(), of_group);
                        match space.height {
                            Height::WholeExpert => assert_eq!(items, 1),
                            Height::Rows(height) => {
                                assert!(rows.iter().all(|&rows| 0 < rows && rows <= height));
                                if let [first, whole @ .., _] = &rows[..] {
                                    let start = extents.of_groups(phase.space)[group].start;
                                    assert_eq!(start + first, height);
                                    assert!(whole.iter().all(|&rows| rows == height));
                                }
                            }
                        }
                    }
                    assert_eq!(extents.all_items(phase.space), before);
                    assert_eq!(extents.of_groups(phase.space).len(), groups.of_phase(id).count());
                }
            }
        }
    }

    #[test]
    fn groups_have_the_rows_of_their_kind() {
        let layer = Layer { tokens: 400, put: 8, ..Layer::DEEPSEEK };
        let ranks = 8;
        let once_in_chunks = once(&layer).changed(|graph| graph.sizes.chunks = 4);
        for checked in [moe_ffn(&layer), once(&layer), once_in_chunks, chunked(&layer, 4)] {
            let (graph, sizes) = (checked.graph(), &checked.graph().sizes);
            for tokens in [Spread::Even, Spread::Uneven] {
                let extents = Extents::new(graph, ranks, tokens);
                let of_experts = of_experts(graph, ranks, tokens);
                for (_, phase) in graph.phases.iter() {
                    let rows = &rows_of(&extents, phase.space);
                    let near = |mean: f64, rows: &[u32]| {
                        let sum: u32 = rows.iter().sum();
                        let most = rows.iter().all(|&rows| (f64::from(rows) - mean).abs() < 1.0);
                        assert!(most && (f64::from(sum) / rows.len() as f64 - mean).abs() <= 0.2, "{mean}: {rows:?}");
                    };
                    let of_pair = (sizes.chunk_tokens() * sizes.top_k) as f64 / sizes.experts as f64;
                    match graph.spaces[phase.space].kind {
                        SpaceKind::Chunks => assert!(rows.iter().all(|&rows| rows == 1)),
                        SpaceKind::Blocks => assert!(rows.iter().all(|&rows| rows as usize == sizes.chunk_tokens())),
                        SpaceKind::Sends => near(of_pair, rows),
                        SpaceKind::Arrivals if tokens == Spread::Even => near(of_pair, rows),
                        SpaceKind::Arrivals => {
                            for (pairs, expert) in rows.chunks(ranks as usize).zip(of_experts.iter().cycle()) {
                                near(f64::from(*expert) / f64::from(ranks), pairs);
                            }
                        }
                        SpaceKind::SendsOnce => {
                            near(sizes.rows_once(ranks as usize) as f64 / (sizes.experts * sizes.chunks) as f64, rows);
                        }
                        _ => assert!(rows.iter().zip(of_experts.iter().cycle()).all(|(rows, expert)| rows == expert)),
                    }
                }
            }
        }
    }

    #[test]
    fn uneven_tokens_name_as_many_experts_as_all_do_and_most_of_them_few() {
        let checked = moe_ffn(&Layer { tokens: 100_000, ..Layer::DEEPSEEK });
        let (tokens, top_k) = (100_000.0, checked.graph().sizes.top_k as f64);
        let of_experts = |graph: &TaskGraph, ranks: u32| of_experts(graph, ranks, Spread::Uneven);
        let mut rows = of_experts(checked.graph(), 1);
        rows.rotate_left(1);
        let all: f64 = rows.iter().map(|&rows| f64::from(rows)).sum();
        assert!((all / tokens - top_k).abs() < 0.01, "{all} rows");
        let named: Vec<f64> = rows.iter().map(|&rows| f64::from(rows) / tokens).collect();
        let all_tokens = named.iter().filter(|&&share| share >= 0.999).count();
        assert!((1..16).contains(&all_tokens), "{named:?}");
        for (expert, share) in named.iter().enumerate().take(63).skip(all_tokens) {
            let wanted = ((64.0 / (expert as f64 + 1.0)).powf(1.2) * named[63] * 1e3).round();
            assert!((share * 1e3 - wanted).abs() <= 2.0, "expert {expert}: {share} of {wanted} / 1000");
        }
        // If tokens name all experts, no expert is chosen more than another.
        let all = moe_ffn(&Layer { tokens: 16, experts: 8, top_k: 8, ..Layer::DEEPSEEK });
        assert_eq!(of_experts(all.graph(), 2), [32; 4]);
        assert_eq!(of_experts(all.graph(), 1), [16; 8]);
        // Of eight ranks, the first one has every eighth expert.
        let of_rank = of_experts(checked.graph(), 8);
        let eighths = named.iter().step_by(8).map(|share| share * 8.0 * tokens);
        let mut sorted = of_rank.clone();
        sorted.sort_unstable_by_key(|&rows| Reverse(rows));
        assert!(sorted.iter().zip(eighths).all(|(&rows, wanted)| (f64::from(rows) - wanted).abs() <= 8.0));
    }
}
