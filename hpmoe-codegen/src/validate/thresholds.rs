//! Counters reach what is waited for, exactly, whatever the number of rows.

use super::Violation;
use crate::schedule::Schedule;
use hpmoe_language::analyze::{Amount, CheckedGraph, Grid, Index, Need, Signal};
use hpmoe_language::graph::{Height, RowKind, SpaceKind};
use hpmoe_language::ids::{CounterId, PhaseId};
use std::collections::BTreeMap;

/// What all phases add to a counter is what each wait for it needs, as functions of the counter's rows; and what is
/// signalled is awaited, so that nothing arrives after a launch has ended.
pub(super) fn thresholds(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let mut added: BTreeMap<CounterId, Option<Sum>> = BTreeMap::new();
    for (phase, fixed) in schedule.phases.iter() {
        for signal in &fixed.signals {
            let sum = added.entry(signal.counter).or_insert_with(|| Some(Sum::default()));
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
    for (phase, fixed) in schedule.phases.iter() {
        for wait in &fixed.waits {
            let Some(added) = added.get(&wait.counter).cloned().unwrap_or_else(|| Some(Sum::default())) else {
                continue;
            };
            let most = most_rows(checked, wait.counter);
            if added.clamped(most) != Sum::of(&wait.need).clamped(most) {
                let (counter, need) = (wait.counter, wait.need.clone());
                violations.push(Violation::Threshold { phase, counter, need, added: added.need() });
            }
        }
    }
}

/// `fixed + per_row * rows + Σ count * ⌈rows / height⌉` with each height once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Sum {
    fixed: u64,
    per_row: u64,
    pieces: BTreeMap<Height, u64>,
}

impl Sum {
    fn rows(per_row: u64) -> Self {
        Self { per_row, ..Self::default() }
    }

    fn fixed(count: u64) -> Self {
        Self { fixed: count, ..Self::default() }
    }

    fn pieces(height: Height, count: u64) -> Self {
        Self { pieces: BTreeMap::from([(height, count)]), ..Self::default() }
    }

    fn of(need: &Need) -> Self {
        let mut sum = Self { fixed: need.fixed.into(), ..Self::rows(need.per_row.into()) };
        for &(height, count) in &need.pieces {
            sum.add(&Self::pieces(height, count.into()));
        }
        sum
    }

    fn add(&mut self, other: &Self) {
        self.fixed += other.fixed;
        self.per_row += other.per_row;
        for (&height, count) in &other.pieces {
            *self.pieces.entry(height).or_default() += count;
        }
    }

    /// The same function for at most that many rows: more rows than there are make one piece, and pieces of one row are
    /// rows.
    fn clamped(&self, most: Option<Height>) -> Self {
        let mut clamped = Self { fixed: self.fixed, ..Self::rows(self.per_row) };
        for (&height, &count) in self.pieces.iter().filter(|(_, count)| **count > 0) {
            match most.map_or(height, |most| height.min(most)) {
                Height::Rows(1) => clamped.per_row += count,
                height => *clamped.pieces.entry(height).or_default() += count,
            }
        }
        clamped
    }

    fn need(&self) -> Need {
        let short = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let pieces = self.pieces.iter().map(|(&height, &count)| (height, short(count)));
        Need { fixed: short(self.fixed), per_row: short(self.per_row), pieces: pieces.collect() }
    }
}

/// What all tiles of a phase together add to a counter, or nothing where that depends on more than its rows.
fn contribution(checked: &CheckedGraph, phase: PhaseId, signal: &Signal) -> Option<Sum> {
    let graph = checked.graph();
    let space = graph.spaces[graph.phases[phase].space];
    // Tiles of one item that add to the same counter.
    let tiles = match signal.index {
        Index::Tile => 1,
        _ => u64::from(graph.phases[phase].columns()),
    };
    let top_k = graph.sizes.top_k as u64;
    let pieces = matches!(space.kind, SpaceKind::Sends | SpaceKind::SendsOnce | SpaceKind::Arrivals);
    match (signal.amount, signal.index) {
        // How routed rows are cut into pieces is up to the routing.
        (Amount::One, _) if pieces => None,
        // Of all experts of a rank, each has its own; pieces are those of each expert's rows.
        (Amount::One, Index::Rank) if space.kind == SpaceKind::Experts => None,
        (Amount::One, _) if space.kind == SpaceKind::Experts => Some(Sum::fixed(tiles)),
        (Amount::One, _) => Some(Sum::pieces(space.height, tiles)),
        (Amount::Rows, Index::RowTile | Index::Tile | Index::Expert | Index::Block) => Some(Sum::rows(tiles)),
        (Amount::Rows, Index::PieceBlocks) => Some(Sum::rows(tiles * top_k)),
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
                (RankRows::Slots, RankRows::Tokens) => Some(Sum::rows(tiles * top_k)),
                _ => None,
            }
        }
    }
}

/// What the rows are that all tiles of a phase touch on a rank.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RankRows {
    Received,
    Tokens,
    /// `TOP_K` for each token.
    Slots,
    /// One for each token received.
    Once,
}

/// The rows that a rank's only counter stands for.
fn rows_of_rank(checked: &CheckedGraph, counter: CounterId) -> RankRows {
    match checked.graph().tensors[checked.counters()[counter].tensor].rows {
        RowKind::Received | RowKind::Expert { .. } => RankRows::Received,
        RowKind::Token | RowKind::Slot | RowKind::Matrix { .. } => RankRows::Tokens,
        RowKind::Once => RankRows::Once,
    }
}

/// Most rows that one counter stands for, where that is known.
fn most_rows(checked: &CheckedGraph, counter: CounterId) -> Option<Height> {
    match checked.counters()[counter].grid {
        Grid::RowTiles { space, .. } => Some(checked.graph().spaces[space].height),
        Grid::Blocks { height } => Some(Height::Rows(height)),
        Grid::Experts | Grid::Rank => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Cores, schedule};
    use crate::validate::broken::broken;
    use hpmoe_language::analyze::Counter;
    use hpmoe_language::fixture::{Layer, gated, moe_backward, moe_ffn, once};
    use proptest::prelude::*;

    #[test]
    fn a_right_schedule_passes() {
        assert_eq!(broken(thresholds, |_| ()), []);
        let checked = gated(&Layer::DEEPSEEK);
        let mut found = Vec::new();
        thresholds(&checked, &schedule(&checked, Cores::ASCEND_A3), &mut found);
        assert_eq!(found, []);
    }

    #[test]
    fn every_changed_need_is_found() {
        let checked = moe_ffn(&Layer::SMALL);
        let whole = schedule(&checked, Cores::ASCEND_A3);
        for (phase, fixed) in whole.phases.iter() {
            for wait in 0..fixed.waits.len() {
                let found = broken(thresholds, |schedule| schedule.phases[phase].waits[wait].need.per_row += 1);
                assert!(matches!(found[..], [Violation::Threshold { .. }]), "{found:?}");
                let found = broken(thresholds, |schedule| {
                    schedule.phases[phase].waits[wait].need.pieces.push((Height::Rows(8), 1))
                });
                assert!(matches!(found[..], [Violation::Threshold { .. }]), "{found:?}");
            }
        }
    }

    #[test]
    fn a_signal_that_nobody_awaits_is_found() {
        let combine = PhaseId(6);
        let found = broken(thresholds, |schedule| schedule.phases[combine].waits.clear());
        assert!(matches!(found[..], [Violation::Unawaited { phase: PhaseId(5), .. }]), "{found:?}");
    }

    #[test]
    fn a_second_signal_to_a_counter_changes_its_sum() {
        let (gate, up) = (PhaseId(1), PhaseId(2));
        let found = broken(thresholds, |schedule| schedule.phases[gate].signals = schedule.phases[up].signals.clone());
        assert!(matches!(found[..], [Violation::Threshold { phase: PhaseId(3), .. }]), "{found:?}");
    }

    proptest! {
        /// Tiles counted one by one add what the sum says.
        #[test]
        fn sums_are_what_tiles_add(full in 0u64..3, over in 0u64..3, height in 1u32..70, columns in 1u64..9) {
            let rows = (full * u64::from(height) + over).saturating_sub(1);
            let (mut ones, mut all) = (0, 0);
            let mut first = 0;
            while first < rows {
                let item = u64::from(height).min(rows - first);
                ones += columns;
                all += item * columns;
                first += item;
            }
            prop_assert_eq!(Sum::pieces(Height::Rows(height), columns).need().at(rows), ones);
            prop_assert_eq!(Sum::rows(columns).need().at(rows), all);
        }

        /// Clamping changes no value that can occur.
        #[test]
        fn clamped_sums_agree(most in 1u32..40, rows in 0u64..40, heights in prop::collection::vec(1u32..80, 0..4)) {
            let pieces = heights.into_iter().map(|height| (Height::Rows(height), 3)).collect();
            let need = Need { per_row: 2, pieces, ..Need::default() };
            let rows = rows.min(most.into());
            prop_assert_eq!(Sum::of(&need).clamped(Some(Height::Rows(most))).need().at(rows), need.at(rows));
        }
    }

    #[test]
    fn what_depends_on_more_than_rows_is_no_sum() {
        let found = broken(thresholds, |schedule| schedule.phases[PhaseId(5)].signals[0].amount = Amount::One);
        assert!(found.iter().any(|v| matches!(v, Violation::Inexact { phase: PhaseId(5), .. })), "{found:?}");
    }

    #[test]
    fn each_space_adds_what_its_tiles_do() {
        let added = |checked: &CheckedGraph, phase: u32, index: Index, amount: Amount, counter: CounterId| {
            contribution(checked, PhaseId(phase), &Signal { counter, index, amount, remote: false })
        };
        let counter_of = |checked: &CheckedGraph, rows: RowKind| {
            let of_rows = |counter: &Counter| checked.graph().tensors[counter.tensor].rows == rows;
            checked.counters().position(of_rows).unwrap()
        };
        let layer = moe_ffn(&Layer::SMALL);
        let (received, slots) = (counter_of(&layer, RowKind::Received), counter_of(&layer, RowKind::Slot));
        let [dispatch, gate, back, combine] = [0, 1, 5, 6];
        let columns = u64::from(layer.graph().phases[PhaseId(gate)].columns());
        assert!(columns > 1);
        assert_eq!(added(&layer, gate, Index::Tile, Amount::Rows, received), Some(Sum::rows(1)));
        assert_eq!(added(&layer, gate, Index::RowTile, Amount::Rows, received), Some(Sum::rows(columns)));
        assert_eq!(added(&layer, gate, Index::Rank, Amount::Rows, received), Some(Sum::rows(columns)));
        assert_eq!(added(&layer, combine, Index::Rank, Amount::Rows, slots), Some(Sum::rows(1)));
        // Each token has as many slots as experts.
        assert_eq!(added(&layer, back, Index::PieceBlocks, Amount::Rows, slots), Some(Sum::rows(4)));
        assert_eq!(added(&layer, dispatch, Index::Rank, Amount::Rows, slots), Some(Sum::rows(4)));
        // How rows are cut into pieces, or that tokens are as many as rows, is up to the routing.
        assert_eq!(added(&layer, dispatch, Index::RowTile, Amount::One, received), None);
        assert_eq!(added(&layer, combine, Index::Rank, Amount::Rows, received), None);
        assert_eq!(added(&layer, gate, Index::OnceTiles, Amount::Rows, received), None);
        // All rows of an expert are an item: of one expert a fixed number, of a rank as many as it has experts.
        let backward = moe_backward(&Layer::TINY);
        let graph = backward.graph();
        let of_experts = |id: &PhaseId| graph.spaces[graph.phases[*id].space].kind == SpaceKind::Experts;
        let gradient = graph.phases.ids().find(of_experts).unwrap();
        let tiles = u64::from(graph.phases[gradient].columns());
        let received = counter_of(&backward, RowKind::Received);
        assert_eq!(added(&backward, gradient.0, Index::Expert, Amount::One, received), Some(Sum::fixed(tiles)));
        assert_eq!(added(&backward, gradient.0, Index::Rank, Amount::One, received), None);
        // Rows sent once are as many as the routing has it.
        let once = once(&Layer::TINY);
        let received = counter_of(&once, RowKind::Received);
        assert_eq!(added(&once, 0, Index::Rank, Amount::Rows, received), None);
    }

    #[test]
    fn a_counter_of_few_rows_has_one_piece_of_any_larger_height() {
        let [large, larger] = [64, 96].map(|height| Sum::pieces(Height::Rows(height), 2));
        assert_eq!(large.clamped(Some(Height::Rows(32))), larger.clamped(Some(Height::Rows(32))));
        assert_ne!(large.clamped(Some(Height::Rows(80))), larger.clamped(Some(Height::Rows(80))));
        assert_eq!(large.clamped(Some(Height::Rows(1))), Sum::rows(2));
    }
}
