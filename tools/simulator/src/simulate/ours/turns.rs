//! Entries whose tiles cores process in turns.

use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::schedule::{Entry, Order, Schedule};

/// Consecutive entries that take turns with one another.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryTurns {
    /// Numbers of the first of these entries and of the one after the last.
    pub(super) entries: (u32, u32),
    /// Number of rows per turn.
    pub(super) rows: u32,
}

/// For each entry of a queue, the entries that it takes turns with; `None` if it takes no turns.
pub(super) fn turns(
    checked: &CheckedGraph,
    schedule: &Schedule,
    order: &Order,
    queue: &[Entry],
) -> Vec<Option<EntryTurns>> {
    let mut turns = Vec::with_capacity(queue.len());
    for run in schedule.runs(checked.graph(), order, queue) {
        let first = turns.len();
        let end = first + run.iter().map(|walk| walk.len()).sum::<usize>();
        let rows = order.turn(checked.graph(), run[0][0].phase);
        turns.resize(end, rows.map(|rows| EntryTurns { entries: (first as u32, end as u32), rows }));
    }
    turns
}
