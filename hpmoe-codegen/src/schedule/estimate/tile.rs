//! How long a tile takes.

use super::{Run, Time};
use crate::cost::{Ahead, Cost, EntryTile, Work};
use crate::schedule::typical::OWN;
use crate::schedule::{CoreKind, Entry, ahead_of};
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::ids::{PartId, PhaseId, SpaceId};
use std::collections::HashMap;

/// The tiles of a phase and a number of rows, column by column.
#[derive(Default)]
pub(super) struct Tiles {
    all: Vec<Tile>,
    /// The place of the first column's, by phase, items of the entry, and rows.
    first: HashMap<(PhaseId, u32, u32), usize>,
}

/// A tile's work, and what its core can read before it begins.
#[derive(Clone, Copy)]
struct Tile {
    work: Work,
    ahead: Ahead,
    /// The time of reading all of that.
    reading: Time,
}

/// The tiles of an entry: all of its items are full ones but the last.
pub(super) struct EntryTiles {
    full: usize,
    short: usize,
    last: u32,
}

impl EntryTiles {
    /// The place of the tile of an item and a column.
    pub(super) const fn place(&self, item: u32, column: u32) -> usize {
        let first = if item == self.last { self.short } else { self.full };
        first + column as usize
    }
}

impl Run<'_> {
    /// The tiles of an entry that is walked with others; nothing where it puts, or has none.
    pub(super) fn works_of(&mut self, entry: Entry, space: SpaceId, band: u32, joined: usize) -> Option<EntryTiles> {
        let items = self.extents.items(entry, space);
        if items == 0 || self.graph.tasks[self.graph.phases[entry.phase].task].kind == TaskKind::Put {
            return None;
        }
        let mut first = |item: u32| {
            let rows = self.extents.rows(entry, space, item);
            let tile = EntryTile { peer: entry.peer_offset, rows, column: 0, items, band, joined: joined as u32 };
            self.first_tile(entry.phase, tile)
        };
        Some(EntryTiles { full: first(0), short: first(items - 1), last: items - 1 })
    }

    /// The place of the tile of a phase's first column, which has the work of those of all columns behind it.
    fn first_tile(&mut self, phase: PhaseId, tile: EntryTile) -> usize {
        let key = (phase, tile.items, tile.rows);
        if let Some(&place) = self.tiles.first.get(&key) {
            return place;
        }
        let place = self.tiles.all.len();
        self.tiles.first.insert(key, place);
        for column in 0..self.graph.phases[phase].columns() {
            let work = self.works[phase].work(self.target, EntryTile { column, ..tile });
            let ahead = ahead_of(self.checked, self.schedule, phase, &work);
            let reading = self.costs.ahead(ahead, 1.0).time;
            // Its products cost what the work does, and need not be counted for each tile.
            let work = work.products().map_or(work, Work::Share);
            self.tiles.all.push(Tile { work, ahead, reading });
        }
        place
    }

    /// The end of a tile that begins at a time, on a core that was free earlier.
    pub(super) fn tile(&mut self, (part, phase): (PartId, PhaseId), place: usize, free: Time, begun: Time) -> Time {
        let Tile { work, ahead, reading } = self.tiles.all[place];
        // The core reads weights from the pickup on: into one stage of L1, and into both where the tile waits for its rows.
        let between = begun.since(free + Time::from_ns(self.target.sync.task_pickup_ns));
        let room = if begun.since(free) > self.fixed[phase] { 1.0 } else { ahead.first };
        // Where there is nothing to read, all of it is: `min` takes no notice of zero divided by zero.
        let read = room.min(between.0 as f64 / reading.0 as f64);
        let left = work.after(ahead, read);
        let Cost::Shared(shared) = self.costs.cost(OWN, &left) else { return begun + self.costs.alone(OWN, &left) };
        self.hbm += shared.hbm + read * ahead.hbm;
        // Matrix cores have equal shares of HBM.
        let share = match self.order.parts[part].kind {
            CoreKind::Aic => shared.hbm * f64::from(self.target.cores.aic) / self.target.memory.hbm_gb_per_s * 1e3,
            CoreKind::Aiv => 0.0,
        };
        begun + shared.time.max(Time(share as u64))
    }

    /// The end of a put that begins at a time.
    pub(super) fn put(&mut self, (part, phase): (PartId, PhaseId), tile: EntryTile, begun: Time) -> Time {
        let sync = &self.target.sync;
        let begun = begun + Time::from_ns(sync.put_start_ns);
        let work = self.works[phase].work(self.target, tile);
        let alone = begun + self.costs.alone(OWN, &work);
        match work {
            Work::Put { to, bytes } if to != OWN => {
                alone.max(self.links.put((part, phase), bytes, begun)) + Time::from_ns(sync.fence_remote_ns)
            }
            _ => alone,
        }
    }
}
