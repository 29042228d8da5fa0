//! Entries whose peers are served in turn.

use super::parts::heights;
use super::{Choices, Entry, Order, Schedule, Sends};
use hpmoe_language::graph::{Height, SpaceKind, TaskGraph};
use hpmoe_language::ids::{Arena, PhaseId};
use std::num::NonZeroU32;

/// Fewest ranks that are served in turn. With eight, simulated layers gain nothing by it, and with two they take up to 5 % longer where
/// favourites change along the tokens.
const RANKS: u32 = 16;

/// By how many standard deviations a turn is longer than what a peer gets in the mean. A layer whose tokens choose evenly but at random
/// takes up to a sixth longer where some peers have a few rows left for a second turn: the tiles of these rows come last.
const DEVIATIONS: f64 = 6.0;

/// The most rows of a turn, which the device adds to numbers of rows and items.
pub(crate) const MOST_TURN_ROWS: u32 = 1 << 20;

/// How a rank whose sending cores are shared divides what it sends; `by_arrival`: the phases that walk row tiles as their rows arrive.
pub(super) fn shared(graph: &TaskGraph, choices: &Choices, ranks: u32, by_arrival: &Arena<PhaseId, bool>) -> Sends {
    let any = by_arrival.iter().any(|(_, walks)| *walks);
    rows_of_a_turn(graph, choices, ranks, any).map_or(Sends::PeerAfterPeer, |rows| Sends::InTurn { rows })
}

/// The rows that a rank puts to one peer for an expert before it is the next peer's turn: more than any peer gets where tokens choose all
/// experts alike, each by itself, in whole row tiles.
///
/// Where tokens are spread evenly, each peer then has one turn. Where a rank sends most of its rows to few peers, it goes on with all of
/// these at once: if each rank sent all that it has for one peer first, several would send to the same peer, and the links of others
/// would be idle.
///
/// `None` with few ranks; in kernels that make their route, whose scalar units would have to sort row tiles, at a price that is not
/// weighed yet; where no phase walks row tiles as their rows arrive, so that it would wait for the last turn of its first
/// rank; and where a pair of a rank and an expert has less than half a row tile, so that most tiles wait for several ranks.
fn rows_of_a_turn(graph: &TaskGraph, choices: &Choices, ranks: u32, by_arrival: bool) -> Option<NonZeroU32> {
    if !by_arrival || ranks == 1 {
        return None;
    }
    if let Some(chosen) = choices.turn_rows {
        return NonZeroU32::new(chosen);
    }
    let tile = heights(graph, SpaceKind::RowTiles).max()?;
    let alike = (graph.sizes.chunk_tokens() * graph.sizes.top_k).div_ceil(graph.sizes.experts);
    if ranks < RANKS || graph.route.is_some() || 2 * alike < tile {
        return None;
    }
    // The variance of so many rare choices is their mean.
    let most = alike + (DEVIATIONS * (alike as f64).sqrt()).ceil() as usize;
    NonZeroU32::new((most.div_ceil(tile) * tile) as u32)
}

impl Order {
    /// The items of a phase's entry that a core puts before it is the next peer's turn; `None` where it makes all of its tiles at once.
    #[must_use]
    pub fn turn(&self, graph: &TaskGraph, phase: PhaseId) -> Option<u32> {
        let space = graph.spaces[graph.phases[phase].space];
        match (self.sends, space.height) {
            (Sends::InTurn { rows }, Height::Rows(height)) if space.kind.sends() => Some(rows.get().div_ceil(height)),
            _ => None,
        }
    }
}

impl Schedule {
    /// Where a phase walks row tiles in the order in which their rows arrive: the rows of the turns by which ranks send them.
    #[must_use]
    pub fn coming(&self, order: &Order, phase: PhaseId) -> Option<u32> {
        order.sends.turn().filter(|_| self.phases[phase].by_arrival)
    }

    /// A queue as cores walk it: entries that are walked together, and of these, those that take turns with one another. They are all
    /// entries of one phase for one place in the order of experts that follow one another, each for another peer.
    pub fn runs<'a>(&'a self, graph: &TaskGraph, order: &Order, queue: &'a [Entry]) -> Vec<Vec<&'a [Entry]>> {
        let mut runs: Vec<Vec<&[Entry]>> = Vec::new();
        for walk in self.walks(queue) {
            let head = walk[0];
            let goes_on = |run: &&mut Vec<&[Entry]>| {
                let first = run[0][0];
                order.turn(graph, head.phase).is_some() && (first.phase, first.expert) == (head.phase, head.expert)
            };
            match runs.last_mut().filter(goes_on) {
                Some(run) => run.push(walk),
                None => runs.push(vec![walk]),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::schedule_with;
    use crate::target::Target;
    use hpmoe_language::fixture::{Layer, moe_ffn, once, router};
    use std::collections::BTreeSet;

    #[test]
    fn with_many_ranks_a_turn_has_all_that_a_peer_gets_where_all_experts_are_chosen_alike() {
        let rows = |layer: Layer, choices: &str, ranks, by_arrival| {
            rows_of_a_turn(moe_ffn(&layer).graph(), &Choices::read(choices).unwrap(), ranks, by_arrival)
                .map(NonZeroU32::get)
        };
        // Row tiles have 128 rows. 512 of them for each pair of a rank and an expert and 136 more; 500 and 135; 64 and 48; 63.
        assert_eq!(rows(Layer::DEEPSEEK, "", 64, true), Some(768));
        assert_eq!(rows(Layer { tokens: 4000, ..Layer::DEEPSEEK }, "", 16, true), Some(640));
        assert_eq!(rows(Layer { tokens: 512, ..Layer::DEEPSEEK }, "", 16, true), Some(128));
        assert_eq!(rows(Layer { tokens: 504, ..Layer::DEEPSEEK }, "", 16, true), None);
        assert_eq!(rows(Layer::DEEPSEEK, "", 8, true), None);
        assert_eq!(rows(Layer::DEEPSEEK, "", 64, false), None);
        // Nor where the kernel makes its route, unless it is chosen.
        let routed = |choices: &str| {
            let checked = router(&Layer::DEEPSEEK);
            rows_of_a_turn(checked.graph(), &Choices::read(choices).unwrap(), 64, true).map(NonZeroU32::get)
        };
        assert_eq!((routed(""), routed("turn_rows=256")), (None, Some(256)));
        // As chosen, but never on one rank.
        assert_eq!(rows(Layer::DEEPSEEK, "turn_rows=0", 64, true), None);
        assert_eq!(rows(Layer { tokens: 8, ..Layer::DEEPSEEK }, "turn_rows=40", 2, true), Some(40));
        assert_eq!(rows(Layer::DEEPSEEK, "turn_rows=40", 1, true), None);
        assert_eq!(rows(Layer::DEEPSEEK, "turn_rows=40", 64, false), None);
    }

    #[test]
    fn peers_of_one_expert_and_phase_take_turns() {
        let choices = Choices::read("turn_rows=40").unwrap();
        for (checked, in_turn) in [(moe_ffn(&Layer::SMALL), true), (once(&Layer::SMALL), false)] {
            let graph = checked.graph();
            let made = schedule_with(&checked, &Target::ascend_a3(), &choices);
            let order = made.order(4).unwrap();
            let mut turns = 0;
            for (_, queue) in order.queues.iter() {
                let runs = made.runs(graph, order, queue);
                let walked: Vec<Entry> = runs.iter().flatten().flat_map(|walk| walk.iter().copied()).collect();
                assert_eq!(&walked, queue);
                for run in runs.iter().filter(|run| run.len() > 1) {
                    let of_one: BTreeSet<_> = run.iter().map(|walk| (walk[0].phase, walk[0].expert)).collect();
                    let peers: BTreeSet<u32> = run.iter().map(|walk| walk[0].peer_offset).collect();
                    assert_eq!((of_one.len(), peers.len(), run.len()), (1, 4, 4));
                    // Pieces of sixteen rows.
                    assert_eq!(order.turn(graph, run[0][0].phase), Some(3));
                    turns += 1;
                }
            }
            assert_eq!(turns > 0, in_turn);
        }
    }
}
