//! Entries whose peers are served in turns.

use super::ranges::Range;
use super::{Choices, Entry, Order, Schedule, Sends};
use crate::graph::{SpaceKind, TaskGraph};
use crate::ids::{Arena, PhaseId};
use hpmoe_kernels::op::TaskKind;
use std::num::NonZeroU32;

/// The minimum number of ranks for turns. With eight ranks, simulated layers gain nothing. With two, they take up to 5 % longer if the most
/// chosen experts change along the tokens.
const RANKS: u32 = 16;

/// The maximum number of rows of a turn. The device adds this number to numbers of rows and items, so the sums must not overflow.
pub(crate) const MOST_TURN_ROWS: u32 = 1 << 20;

/// The order in which a rank with shared sending cores serves its peers. `by_arrival` says which phases walk row tiles as their rows
/// arrive.
///
/// Peers take turns, so that a rank that sends most of its rows to few peers serves all of these at the same time. If each rank first sent
/// everything for one peer, several ranks would send to the same peer, and the links of others would be idle.
///
/// Disabled (a) on few ranks; (b) in kernels that make their route, because scalar units would have to sort row tiles, at a cost that
/// is not modelled yet; (c) if no phase walks row tiles as their rows arrive, because such a phase would wait for the last turn of its
/// first rank; (d) if a rank sends less than a sixth of a row tile to each expert, because every tile then waits for many ranks anyway.
pub(super) fn shared(graph: &TaskGraph, choices: &Choices, ranks: u32, by_arrival: &Arena<PhaseId, bool>) -> Sends {
    let any = by_arrival.iter().any(|(_, walks)| *walks);
    let tile = graph.heights(SpaceKind::RowTiles).max().unwrap_or(0);
    let many = ranks >= RANKS && graph.route.is_none() && 6 * rows_alike(graph) >= tile;
    if any && ranks > 1 && (many || choices.turn_rows.is_some()) {
        in_turn(graph, choices)
    } else {
        Sends::PeerAfterPeer
    }
}

/// Turns as chosen, or by default of one row tile each. If a phase needs all rows of an expert, only the last row matters to it. The
/// default is then the number of rows that a peer gets if all experts are chosen equally often, rounded up to whole row tiles.
pub(super) fn in_turn(graph: &TaskGraph, choices: &Choices) -> Sends {
    let tile = graph.heights(SpaceKind::RowTiles).max().unwrap_or(1);
    let least = if graph.needs_whole_experts() { rows_alike(graph) } else { 1 };
    let rows = choices.turn_rows.unwrap_or(((least.div_ceil(tile) * tile) as u32).min(MOST_TURN_ROWS));
    NonZeroU32::new(rows).map_or(Sends::PeerAfterPeer, |rows| Sends::InTurn { rows })
}

/// The rows of an expert that a peer gets if all experts are chosen equally often.
fn rows_alike(graph: &TaskGraph) -> usize {
    (graph.sizes.chunk_tokens() * graph.sizes.top_k).div_ceil(graph.sizes.experts)
}

impl Order {
    /// Number of rows of a turn, if the entries of a phase take turns, each with the rows of one peer. `None` if all tiles of one entry are
    /// made before those of the next.
    #[must_use]
    pub fn turn(&self, graph: &TaskGraph, phase: PhaseId) -> Option<u32> {
        let phase = &graph.phases[phase];
        let kind = graph.spaces[phase.space].kind;
        self.sends.turn().filter(|_| kind.by_peer() && graph.tasks[phase.task].kind != TaskKind::Matrix)
    }
}

impl Schedule {
    /// The number of rows of the turns in which ranks send the rows of a phase that walks row tiles as their rows arrive. `None` for other
    /// phases, and if the order has no turns.
    #[must_use]
    pub fn arrival_turn(&self, order: &Order, phase: PhaseId) -> Option<u32> {
        order.sends.turn().filter(|_| self.phases[phase].by_arrival)
    }

    /// Splits a queue into runs, which cores walk one after another. A run is one entry with the entries that join it or, if consecutive
    /// peers take turns, all such entries of these peers.
    pub fn runs<'a>(&'a self, graph: &TaskGraph, order: &Order, queue: &'a [Entry]) -> Vec<Range<'a>> {
        let in_turn = |range: &Range<'_>| order.turn(graph, range[0][0].phase).is_some();
        let runs = |range: Range<'a>| match in_turn(&range) {
            true => vec![range],
            false => range.into_iter().map(|walk| vec![walk]).collect(),
        };
        self.ranges(graph, order, queue).into_iter().flat_map(runs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::CheckedGraph;
    use crate::fixture::{Layer, moe_backward, moe_ffn, once, router};
    use crate::schedule::schedule_with;
    use crate::target::Target;
    use std::collections::BTreeSet;

    #[test]
    fn with_many_ranks_peers_take_turns_of_a_row_tile() {
        let rows = |checked: &CheckedGraph, choices: &str, ranks, walks| {
            let graph = checked.graph();
            let by_arrival = graph.phases.ids().map(|_| walks).collect();
            shared(graph, &Choices::read(choices).unwrap(), ranks, &by_arrival).turn()
        };
        let forward = |tokens| moe_ffn(&Layer { tokens, ..Layer::DEEPSEEK });
        // Row tiles have 128 rows. The cases have 512, 22 and 21 rows per pair of a rank and an expert.
        assert_eq!(rows(&forward(4096), "", 64, true), Some(128));
        assert_eq!(rows(&forward(176), "", 16, true), Some(128));
        assert_eq!(rows(&forward(168), "", 16, true), None);
        // A sixth of 96 rows is 16.
        let tiles_of = |tile_m| moe_ffn(&Layer { tokens: 128, tile_m, ..Layer::DEEPSEEK });
        assert_eq!([96, 97].map(|tile_m| rows(&tiles_of(tile_m), "", 16, true)), [Some(96), None]);
        assert_eq!(rows(&forward(4096), "", 8, true), None);
        assert_eq!(rows(&forward(4096), "", 64, false), None);
        // Weight gradients need all rows of an expert: 512 or 500 rows, rounded up to whole row tiles.
        let backward = |tokens| moe_backward(&Layer { tokens, ..Layer::DEEPSEEK });
        assert_eq!([4096, 4000, 512].map(|tokens| rows(&backward(tokens), "", 64, true)), [512, 512, 128].map(Some));
        // There are no turns if the kernel makes its route, unless they are chosen.
        let routed = router(&Layer::DEEPSEEK);
        assert_eq!((rows(&routed, "", 64, true), rows(&routed, "turn_rows=256", 64, true)), (None, Some(256)));
        // Turns as chosen, but never on one rank.
        assert_eq!(rows(&forward(4096), "turn_rows=0", 64, true), None);
        assert_eq!(rows(&forward(8), "turn_rows=40", 2, true), Some(40));
        assert_eq!(rows(&forward(4096), "turn_rows=40", 1, true), None);
        assert_eq!(rows(&forward(4096), "turn_rows=40", 64, false), None);
    }

    #[test]
    fn peers_of_one_expert_and_phase_take_turns() {
        let choices = Choices::read("turn_rows=40").unwrap();
        for (checked, in_turn) in [(moe_ffn(&Layer::SMALL), true), (once(&Layer::SMALL), false)] {
            let graph = checked.graph();
            let made = schedule_with(&checked, &Target::ascend_a3(), &choices);
            let order = made.order(4).unwrap();
            let mut in_turns = BTreeSet::new();
            for (_, queue) in order.queues.iter() {
                let runs = made.runs(graph, order, queue);
                let walked: Vec<Entry> = runs.iter().flatten().flat_map(|walk| walk.iter().copied()).collect();
                assert_eq!(&walked, queue);
                for run in runs.iter().filter(|run| run.len() > 1) {
                    let of_one: BTreeSet<_> = run.iter().map(|walk| (walk[0].phase, walk[0].expert)).collect();
                    let peers: BTreeSet<u32> = run.iter().map(|walk| walk[0].peer_offset).collect();
                    assert_eq!((of_one.len(), peers.len(), run.len()), (1, 4, 4));
                    assert_eq!(order.turn(graph, run[0][0].phase), Some(40));
                    in_turns.insert(run[0][0].phase);
                }
            }
            // Rows that are sent, and rows that are put back.
            assert_eq!(in_turns.len(), if in_turn { 2 } else { 0 });
        }
    }
}
