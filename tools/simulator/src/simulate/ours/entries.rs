//! How a core moves from entry to entry of its queue.

use super::Ours;
use super::turns::EntryTurns;
use crate::simulate::Cursor;
use hpmoe_core::ids::PartId;
use hpmoe_core::schedule::Entry;
use hpmoe_kernels::route::{PairTurns, PieceTurns};
use std::ops::Range;

impl Ours<'_> {
    /// Moves the cursor to the next entry. Among entries that take turns, the next one is the first with tiles left in its turn, or the
    /// entry after all of them.
    pub(super) fn pass(&self, rank: u32, part: PartId, joined: u32, cursor: &mut Cursor) {
        let turns = self.turns[part][cursor.entry as usize];
        (cursor.entry, cursor.tile) = (cursor.entry + joined, 0);
        let Some(EntryTurns { entries: (first, end), rows }) = turns else { return };
        let next = |from: u32, turn: u32| {
            let count = |entry: u32| self.pieces(rank, self.order.queues[part][entry as usize], rows).count();
            let left = |entry| turn == 0 || (turn as usize) < count(entry);
            (from..end).find(|&entry| left(entry)).map(|entry| (entry, turn))
        };
        let found = next(cursor.entry, cursor.turn).or_else(|| next(first, cursor.turn + 1));
        (cursor.entry, cursor.turn) = found.unwrap_or((end, 0));
    }

    /// Divides an entry's pieces on a rank into turns of `rows` rows.
    pub(super) fn pieces(&self, rank: u32, entry: Entry, rows: u32) -> PieceTurns {
        let space = self.checked.graph().phases[entry.phase].space;
        let Range { start, end } = self.layout.rows_of_pair(space, rank, self.group(rank, entry));
        PairTurns::new(start as usize..end as usize, rows as usize).of_pieces(self.layout.height(space) as usize)
    }

    /// Number of items of an entry on a rank.
    pub(super) fn items(&self, rank: u32, entry: Entry) -> u32 {
        let space = self.checked.graph().phases[entry.phase].space;
        let (before, end) = self.layout.group(space, rank, self.group(rank, entry));
        end - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{CoreKind, QueuedTask, Routing, RoutingSizes, Workload as _};
    use hpmoe_core::fixture::{Layer, moe_ffn};
    use hpmoe_core::graph::SpaceKind;
    use hpmoe_core::ids::PhaseId;
    use hpmoe_core::schedule::{Choices, schedule_with};
    use hpmoe_core::target::Target;
    use std::collections::{BTreeMap, BTreeSet};

    /// A piece that a core sends, as (phase, expert, peer, item, turn).
    type Piece = (u32, u32, u32, u32, u32);

    /// Number of rows of a piece. `TURN` is the number of rows of a turn, if peers take turns.
    const PIECE: usize = 2;
    const TURN: usize = 4;

    /// The pieces that each core of rank 1 sends, in order, with turns of `rows` rows (0 means no turns). Checks that each piece is sent in
    /// the turn of its first row.
    fn sent(rows: usize) -> Vec<Vec<Piece>> {
        let checked = moe_ffn(&Layer { tokens: 64, put: PIECE, ..Layer::SMALL });
        let (target, graph) = (Target::ascend_a3(), checked.graph());
        let choices = Choices::read(&format!("by_load=false turn_rows={rows}")).unwrap();
        let schedule = schedule_with(&checked, &target, &choices);
        let (experts, top_k) = (graph.sizes.experts as u32, graph.sizes.top_k as u32);
        let routing = Routing::zipf(RoutingSizes { ranks: 4, experts, top_k, tokens: 64 }, 1.2, 3);
        let ours = Ours::new(&target, &checked, &schedule, &routing).unwrap();
        let local = experts / 4;
        let of_core = |core| {
            let (mut cursor, mut task) = (Cursor::default(), QueuedTask::default());
            let mut pieces = Vec::new();
            while ours.next(1, CoreKind::Aiv, core, &mut cursor, &mut task) {
                let space = graph.phases[PhaseId(task.op)].space;
                if graph.spaces[space].kind == SpaceKind::Sends {
                    let Range { start, end } = ours.layout.rows_of_pair(space, 1, task.group);
                    let pair = start as usize..end as usize;
                    let first = (pair.start / PIECE + task.item as usize) * PIECE;
                    let turn =
                        if rows == 0 { 0 } else { PairTurns::new(pair.clone(), rows).of_row(first.max(pair.start)) };
                    assert_eq!(cursor.turn as usize, turn);
                    pieces.push((task.op, task.group % local, task.group / local, task.item, cursor.turn));
                }
            }
            pieces
        };
        (0..ours.cores(CoreKind::Aiv)).map(of_core).collect()
    }

    #[test]
    fn no_peer_has_its_second_turn_before_another_one_had_its_first() {
        let (in_turn, one_by_one) = (sent(TURN), sent(0));
        let all = |cores: &[Vec<Piece>]| -> BTreeSet<_> {
            cores.iter().flatten().map(|&(phase, expert, peer, item, _)| (phase, expert, peer, item)).collect()
        };
        assert_eq!(all(&in_turn), all(&one_by_one));
        let mut turns = BTreeSet::new();
        for (in_turn, one_by_one) in in_turn.iter().zip(&one_by_one) {
            // A core sends as many pieces as without turns.
            assert_eq!(in_turn.len(), one_by_one.len());
            let mut last = BTreeMap::new();
            for &(phase, expert, .., turn) in in_turn {
                assert!(turn >= last.insert((phase, expert), turn).unwrap_or(0));
                turns.insert(turn);
            }
        }
        assert!(turns.len() > 2, "{turns:?}");
    }
}
