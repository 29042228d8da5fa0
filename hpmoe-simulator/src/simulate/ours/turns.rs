//! Entries that take turns with one another.

use super::Ours;
use crate::simulate::Cursor;
use hpmoe_codegen::schedule::{Entry, Order, Schedule};
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::ids::PartId;

/// Entries that take turns with one another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    /// The first of them, and the one after the last.
    pub(super) entries: (u32, u32),
    /// Items that each makes before it is the next one's turn.
    pub(super) items: u32,
}

/// By entry of a queue: the turns that it takes with others.
pub(super) fn turns(checked: &CheckedGraph, schedule: &Schedule, order: &Order, queue: &[Entry]) -> Vec<Option<Turns>> {
    let mut turns = Vec::with_capacity(queue.len());
    for run in schedule.runs(checked.graph(), order, queue) {
        let first = turns.len();
        let end = first + run.iter().map(|walk| walk.len()).sum::<usize>();
        let items = order.turn(checked.graph(), run[0][0]);
        turns.resize(end, items.map(|items| Turns { entries: (first as u32, end as u32), items }));
    }
    turns
}

impl Ours<'_> {
    /// Goes to the next entry; of those that take turns, to the first with tiles left for the next turn, or past all of them.
    pub(super) fn pass(&self, rank: u32, part: PartId, joined: u32, cursor: &mut Cursor) {
        let turns = self.turns[part][cursor.entry as usize];
        (cursor.entry, cursor.tile) = (cursor.entry + joined, 0);
        let Some(Turns { entries: (first, end), items }) = turns else { return };
        let queue = &self.order.queues[part];
        loop {
            while cursor.entry < end {
                let left = self.items(rank, queue[cursor.entry as usize]) > cursor.turn * items;
                if left || cursor.turn == 0 {
                    return;
                }
                cursor.entry += 1;
            }
            cursor.turn += 1;
            if queue[first as usize..end as usize].iter().all(|&entry| self.items(rank, entry) <= cursor.turn * items) {
                cursor.turn = 0;
                return;
            }
            cursor.entry = first;
        }
    }

    /// The items of an entry on a rank.
    fn items(&self, rank: u32, entry: Entry) -> u32 {
        let space = self.checked.graph().phases[entry.phase].space;
        let (before, end) = self.layout.group(space, rank, self.group(rank, entry));
        end - before
    }
}
