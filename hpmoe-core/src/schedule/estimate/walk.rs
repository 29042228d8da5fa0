//! Entries that the cores of a part walk together, tile by tile.

use super::ready::{Ready, Share};
use super::tiles::EntryTiles;
use super::{Comes, Deal, Run, Swizzle, Time, Walk};
use crate::ids::PartId;

impl Run<'_> {
    /// Runs entries that are walked together, once their rows are ready. Returns the times at which the results of each are ready.
    pub(super) fn walk(&mut self, part: PartId, (walk, comes): Walk, ready: &Ready) -> Vec<Ready> {
        let head = walk[0];
        let phase = &self.graph.phases[head.phase];
        let (items, columns) = (self.extents.items(head, phase.space), u64::from(phase.columns()));
        let outer = u64::from(self.graph.column_rows(head.phase));
        let (wide, band) = (columns / outer, self.schedule.phases[head.phase].band);
        let swizzle = Swizzle { items: u64::from(items) * outer, columns: wide, band: band.into() };
        let cores = u64::from(self.order.parts[part].count);
        let deal = Deal { cores, rotation: self.schedule.phases[head.phase].rotation.into() };
        let base = self.starts[head.phase] + self.extents.before(head, phase.space) * columns;
        self.read_entry(part, comes, deal, base, swizzle.tiles());
        let mut ends = vec![Ready::default(); walk.len()];
        if swizzle.tiles() == 0 {
            // An entry without tiles ends when it could have begun.
            ends.fill(Ready::of(Share::ALL, ready.at(Share::ALL)));
            return ends;
        }
        let of_items: Vec<Share> =
            (0..items).map(|item| Share::of(self.graph, self.order.ranks, head, (item, items))).collect();
        let begins: Vec<Time> = of_items.iter().map(|&share| ready.at(share)).collect();
        // For each item, then for each entry: the time at which its last tile is done.
        let mut done = vec![Time::ZERO; of_items.len() * walk.len()];
        let tiles: Vec<EntryTiles> =
            walk.iter().map(|&entry| self.tiles_of((part, entry), phase.space, band)).collect();
        // The vectors are slices here and loops are plain: build scripts run this unoptimised for each tile.
        let mut clocks = std::mem::take(&mut self.clocks[part]);
        let (begins, tiles, of_core, last) = (&begins[..], &tiles[..], &mut clocks[..], &mut done[..]);
        let mut core_of = deal.cores_from(base);
        swizzle.for_each_place(|place, column| {
            let (item, column) =
                if outer == 1 { (place, column) } else { (place / outer, place % outer * wide + column) };
            let (core, item) = (core_of.next(), item as usize);
            let mut entry = 0;
            while entry < tiles.len() {
                let ended = self.tile(&tiles[entry], (item, column as u32), of_core[core], begins[item]);
                of_core[core] = ended;
                let done = &mut last[item * tiles.len() + entry];
                if ended.0 > done.0 {
                    *done = ended;
                }
                entry += 1;
            }
        });
        self.clocks[part] = clocks;
        // The signals of a put follow the tile of the put with the fence for both.
        let leaves = |&entry: &usize| self.schedule.shares_next_fence(self.graph, walk[entry].phase);
        let leaving: Vec<usize> = (0..walk.len() - 1).rev().filter(leaves).collect();
        for (&share, done) in of_items.iter().zip(done.chunks_mut(walk.len())) {
            leaving.iter().for_each(|&entry| done[entry] = done[entry + 1]);
            ends.iter_mut().zip(&*done).for_each(|(end, &done)| end.delay(share, done + self.visible));
        }
        ends
    }

    /// Charges each core of a part for the descriptors that it reads to visit an entry. Cores with a tile of the entry read one more unless
    /// they read every entry anyway.
    fn read_entry(&mut self, part: PartId, comes: Comes, deal: Deal, base: u64, tiles: u64) {
        let entry = Time::from_ns(self.target.sync.entry_ns);
        let [passed, stayed] = [false, true].map(|has_tile| entry * u64::from(comes.read(has_tile)));
        self.clocks[part].iter_mut().for_each(|clock| *clock += passed);
        if stayed == passed {
            return;
        }
        // With a rotation, a core may have two tiles before another core has its first one, but no core has three.
        let mut cores = deal.cores_from(base);
        let mut stays = vec![false; deal.cores as usize];
        for _ in 0..tiles.min(2 * deal.cores) {
            stays[cores.next()] = true;
        }
        let clocks = self.clocks[part].iter_mut().zip(stays).filter(|(_, stays)| *stays);
        clocks.for_each(|(clock, _)| *clock += stayed - passed);
    }
}
