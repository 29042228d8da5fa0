//! The values of all counters of all ranks while tiles run.

use super::{Failure, PhaseTile, RoutedSlots};
use crate::analyze::{Amount, CheckedGraph, Grid, Index, Signal, Wait};
use crate::graph::{CHUNK_BUFFERS, RowKind};
use crate::ids::CounterId;
use std::collections::{BTreeMap, BTreeSet};

/// One counter: rank, array, expert or block, row tile or chunk, column.
type CounterKey = (usize, CounterId, usize, usize, usize);

pub(super) struct CounterValues<'a> {
    checked: &'a CheckedGraph,
    routing: &'a RoutedSlots,
    values: BTreeMap<CounterKey, u64>,
    /// For each counter, the threshold that tiles waited for.
    needs: BTreeMap<CounterKey, u64>,
    /// Counters that a peer has added to. A peer may add to them after this rank has ended, unless this rank waits for them.
    by_peers: BTreeSet<CounterKey>,
}

impl<'a> CounterValues<'a> {
    pub(super) fn new(checked: &'a CheckedGraph, routing: &'a RoutedSlots) -> Self {
        Self { checked, routing, values: BTreeMap::new(), needs: BTreeMap::new(), by_peers: BTreeSet::new() }
    }

    pub(super) fn signal(&mut self, tile: &PhaseTile, signal: &Signal) -> Result<(), Failure> {
        // No chunk reuses the memory of the last chunks.
        if self.checked.counters()[signal.counter].through && tile.item.chunk + CHUNK_BUFFERS >= self.routing.chunks {
            return Ok(());
        }
        let rank = if signal.remote { tile.item.peer } else { tile.item.rank };
        let rows = if tile.item.tokens.is_empty() { tile.item.rows.len() } else { tile.item.tokens.len() };
        if signal.index == Index::PieceBlocks {
            let height = self.height(signal.counter);
            for slot in &tile.item.slots {
                let block = slot / self.routing.top_k / height;
                let place = (rank, signal.counter, block, tile.item.chunk, 0);
                *self.values.entry(place).or_default() += 1;
                self.by_peers.extend(signal.remote.then_some(place));
            }
            return Ok(());
        }
        let amount = match signal.amount {
            Amount::Rows => rows as u64,
            Amount::One => 1,
        };
        let place = self.place(rank, tile, signal.counter, signal.index)?;
        *self.values.entry(place).or_default() += amount;
        self.by_peers.extend(signal.remote.then_some(place));
        Ok(())
    }

    /// Whether all counters that a tile waits for have reached their thresholds.
    pub(super) fn hold(&mut self, tile: &PhaseTile, waits: &[Wait]) -> Result<bool, Failure> {
        for wait in waits {
            if !self.holds(tile, wait)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn holds(&mut self, tile: &PhaseTile, wait: &Wait) -> Result<bool, Failure> {
        let places = match wait.index {
            Index::OnceTiles => self.once_tiles(tile, wait.counter),
            index => vec![self.place(tile.item.rank, tile, wait.counter, index)?],
        };
        Ok(places.into_iter().fold(true, |all, place| {
            let need = self.need(place, wait);
            self.needs.insert(place, need);
            all & (self.values.get(&place).copied().unwrap_or(0) >= need)
        }))
    }

    /// Whether all ids of a rank are complete.
    pub(super) fn holds_ids(&mut self, rank: usize, wait: &Wait) -> bool {
        let place = (rank, wait.counter, 0, 0, 0);
        let need = self.need(place, wait);
        self.needs.insert(place, need);
        self.values.get(&place).copied().unwrap_or(0) >= need
    }

    /// Whether each counter ends exactly at the threshold that tiles waited for, and everything that peers add is
    /// waited for. A rank's own signals may have no wait: an expert's matrix is written even if the expert has no rows.
    pub(super) fn exact(&self) -> bool {
        let value = |place| self.values.get(place).copied().unwrap_or(0);
        self.needs.iter().all(|(place, &need)| value(place) == need)
            && self.by_peers.iter().all(|place| self.needs.contains_key(place))
    }

    fn place(&self, rank: usize, tile: &PhaseTile, counter: CounterId, index: Index) -> Result<CounterKey, Failure> {
        let item = &tile.item;
        let row_tile = || {
            let height = self.height(counter);
            let ends = [item.rows.clone().next(), item.rows.clone().next_back()];
            match ends.map(|row| row.map(|row| row / height)) {
                [Some(first), Some(last)] if first == last => Ok(first),
                _ => Err(Failure::NoCounter(tile.phase)),
            }
        };
        Ok(match index {
            Index::RowTile => (rank, counter, item.expert, row_tile()?, 0),
            Index::Tile => (rank, counter, item.expert, row_tile()?, tile.column),
            Index::Expert => (rank, counter, item.expert, 0, 0),
            Index::Block => (rank, counter, item.tokens.start / self.height(counter), item.chunk, 0),
            Index::PieceBlocks | Index::OnceTiles => unreachable!("these indices name more than one counter"),
            Index::Rank => (rank, counter, 0, item.chunk, 0),
        })
    }

    /// The counters of the once-sent rows of a row tile's tokens.
    fn once_tiles(&self, tile: &PhaseTile, counter: CounterId) -> Vec<CounterKey> {
        let (item, routing) = (&tile.item, self.routing);
        let experts = item.rank * routing.local..(item.rank + 1) * routing.local;
        let place = |&(source, token): &(usize, usize)| {
            let own = |slot: &usize| slot / routing.top_k == token;
            let sent = |expert: usize| Some((expert, routing.once(source, expert).iter().position(own)?));
            let (expert, row) = experts.clone().find_map(sent).expect("a token that is received is sent");
            let before: usize = (0..source).map(|source| routing.once(source, expert).len()).sum();
            (item.rank, counter, expert % routing.local, (before + row) / self.height(counter), 0)
        };
        let tokens = routing.tokens_of_expert(item.rank * routing.local + item.expert);
        tokens[item.rows.clone()].iter().map(place).collect()
    }

    fn height(&self, counter: CounterId) -> usize {
        match self.checked.counters()[counter].grid {
            Grid::RowTiles { space, .. } => self.checked.graph().spaces[space].height.number() as usize,
            Grid::Blocks { height } => height as usize,
            Grid::Experts | Grid::Rank => usize::MAX,
        }
    }

    fn need(&self, place: CounterKey, wait: &Wait) -> u64 {
        let (rank, counter, _, chunk, _) = place;
        let row_kind = self.checked.graph().tensors[self.checked.counters()[counter].tensor].rows;
        let received = matches!(row_kind, RowKind::Received | RowKind::Expert(_));
        if self.checked.counters()[counter].grid == Grid::Rank && received {
            return wait.need.over(self.routing.experts_of(rank, chunk).map(|rows| rows as u64));
        }
        let rows = self.rows(place);
        let slots = if wait.need.per_slot > 0 { self.slots(place) } else { 0 };
        wait.need.at(rows as u64, slots as u64)
    }

    /// Number of non-empty slots of the tokens that a counter stands for.
    fn slots(&self, (rank, counter, group, tile, _): CounterKey) -> usize {
        match self.checked.counters()[counter].grid {
            Grid::Blocks { height } => {
                let first = group * height as usize;
                self.routing.full_slots(rank, tile, first..first + height as usize)
            }
            Grid::Rank => self.routing.full_slots(rank, tile, 0..usize::MAX),
            Grid::RowTiles { .. } | Grid::Experts => 0,
        }
    }

    /// Number of rows that a counter stands for.
    fn rows(&self, (rank, counter, group, tile, _): CounterKey) -> usize {
        let height = self.height(counter);
        let of_expert = |expert: usize| self.routing.expert_rows(rank * self.routing.local + expert);
        let row_kind = self.checked.graph().tensors[self.checked.counters()[counter].tensor].rows;
        match self.checked.counters()[counter].grid {
            Grid::RowTiles { .. } if row_kind == RowKind::Once => {
                // A broken schedule may wait for a row tile that an expert doesn't have; nothing is sent for it.
                let rows = self.routing.expert_rows_once(rank * self.routing.local + group);
                height.min(rows.saturating_sub(tile * height))
            }
            Grid::RowTiles { .. } => height.min(of_expert(group) - tile * height),
            Grid::Experts => of_expert(group),
            Grid::Blocks { .. } => height.min(self.routing.tokens(rank, tile) - group * height),
            Grid::Rank => match row_kind {
                RowKind::Received | RowKind::Expert(_) => self.routing.experts_of(rank, tile).sum(),
                RowKind::Once => self.routing.tokens_once(rank).len(),
                RowKind::Token | RowKind::Slot | RowKind::Matrix(_) | RowKind::Routed => {
                    self.routing.tokens(rank, tile)
                }
            },
        }
    }
}
