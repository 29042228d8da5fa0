//! Judges whether a schedule computes its graph, by running it on several routings.

use crate::analyze::CheckedGraph;
use crate::graph::Sizes;
use crate::random::Random;
use crate::schedule::{Schedule, rank_counts};
use crate::validate::execute::{Failure, Reference, RoutedSlots, run_against};

/// Routings of one kernel, by number of ranks, with the results of running its phases one after another.
pub(super) struct Judge {
    groups: Vec<(u32, Vec<(RoutedSlots, Reference)>)>,
}

/// Maximum number of tokens per rank: more than one tile of most heights, if all of them go to one expert.
const TOKENS: usize = 11;

/// Number of routings for each number of ranks.
const KINDS: usize = 7;

/// Maximum number of ranks that run.
const RANKS: u32 = 4;

impl Judge {
    pub(super) fn new(checked: &CheckedGraph, random: &mut Random) -> Self {
        let sizes = checked.graph().sizes;
        let numbers = rank_counts(checked.graph()).into_iter().filter(|ranks| *ranks <= RANKS);
        let group = |ranks: u32| {
            let with_reference = |routing| {
                let reference = Reference::new(checked, &routing);
                (routing, reference)
            };
            (ranks, routings(&sizes, ranks as usize, random).into_iter().map(with_reference).collect())
        };
        Self { groups: numbers.map(group).collect() }
    }

    /// The failure of a schedule on one routing of each kind; `None` if there is none. If only orders differ from the valid schedule's,
    /// routings with the numbers of ranks of these orders are used, otherwise routings with all numbers of ranks.
    pub(super) fn failure(
        &self,
        checked: &CheckedGraph,
        schedule: &Schedule,
        whole: &Schedule,
        random: &mut Random,
    ) -> Option<Failure> {
        let only_orders = Schedule { orders: whole.orders.clone(), ..schedule.clone() } == *whole;
        let changed = |ranks: u32| schedule.order(ranks) != whole.order(ranks);
        let mut changed: Vec<_> =
            self.groups.iter().filter(|(ranks, _)| only_orders && changed(*ranks)).map(|(_, runs)| runs).collect();
        if changed.is_empty() {
            changed = self.groups.iter().map(|(_, runs)| runs).collect();
        }
        changed.reverse();
        let start = random.index(changed.len());
        let mut runs = (0..KINDS).map(|kind| &changed[(start + kind) % changed.len()][kind]);
        runs.find_map(|(routing, reference)| run_against(reference, checked, schedule, routing, random).err())
    }

    /// The failure of a schedule on any routing; `None` if there is none.
    pub(super) fn failure_anywhere(
        &self,
        checked: &CheckedGraph,
        schedule: &Schedule,
        random: &mut Random,
    ) -> Option<Failure> {
        let mut runs = self.groups.iter().flat_map(|(_, runs)| runs);
        runs.find_map(|(routing, reference)| run_against(reference, checked, schedule, routing, random).err())
    }

    /// The largest number of ranks that runs.
    pub(super) fn ranks(&self) -> u32 {
        self.groups.iter().map(|(ranks, _)| *ranks).max().unwrap_or(0)
    }
}

/// Routings with few and with many tokens, with equal and with unequal numbers of tokens per rank, and to all, some or as few experts as
/// possible.
fn routings(sizes: &Sizes, ranks: usize, random: &mut Random) -> [RoutedSlots; KINDS] {
    let (experts, top_k) = (sizes.physical_experts(ranks), sizes.top_k);
    let most = sizes.tokens.min(TOKENS);
    let in_turn = |token: usize| (0..top_k).map(|k| (token * top_k + k) % experts).collect::<Vec<_>>();
    let all = vec![most; ranks];
    let uneven: Vec<usize> = (0..ranks).map(|rank| if rank % 2 == 0 { most } else { rank / 2 }).collect();
    let tails: Vec<usize> = (0..ranks).map(|rank| (most - rank % most).max(1)).collect();
    let few = Sizes { tokens: most, ..*sizes };
    [
        RoutedSlots::routed(sizes, &all, |_, _| (0..top_k).collect()),
        RoutedSlots::routed(sizes, &all, |_, token| in_turn(token)),
        RoutedSlots::routed(sizes, &uneven, |rank, token| in_turn(token + rank)),
        RoutedSlots::routed(sizes, &tails, |rank, token| {
            (0..top_k).map(|k| experts - 1 - (rank + token % 2 + k) % experts).collect()
        }),
        RoutedSlots::routed(sizes, &vec![0; ranks], |_, _| Vec::new()),
        RoutedSlots::random(&few, ranks, random),
        RoutedSlots::random(&few, ranks, random),
    ]
}
