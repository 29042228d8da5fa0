//! Changes the fixed part of a phase: cores, tiles, waits and signals.

use super::fields::Known;
use super::values::{id, list, number};
use crate::analyze::{Amount, Index, Need, Signal, Wait};
use crate::graph::Height;
use crate::random::Random;
use crate::schedule::PhaseSchedule;

pub(super) const INDICES: [Index; 7] =
    [Index::RowTile, Index::Tile, Index::Expert, Index::OnceTiles, Index::Block, Index::PieceBlocks, Index::Rank];

/// Changes one field of a phase, and returns its name.
pub(super) fn phase(fixed: &mut PhaseSchedule, known: &Known, random: &mut Random) -> String {
    let PhaseSchedule {
        role,
        band,
        by_arrival,
        rotation,
        preceding,
        joins_previous,
        spans_experts,
        reads_ahead,
        waits,
        signals,
    } = fixed;
    match random.index(15) {
        0 => {
            id(role, known.whole.roles.len(), random);
            ".role".to_owned()
        }
        1 => {
            number(band, &[1, 2, 3, 8], random);
            ".band".to_owned()
        }
        2 => {
            *by_arrival ^= true;
            ".by_arrival".to_owned()
        }
        3 => {
            let others: Vec<_> =
                known.whole.phases.iter().flat_map(|(_, phase)| phase.preceding.iter().copied()).collect();
            let done = list(preceding, &others, 2, random, |(space, columns), random| {
                if random.index(2) == 0 {
                    id(space, known.checked.graph().spaces.len(), random);
                    return ".space".to_owned();
                }
                number(columns, &[], random);
                ".columns".to_owned()
            });
            format!(".preceding{done}")
        }
        4 => {
            *joins_previous ^= true;
            ".joins_previous".to_owned()
        }
        5 => {
            number(rotation, &[0, 1, 2, 23], random);
            ".rotation".to_owned()
        }
        6 => {
            *reads_ahead ^= true;
            ".reads_ahead".to_owned()
        }
        7 => {
            *spans_experts ^= true;
            ".spans_experts".to_owned()
        }
        8..12 => {
            let others: Vec<Wait> = known.whole.waits().cloned().collect();
            format!(".waits{}", list(waits, &others, 3, random, |one, random| wait(one, known, random)))
        }
        _ => {
            let others: Vec<Signal> = known.whole.signals().copied().collect();
            format!(".signals{}", list(signals, &others, 3, random, |one, random| signal(one, known, random)))
        }
    }
}

pub(super) fn wait(wait: &mut Wait, known: &Known, random: &mut Random) -> String {
    let Wait { counter, index, need } = wait;
    match random.index(5) {
        0 => {
            id(counter, known.checked.counters().len(), random);
            ".counter".to_owned()
        }
        1 => {
            *index = INDICES[random.index(INDICES.len())];
            ".index".to_owned()
        }
        2 => {
            let needs: Vec<&Need> = known.whole.waits().map(|wait| &wait.need).collect();
            *need = needs[random.index(needs.len())].clone();
            ".need".to_owned()
        }
        _ => format!(".need{}", self::need(need, known, random)),
    }
}

pub(super) fn need(need: &mut Need, known: &Known, random: &mut Random) -> String {
    let Need { fixed, per_row, per_slot, pieces } = need;
    match random.index(5) {
        0 => {
            number(fixed, &[*per_row], random);
            ".fixed".to_owned()
        }
        1 => {
            number(per_row, &[*fixed], random);
            ".per_row".to_owned()
        }
        2 => {
            number(per_slot, &[*per_row], random);
            ".per_slot".to_owned()
        }
        _ => {
            let heights: Vec<Height> = known.checked.graph().spaces.iter().map(|(_, space)| space.height).collect();
            let others: Vec<_> = heights.iter().map(|&height| (height, 1)).collect();
            let done = list(pieces, &others, 2, random, |(height, count), random| {
                if random.index(2) == 0 {
                    *height = heights[random.index(heights.len())];
                    return ".height".to_owned();
                }
                number(count, &[], random);
                ".count".to_owned()
            });
            format!(".pieces{done}")
        }
    }
}

pub(super) fn signal(signal: &mut Signal, known: &Known, random: &mut Random) -> String {
    let Signal { counter, index, amount, remote } = signal;
    let name = match random.index(4) {
        0 => {
            id(counter, known.checked.counters().len(), random);
            ".counter"
        }
        1 => {
            *index = INDICES[random.index(INDICES.len())];
            ".index"
        }
        2 => {
            *amount = match amount {
                Amount::Rows => Amount::One,
                Amount::One => Amount::Rows,
            };
            ".amount"
        }
        _ => {
            *remote ^= true;
            ".remote"
        }
    };
    name.to_owned()
}
