//! Checks that counters reach exactly the thresholds of waits, for any number of rows.

use super::Violation;
use crate::analyze::{Amount, CheckedGraph, Grid, Index, Need, Signal};
use crate::graph::{Height, RowKind, SpaceKind};
use crate::ids::{Arena, CounterId, PhaseId};
use crate::schedule::Schedule;

/// Checks that the sum that all phases add to a counter equals the need of each wait for it, as functions of the
/// counter's rows. Every signal must be awaited, so that none arrives after a launch has ended.
pub(super) fn thresholds(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let mut added: Arena<CounterId, Option<Sum>> = checked.counters().ids().map(|_| Some(Sum::default())).collect();
    for (phase, fixed) in schedule.phases.iter() {
        for signal in &fixed.signals {
            let sum = &mut added[signal.counter];
            match contribution(checked, phase, signal) {
                Some(part) => {
                    if let Some(sum) = sum {
                        sum.add(&part);
                    }
                }
                None => {
                    *sum = None;
                    violations.push(Violation::Inexact { phase, counter: signal.counter });
                }
            }
            let mut waits = schedule.waits();
            if !waits.any(|wait| wait.counter == signal.counter) {
                violations.push(Violation::Unawaited { phase, counter: signal.counter });
            }
        }
    }
    if let Some(wait) = &schedule.routed_after {
        let added = added[wait.counter].as_ref();
        if let Some(added) = added.filter(|added| added.clamped(None) != Sum::of(&wait.need).clamped(None)) {
            violations.push(Violation::RouteThreshold { need: wait.need.clone(), added: added.need() });
        }
    }
    for (phase, fixed) in schedule.phases.iter() {
        for wait in &fixed.waits {
            let Some(added) = &added[wait.counter] else { continue };
            let most = most_rows(checked, wait.counter);
            if added.clamped(most) != Sum::of(&wait.need).clamped(most) {
                let (counter, need) = (wait.counter, wait.need.clone());
                violations.push(Violation::Threshold { phase, counter, need, added: added.need() });
            }
        }
    }
}

/// `fixed + per_row * rows + per_slot * slots + Σ count * ⌈rows / height⌉` with each height once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Sum {
    fixed: u64,
    per_row: u64,
    per_slot: u64,
    /// Heights of pieces, ascending, with the number of pieces per started height.
    pieces: Vec<(Height, u64)>,
}

impl Sum {
    fn rows(per_row: u64) -> Self {
        Self { per_row, ..Self::default() }
    }

    fn slots(per_slot: u64) -> Self {
        Self { per_slot, ..Self::default() }
    }

    fn fixed(count: u64) -> Self {
        Self { fixed: count, ..Self::default() }
    }

    fn pieces(height: Height, count: u64) -> Self {
        Self { pieces: vec![(height, count)], ..Self::default() }
    }

    fn of(need: &Need) -> Self {
        let per_slot = need.per_slot.into();
        let mut sum = Self { fixed: need.fixed.into(), per_slot, ..Self::rows(need.per_row.into()) };
        for &(height, count) in &need.pieces {
            sum.add(&Self::pieces(height, count.into()));
        }
        sum
    }

    fn add(&mut self, other: &Self) {
        self.fixed += other.fixed;
        self.per_row += other.per_row;
        self.per_slot += other.per_slot;
        other.pieces.iter().for_each(|&(height, count)| self.add_pieces(height, count));
    }

    fn add_pieces(&mut self, height: Height, count: u64) {
        match self.pieces.binary_search_by_key(&height, |&(height, _)| height) {
            Ok(place) => self.pieces[place].1 += count,
            Err(place) => self.pieces.insert(place, (height, count)),
        }
    }

    /// This function for at most `most` rows: heights above `most` are lowered to `most`, and pieces with a height of one row are counted
    /// as rows.
    fn clamped(&self, most: Option<Height>) -> Self {
        let mut clamped = Self { pieces: Vec::new(), ..*self };
        for &(height, count) in self.pieces.iter().filter(|(_, count)| *count > 0) {
            match most.map_or(height, |most| height.min(most)) {
                Height::Rows(1) => clamped.per_row += count,
                height => clamped.add_pieces(height, count),
            }
        }
        clamped
    }

    fn need(&self) -> Need {
        let short = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let pieces = self.pieces.iter().map(|&(height, count)| (height, short(count)));
        let [fixed, per_row, per_slot] = [self.fixed, self.per_row, self.per_slot].map(short);
        Need { fixed, per_row, per_slot, pieces: pieces.collect() }
    }
}

/// The sum that all tiles of a phase add to a counter; `None` if it depends on more than the counter's rows.
fn contribution(checked: &CheckedGraph, phase: PhaseId, signal: &Signal) -> Option<Sum> {
    let graph = checked.graph();
    let space = graph.spaces[graph.phases[phase].space];
    // Tiles of one item that add to the same counter.
    let tiles = match signal.index {
        Index::Tile => 1,
        _ => u64::from(graph.phases[phase].columns()),
    };
    let pieces = space.kind.by_peer();
    match (signal.amount, signal.index) {
        // The routing decides how routed rows are cut into pieces.
        (Amount::One, _) if pieces => None,
        // Each expert of a rank has its own rows, and is cut into pieces separately.
        (Amount::One, Index::Rank) if space.kind == SpaceKind::Experts => None,
        (Amount::One, _) if space.kind == SpaceKind::Experts => Some(Sum::fixed(tiles)),
        // The number of rows that a rank receives differs from its number of tokens.
        (Amount::One, Index::Rank) => {
            let touches = if space.by_chunk() { RankRows::Tokens } else { RankRows::Received };
            (touches == rows_of_rank(checked, signal.counter)).then(|| Sum::pieces(space.height, tiles))
        }
        (Amount::One, _) => Some(Sum::pieces(space.height, tiles)),
        (Amount::Rows, Index::RowTile | Index::Tile | Index::Expert | Index::Block) => Some(Sum::rows(tiles)),
        // Each non-empty slot of a block is in one piece.
        (Amount::Rows, Index::PieceBlocks) => Some(Sum::slots(tiles)),
        (_, Index::OnceTiles) => None,
        (Amount::Rows, Index::Rank) => {
            let touches = match space.kind {
                SpaceKind::RowTiles | SpaceKind::Experts => RankRows::Received,
                SpaceKind::Arrivals if !signal.remote => RankRows::Received,
                SpaceKind::Sends if signal.remote => RankRows::Received,
                SpaceKind::Arrivals | SpaceKind::Sends => RankRows::Slots,
                SpaceKind::SendsOnce | SpaceKind::OnceTiles => return None,
                SpaceKind::Blocks | SpaceKind::Chunks => RankRows::Tokens,
            };
            match (touches, rows_of_rank(checked, signal.counter)) {
                (RankRows::Received, RankRows::Received) | (RankRows::Tokens, RankRows::Tokens) => {
                    Some(Sum::rows(tiles))
                }
                (RankRows::Slots, RankRows::Tokens) => Some(Sum::slots(tiles)),
                _ => None,
            }
        }
    }
}

/// The kind of rows that all tiles of a phase touch on a rank.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RankRows {
    Received,
    Tokens,
    /// The non-empty slots of each token.
    Slots,
    /// One row for each token received.
    Once,
}

/// The kind of rows that a rank's only counter stands for.
fn rows_of_rank(checked: &CheckedGraph, counter: CounterId) -> RankRows {
    match checked.graph().tensors[checked.counters()[counter].tensor].rows {
        RowKind::Received | RowKind::Expert(_) => RankRows::Received,
        RowKind::Token | RowKind::Slot | RowKind::Matrix(_) | RowKind::Routed => RankRows::Tokens,
        RowKind::Once => RankRows::Once,
    }
}

/// Maximum number of rows that one counter stands for, if known.
fn most_rows(checked: &CheckedGraph, counter: CounterId) -> Option<Height> {
    match checked.counters()[counter].grid {
        Grid::RowTiles { space, .. } => Some(checked.graph().spaces[space].height),
        Grid::Blocks { height } => Some(Height::Rows(height)),
        Grid::Experts | Grid::Rank => None,
    }
}

#[cfg(test)]
mod tests;
