//! The time that a tile takes.

use super::tiles::{EntryTiles, Spent, Tile};
use super::{Run, Time};
use crate::analyze::{Grid, Index, Signal};
use crate::cost::{Ahead, Cost, EntryTile, Work};
use crate::ids::{PartId, PhaseId, SpaceId};
use crate::schedule::typical::OWN;
use crate::schedule::{CoreKind, Entry, ahead_of};
use hpmoe_kernels::op::TaskKind;

impl Run<'_> {
    /// Prices the tiles of an entry, which must have at least one.
    pub(super) fn tiles_of(&mut self, (part, entry): (PartId, Entry), space: SpaceId, band: u32) -> EntryTiles {
        let (items, of_group) = (self.extents.items(entry, space), self.extents.all_rows(entry, space));
        let mut of_item = |item: u32| {
            let rows = self.extents.rows(entry, space, item);
            let tile =
                EntryTile { peer: entry.peer_offset, rows, column: 0, items, band, joined: self.joined[entry.phase] };
            self.first_tile((part, entry.phase), tile, of_group)
        };
        let last = items - 1;
        let (first, whole, end) = (of_item(0), of_item(last.min(1)), of_item(last));
        EntryTiles { part, phase: entry.phase, fixed: self.fixed[entry.phase], first, whole, end, last: last as usize }
    }

    /// The index of the priced tile in the phase's first kind of column. The tiles in other kinds of columns follow it. `of_group` is the
    /// number of rows of the tile's group.
    fn first_tile(&mut self, (part, phase): (PartId, PhaseId), tile: EntryTile, of_group: u32) -> usize {
        let puts = self.graph.tasks[self.graph.phases[phase].task].kind == TaskKind::Put;
        let key = if puts { (phase, tile.peer, of_group, tile.rows) } else { (phase, OWN, tile.items, tile.rows) };
        if let Some(&place) = self.tiles.first.get(&key) {
            return place;
        }
        let place = self.tiles.all.len();
        self.tiles.first.insert(key, place);
        for at in 0..self.works[phase].kinds().len() {
            let column = self.works[phase].kinds()[at];
            let work = self.works[phase].work(self.target, EntryTile { column, ..tile });
            let tile =
                if puts { self.puts(phase, &work, (tile.rows, of_group)) } else { self.computes((part, phase), work) };
            self.tiles.all.push(tile);
        }
        place
    }

    fn puts(&self, phase: PhaseId, work: &Work, (rows, of_pair): (u32, u32)) -> Tile {
        let (to, bytes) = match *work {
            Work::Put { to, bytes } => (to, bytes),
            _ => (OWN, 0),
        };
        let fenced = !self.schedule.shares_next_fence(self.graph, phase);
        let further =
            self.schedule.signals_after(self.graph, phase).map(|signal| self.further_blocks(signal, rows, of_pair));
        let signals = Time::from_ns(further.sum::<f64>() * self.target.sync.signal_ns);
        Tile::Puts { alone: self.costs.alone(OWN, work), signals, to, bytes, fenced }
    }

    /// Number of blocks of tokens, without the first one, to which `rows` of the `of_pair` rows of a pair belong; 0 for a signal to one
    /// counter. The rows of a pair belong to tokens that are spread evenly.
    fn further_blocks(&self, signal: &Signal, rows: u32, of_pair: u32) -> f64 {
        match (signal.index, self.checked.counters()[signal.counter].grid) {
            (Index::PieceBlocks, Grid::Blocks { height }) => {
                let spanned = self.graph.sizes.chunk_tokens() as f64 * f64::from(rows) / f64::from(of_pair);
                (spanned / f64::from(height)).min(f64::from(rows) - 1.0)
            }
            _ => 0.0,
        }
    }

    fn computes(&self, (part, phase): (PartId, PhaseId), work: Work) -> Tile {
        let ahead = ahead_of(self.checked, self.schedule, phase, &work);
        // Work as sums over its products has the same cost, and is faster to price.
        let work = work.products().map_or(work, Work::Share);
        let free = self.spent((part, phase), (work, ahead), self.fixed[phase]);
        Tile::Computes { work, ahead, free }
    }

    /// The end of a tile, on a core that is free at `free` and with rows that arrive at `begins`.
    pub(super) fn tile(&mut self, tiles: &EntryTiles, (item, column): (usize, u32), free: Time, begins: Time) -> Time {
        let waits = begins.0 > free.0;
        let begun = if waits { begins.0 + tiles.fixed.0 } else { free.0 + tiles.fixed.0 };
        let all = &self.tiles.all[..];
        let kind = self.works[tiles.phase].kind_of(column);
        match all[tiles.place(item, kind)] {
            Tile::Computes { free: spent, .. } if !waits => {
                self.through_hbm(spent.ahead + spent.hbm, (free, Time(begun + spent.time.0)))
            }
            Tile::Computes { work, ahead, .. } => {
                let spent = self.spent((tiles.part, tiles.phase), (work, ahead), Time(begun - free.0));
                // The core has what it reads ahead when its rows arrive, so that doesn't delay the tile.
                self.through_hbm(spent.ahead, (free, begins));
                self.through_hbm(spent.hbm, (begins, Time(begun + spent.time.0)))
            }
            Tile::Puts { alone, signals, to, bytes, fenced } => {
                let sync = &self.target.sync;
                let begun = Time(begun) + Time::from_ns(sync.put_start_ns);
                // A put reads its bytes and writes as many; if it goes to another rank, a peer writes about as many here. Memories don't slow such
                // puts down in the simulator.
                let moved = 2.0 * bytes as f64;
                let arrived = if to == OWN {
                    self.through_hbm(moved, (begun, begun + alone))
                } else {
                    let left = self.links.put(tiles.phase, (to, bytes), begun);
                    self.through_hbm(moved, (begun, left));
                    let fence = if fenced { sync.fence_remote_ns } else { 0.0 };
                    (begun + alone).max(left) + Time::from_ns(fence)
                };
                arrived + signals
            }
        }
    }

    /// Moves bytes through HBM from one time to another, at a constant rate unless HBM is busy, and returns the time at which all of them have
    /// passed.
    fn through_hbm(&mut self, bytes: f64, (from, end): (Time, Time)) -> Time {
        let most = bytes / end.since(from).0 as f64;
        end.max(self.hbm.take(bytes, from, most))
    }

    /// The time of a tile that begins `since_free` after its core became free.
    fn spent(&self, (part, phase): (PartId, PhaseId), (work, ahead): (Work, Ahead), since_free: Time) -> Spent {
        // The core reads weights from the pickup on: into one stage of L1, and into both if the tile waits for its rows.
        let between = since_free.since(Time::from_ns(self.target.sync.task_pickup_ns));
        let room = if since_free > self.fixed[phase] { 1.0 } else { ahead.first };
        // If there is nothing to read, everything has been read: `min` ignores zero divided by zero.
        let reading = self.costs.ahead(ahead, 1.0).time;
        let read = room.min(between.0 as f64 / reading.0 as f64);
        let left = work.after(ahead, read);
        let Cost::Shared(shared) = self.costs.cost(OWN, &left) else {
            return Spent { time: self.costs.alone(OWN, &left), hbm: 0.0, ahead: read * ahead.hbm };
        };
        // Matrix cores have equal shares of HBM: without them, those that are replayed first would have most of it.
        let share = match self.order.parts[part].kind {
            CoreKind::Aic => shared.hbm * f64::from(self.target.cores.aic) / self.target.memory.hbm_gb_per_s * 1e3,
            CoreKind::Aiv => 0.0,
        };
        Spent { time: shared.time.max(Time(share as u64)), hbm: shared.hbm, ahead: read * ahead.hbm }
    }
}
