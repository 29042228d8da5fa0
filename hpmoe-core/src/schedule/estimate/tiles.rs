//! Tiles that have already been priced, so that equal tiles are priced only once.

use crate::cost::{Ahead, Work};
use crate::ids::{PartId, PhaseId};
use crate::time::Time;
use std::collections::HashMap;

/// The priced tiles, grouped by phase and number of rows; each group has a tile for each kind of column.
#[derive(Default)]
pub(super) struct Tiles {
    pub(super) all: Vec<Tile>,
    /// The index of a group's first tile, by phase, peer of a put, rows of a put's pair or items of any other entry, and rows.
    pub(super) first: HashMap<(PhaseId, u32, u32, u32), usize>,
}

/// The cost of a tile.
#[derive(Clone, Copy)]
pub(super) enum Tile {
    /// A tile that computes: `free` is its cost if its rows have arrived when its core becomes free.
    Computes { work: Work, ahead: Ahead, free: Spent },
    /// A put: its time without other puts, that of its signals to further blocks, its rank and bytes, and whether it has a fence of its
    /// own.
    Puts { alone: Time, signals: Time, to: u32, bytes: u64, fenced: bool },
}

/// The time of a tile without its fixed costs, its bytes through HBM, and those that its core reads ahead.
#[derive(Clone, Copy)]
pub(super) struct Spent {
    pub(super) time: Time,
    pub(super) hbm: f64,
    pub(super) ahead: f64,
}

/// The tiles of an entry. All of its items are whole except the first and the last one.
pub(super) struct EntryTiles {
    pub(super) part: PartId,
    pub(super) phase: PhaseId,
    /// The cost of a tile in addition to its work.
    pub(super) fixed: Time,
    /// The index of the priced tile of the first item, of a whole one and of the last one.
    pub(super) first: usize,
    pub(super) whole: usize,
    pub(super) end: usize,
    /// The number of the last item.
    pub(super) last: usize,
}

impl EntryTiles {
    /// The index of the tile in an item and a kind of column.
    pub(super) const fn place(&self, item: usize, kind: usize) -> usize {
        let priced = match item {
            0 => self.first,
            item if item == self.last => self.end,
            _ => self.whole,
        };
        priced + kind
    }
}
