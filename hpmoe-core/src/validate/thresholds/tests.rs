//! Sums of tiles' contributions have the stated values, and equal the needs of waits.

use super::*;
use crate::analyze::Counter;
use crate::fixture::{Layer, chunked, gated, moe_backward, moe_ffn, once};
use crate::schedule::{Cores, schedule};
use crate::validate::broken::{broken, broken_of};
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
fn a_need_may_count_larger_pieces_than_its_counter_has_rows() {
    let changed = |height| {
        broken(thresholds, |schedule| {
            let waits =
                schedule.phases.ids().find(|&id| schedule.phases[id].waits.iter().any(|w| !w.need.pieces.is_empty()));
            let waits = &mut schedule.phases[waits.unwrap()].waits;
            waits.iter_mut().flat_map(|wait| &mut wait.need.pieces).for_each(|(rows, _)| *rows = Height::Rows(height));
        })
    };
    assert_eq!(changed(64), [], "of 32 rows there is one piece of 64");
    assert!(matches!(changed(16)[..], [Violation::Threshold { .. }]));
}

#[test]
fn a_signal_that_nobody_awaits_is_found() {
    let combine = PhaseId(6);
    let found = broken(thresholds, |schedule| schedule.phases[combine].waits.clear());
    assert!(matches!(found[..], [Violation::Unawaited { phase: PhaseId(5), .. }]), "{found:?}");
}

#[test]
fn a_signal_to_one_of_two_counters_of_a_tensor_is_found() {
    let checked = moe_backward(&Layer::TINY);
    let mut whole = schedule(&checked, Cores::ASCEND_A3);
    let tensor = |counter: CounterId| checked.counters()[counter].tensor;
    let all: Vec<CounterId> = whole.waits().map(|wait| wait.counter).collect();
    let is_second = |&counter: &CounterId| all.iter().any(|&o| o != counter && tensor(o) == tensor(counter));
    let lost = all.iter().copied().find(is_second).unwrap();
    let signals: Vec<PhaseId> =
        whole.phases.ids().filter(|&id| whole.phases[id].signals.iter().any(|s| s.counter == lost)).collect();
    for phase in whole.phases.ids() {
        whole.phases[phase].waits.retain(|wait| wait.counter != lost);
    }
    let mut found = Vec::new();
    thresholds(&checked, &whole, &mut found);
    let unawaited = signals.into_iter().map(|phase| Violation::Unawaited { phase, counter: lost });
    assert_eq!(found, unawaited.collect::<Vec<_>>());
}

/// A signal that rows are no longer read must be awaited: without a wait, it would change a counter of a later launch.
#[test]
fn what_tells_that_rows_are_no_longer_read_is_awaited() {
    let checked = chunked(&Layer::TINY, 4);
    let frees = checked.reuse().unwrap().frees;
    let told: Vec<_> = checked.dependencies().iter().filter(|d| d.after == frees).collect();
    assert!(told.len() > 1 && told.iter().all(|d| checked.counters()[d.wait.counter].through));
    for dependency in told {
        let found = broken_of(&checked, thresholds, |schedule| {
            schedule.phases[frees].waits.retain(|wait| wait.counter != dependency.wait.counter);
        });
        let (phase, counter) = (dependency.before, dependency.signal.counter);
        assert_eq!(found, [Violation::Unawaited { phase, counter }]);
    }
}

#[test]
fn a_second_signal_to_a_counter_changes_its_sum() {
    let (gate, up) = (PhaseId(1), PhaseId(2));
    let found = broken(thresholds, |schedule| schedule.phases[gate].signals = schedule.phases[up].signals.clone());
    assert!(matches!(found[..], [Violation::Threshold { phase: PhaseId(3), .. }]), "{found:?}");
}

proptest! {
    /// The contributions of single tiles add up to the sum.
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
        prop_assert_eq!(Sum::pieces(Height::Rows(height), columns).need().at(rows, 0), ones);
        prop_assert_eq!(Sum::rows(columns).need().at(rows, 0), all);
    }

    /// Clamping changes no value that can occur.
    #[test]
    fn clamped_sums_agree(most in 1u32..40, rows in 0u64..40, heights in prop::collection::vec(1u32..80, 0..4)) {
        let pieces = heights.into_iter().map(|height| (Height::Rows(height), 3)).collect();
        let need = Need { per_row: 2, pieces, ..Need::default() };
        let rows = rows.min(most.into());
        prop_assert_eq!(Sum::of(&need).clamped(Some(Height::Rows(most))).need().at(rows, 0), need.at(rows, 0));
    }
}

#[test]
fn what_depends_on_more_than_rows_is_no_sum() {
    let found = broken(thresholds, |schedule| schedule.phases[PhaseId(5)].signals[0].amount = Amount::One);
    assert!(matches!(found[..], [Violation::Inexact { phase: PhaseId(5), .. }]), "no sum to compare with: {found:?}");
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
    // Only the non-empty slots of a token count.
    assert_eq!(added(&layer, back, Index::PieceBlocks, Amount::Rows, slots), Some(Sum::slots(1)));
    assert_eq!(added(&layer, dispatch, Index::Rank, Amount::Rows, slots), Some(Sum::slots(1)));
    // Each column of a put adds its rows.
    let wide =
        layer.changed(|graph| [dispatch, back].into_iter().for_each(|put| graph.phases[PhaseId(put)].ranges = vec![3]));
    assert_eq!(added(&wide, back, Index::PieceBlocks, Amount::Rows, slots), Some(Sum::slots(3)));
    assert_eq!(added(&wide, dispatch, Index::Rank, Amount::Rows, slots), Some(Sum::slots(3)));
    assert_eq!(added(&wide, back, Index::Rank, Amount::Rows, received), Some(Sum::rows(3)));
    // The two ranks of a pair count different rows of its pieces: the rows received, or those whose tokens they have.
    let at_peer = |phase, counter| {
        let signal = Signal { counter, index: Index::Rank, amount: Amount::Rows, remote: true };
        contribution(&layer, PhaseId(phase), &signal)
    };
    assert_eq!((at_peer(dispatch, received), at_peer(dispatch, slots)), (Some(Sum::rows(1)), None));
    assert_eq!((at_peer(back, slots), at_peer(back, received)), (Some(Sum::slots(1)), None));
    assert_eq!(added(&layer, back, Index::Rank, Amount::Rows, received), Some(Sum::rows(1)));
    assert_eq!(added(&layer, back, Index::Rank, Amount::Rows, slots), None);
    // The routing decides how rows are cut into pieces and how many rows there are per token.
    assert_eq!(added(&layer, dispatch, Index::RowTile, Amount::One, received), None);
    assert_eq!(added(&layer, combine, Index::Rank, Amount::Rows, received), None);
    assert_eq!(added(&layer, gate, Index::OnceTiles, Amount::Rows, received), None);
    // Tiles of received rows and blocks of tokens each count for a rank's rows of their kind.
    let height = |phase: u32| layer.graph().spaces[layer.graph().phases[PhaseId(phase)].space].height;
    let one = |phase, counter| added(&layer, phase, Index::Rank, Amount::One, counter);
    assert_eq!(one(gate, received), Some(Sum::pieces(height(gate), columns)));
    assert_eq!(one(combine, slots), Some(Sum::pieces(height(combine), 1)));
    assert_eq!((one(gate, slots), one(combine, received)), (None, None));
    // An item is all rows of an expert: a fixed number per expert, and the number of its experts per rank.
    let backward = moe_backward(&Layer::TINY);
    let graph = backward.graph();
    let of_experts = |id: &PhaseId| graph.spaces[graph.phases[*id].space].kind == SpaceKind::Experts;
    let gradient = graph.phases.ids().find(of_experts).unwrap();
    let tiles = u64::from(graph.phases[gradient].columns());
    let received = counter_of(&backward, RowKind::Received);
    assert_eq!(added(&backward, gradient.0, Index::Expert, Amount::One, received), Some(Sum::fixed(tiles)));
    assert_eq!(added(&backward, gradient.0, Index::Rank, Amount::One, received), None);
    // The routing decides the number of once-sent rows.
    let once = once(&Layer::TINY);
    let received = counter_of(&once, RowKind::Received);
    assert_eq!(added(&once, 0, Index::Rank, Amount::Rows, received), None);
    let there = Signal { counter: received, index: Index::Rank, amount: Amount::Rows, remote: true };
    assert_eq!(contribution(&once, PhaseId(0), &there), None);
}

#[test]
fn a_counter_of_few_rows_has_one_piece_of_any_larger_height() {
    let [large, larger] = [64, 96].map(|height| Sum::pieces(Height::Rows(height), 2));
    assert_eq!(large.clamped(Some(Height::Rows(32))), larger.clamped(Some(Height::Rows(32))));
    assert_ne!(large.clamped(Some(Height::Rows(80))), larger.clamped(Some(Height::Rows(80))));
    assert_eq!(large.clamped(Some(Height::Rows(1))), Sum::rows(2));
    let none = Sum::pieces(Height::Rows(64), 0);
    assert_eq!(none.clamped(None), Sum::default());
}

#[test]
fn a_piece_that_is_higher_than_a_block_is_one_piece_of_it() {
    let checked = moe_ffn(&Layer::SMALL);
    let wait = checked.dependencies().iter().find(|d| d.wait.index == Index::Block).unwrap().wait.clone();
    let Grid::Blocks { height } = checked.counters()[wait.counter].grid else { panic!("blocks of tokens") };
    assert_eq!(most_rows(&checked, wait.counter), Some(Height::Rows(height)));
    let of = |height: u32| Sum::pieces(Height::Rows(height), 2).clamped(most_rows(&checked, wait.counter));
    assert_eq!(of(height), of(height + 1));
    assert_ne!(of(height), of(height - 1));
}
