//! Tiles that have been priced, so that equal ones are priced once.

use crate::cost::{Ahead, Work};
use crate::ids::{PartId, PhaseId};
use crate::time::Time;
use std::collections::HashMap;

/// The tiles of a phase and a number of rows, by kind of column.
#[derive(Default)]
pub(super) struct Tiles {
    pub(super) all: Vec<Tile>,
    /// The place of the first kind's, by phase, peer of a put, items of the entry, and rows.
    pub(super) first: HashMap<(PhaseId, u32, u32, u32), usize>,
}

/// How long a tile takes.
#[derive(Clone, Copy)]
pub(super) enum Tile {
    /// A tile whose rows have arrived when its core is free: its time, and the bytes that it moves through HBM.
    Computes { work: Work, ahead: Ahead, free: Spent },
    /// A put: its time without other puts, and its bytes through the links.
    Puts { alone: Time, bytes: Option<u64> },
}

/// The time of a tile after its fixed costs, and its bytes through HBM.
#[derive(Clone, Copy)]
pub(super) struct Spent {
    pub(super) time: Time,
    pub(super) hbm: f64,
}

/// The tiles of an entry: all of its items are full ones but the last.
pub(super) struct EntryTiles {
    pub(super) part: PartId,
    pub(super) phase: PhaseId,
    /// The cost of a tile in addition to its work.
    pub(super) fixed: Time,
    pub(super) full: usize,
    pub(super) short: usize,
    pub(super) last: usize,
}

impl EntryTiles {
    /// The place of the tile of an item and a kind of column.
    pub(super) const fn place(&self, item: usize, kind: usize) -> usize {
        let first = if item == self.last { self.short } else { self.full };
        first + kind
    }
}
