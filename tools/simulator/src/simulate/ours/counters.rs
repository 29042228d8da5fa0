//! The numbers and thresholds of counters, and the amounts of signals.

use super::chunked::Chunked;
use super::layout::{ItemRows, Layout};
use crate::simulate::{self, Routing};
use hpmoe_core::analyze::{Amount, CheckedGraph, Counter, Grid, Index, Signal, Wait};
use hpmoe_core::graph::{CHUNK_BUFFERS, RowKind, Sizes};
use hpmoe_core::ids::{Arena, CounterId, PhaseId};
use hpmoe_core::schedule::Schedule;

/// The counters of all ranks. Each rank numbers its counters from zero.
#[derive(Clone, Debug)]
pub(super) struct CounterLayout {
    counters: Arena<CounterId, Counter>,
    /// For each rank, the number of the first counter of each array, and then the number of all counters of arrays.
    first: Vec<Vec<u32>>,
    /// For each array, whether its counters stand for received rows rather than for tokens.
    whole: Arena<CounterId, bool>,
    /// The tokens of rows, by source and expert chunk; empty if no signal depends on them.
    tokens: Vec<Vec<Vec<u32>>>,
    sizes: Sizes,
}

impl CounterLayout {
    pub(super) fn new(checked: &CheckedGraph, schedule: &Schedule, layout: &Layout, routing: &Routing) -> Self {
        let counters = checked.counters().clone();
        let sizes = checked.graph().sizes;
        let first = (0..layout.ranks).map(|rank| {
            let mut sum = 0;
            let mut first = vec![0];
            for (_, counter) in counters.iter() {
                sum += len(layout, &sizes, counter.grid, rank);
                first.push(sum);
            }
            // After them the freed words of all ranks, by chunk.
            first.push(sum + if sizes.reuses() { layout.chunks * layout.ranks } else { 0 });
            // Then those of the route: ranks whose counts have come, and vector cores that have made their tables.
            let made = checked.graph().route.as_ref().is_some_and(|route| route.before > 0);
            first.push(first[first.len() - 1] + if made { 2 } else { 0 });
            first
        });
        let first = first.collect();
        let received = |counter: &Counter| {
            let row_kind = checked.graph().tensors[counter.tensor].rows;
            matches!(row_kind, RowKind::Received | RowKind::Expert(_))
        };
        let whole = counters.iter().map(|(_, counter)| received(counter)).collect();
        let by_token = |phase: PhaseId| schedule.phases[phase].signals.iter().any(|s| s.index == Index::PieceBlocks);
        let tokens = if schedule.phases.ids().any(by_token) {
            let chunked = Chunked::new(&checked.graph().sizes, routing);
            (0..layout.ranks).map(|source| chunked.tokens_of_rows(routing, source)).collect()
        } else {
            Vec::new()
        };
        Self { counters, first, whole, tokens, sizes }
    }

    /// Number of the freed word at rank `at` that rank `writer` writes when it has freed a chunk's memory.
    pub(super) fn freed(&self, layout: &Layout, (at, writer): (u32, u32), chunk: u32) -> u32 {
        self.first[at as usize][self.counters.len()] + chunk * layout.ranks + writer
    }

    /// Number of the first of a rank's two counters for the route.
    pub(super) fn of_route(&self, rank: u32) -> u32 {
        self.first[rank as usize][self.counters.len() + 1]
    }

    /// The wait for all ids of a rank.
    pub(super) fn ids(&self, layout: &Layout, rank: u32, wait: &Wait) -> simulate::CounterWait {
        let counter = self.first[rank as usize][wait.counter.0 as usize];
        simulate::CounterWait { counter, need: wait.need.at(layout.tokens(rank, 0).into(), 0) as u32 }
    }

    /// Number of counters that a chunk has for token blocks of this height.
    fn blocks_of_chunk(&self, height: u32) -> u32 {
        self.sizes.blocks(height) as u32
    }

    /// Number of a rank's counters, including freed words.
    pub(super) fn len(&self, rank: u32) -> u32 {
        *self.first[rank as usize].last().unwrap_or(&0)
    }

    /// Appends the waits of a tile on rank `rank` to `waits`.
    pub(super) fn wait(
        &self,
        layout: &Layout,
        rank: u32,
        (item, column): (&ItemRows, u32),
        wait: &Wait,
        waits: &mut Vec<simulate::CounterWait>,
    ) {
        if let (Index::OnceTiles, Grid::RowTiles { space, .. }) = (wait.index, self.counters[wait.counter].grid) {
            let first = self.first[rank as usize][wait.counter.0 as usize];
            let height = layout.height(space);
            for &(expert, row) in layout.rows_once(rank, item) {
                let tile = row / height;
                let rows = height.min(layout.expert_rows_once(rank, expert) - tile * height);
                let counter = first + layout.group(space, rank, expert).0 + tile;
                let wait = simulate::CounterWait { counter, need: wait.need.at(rows.into(), 0) as u32 };
                if waits.last() != Some(&wait) {
                    waits.push(wait);
                }
            }
            return;
        }
        let counter = self.number(layout, rank, (item, column), wait.counter, wait.index);
        if self.counters[wait.counter].grid == Grid::Rank && self.whole[wait.counter] {
            let need = wait.need.over(layout.rows_of_experts(rank, item.chunk).map(u64::from)) as u32;
            waits.push(simulate::CounterWait { counter, need });
            return;
        }
        let rows = match self.counters[wait.counter].grid {
            Grid::RowTiles { space, .. } => {
                let height = layout.height(space);
                height.min(layout.expert_rows(rank, item.expert) - item.start / height * height)
            }
            Grid::Experts => layout.expert_rows(rank, item.expert),
            Grid::Blocks { height } => height.min(layout.tokens(rank, item.chunk) - item.start / height * height),
            Grid::Rank => layout.tokens(rank, item.chunk),
        };
        let slots = u64::from(rows) * self.sizes.top_k as u64;
        waits.push(simulate::CounterWait { counter, need: wait.need.at(rows.into(), slots) as u32 });
    }

    /// Appends the signals of a tile on rank `rank` to `signals`.
    pub(super) fn signal(
        &self,
        layout: &Layout,
        rank: u32,
        (item, column): (&ItemRows, u32),
        signal: &Signal,
        signals: &mut Vec<simulate::CounterSignal>,
    ) {
        // No later chunk reuses the memory of the last chunks.
        if self.counters[signal.counter].through && item.chunk + CHUNK_BUFFERS as u32 >= layout.chunks {
            return;
        }
        let to = if signal.remote { item.peer } else { rank };
        if signal.index == Index::PieceBlocks {
            self.blocks(layout, to, item, signal, signals);
            return;
        }
        let amount = match signal.amount {
            Amount::Rows => item.rows,
            Amount::One => 1,
        };
        let counter = self.number(layout, to, (item, column), signal.counter, signal.index);
        signals.push(simulate::CounterSignal { rank: to, counter, amount });
    }

    /// Appends a signal for each token block that rows of a piece belong to.
    fn blocks(
        &self,
        layout: &Layout,
        to: u32,
        item: &ItemRows,
        signal: &Signal,
        signals: &mut Vec<simulate::CounterSignal>,
    ) {
        let Grid::Blocks { height } = self.counters[signal.counter].grid else { return };
        let first = self.first[to as usize][signal.counter.0 as usize];
        let at = layout.pair(item.source, item.owner, item.expert).0;
        let tokens = &self.tokens[item.source as usize][(item.owner * layout.local + item.expert) as usize];
        let rows = &tokens[(item.start - at) as usize..][..item.rows as usize];
        for block in rows.chunk_by(|a, b| a / height == b / height) {
            let counter = first + item.chunk * self.blocks_of_chunk(height) + block[0] / height;
            signals.push(simulate::CounterSignal { rank: to, counter, amount: block.len() as u32 });
        }
    }

    fn number(
        &self,
        layout: &Layout,
        at: u32,
        (item, column): (&ItemRows, u32),
        counter: CounterId,
        index: Index,
    ) -> u32 {
        let grid = self.counters[counter].grid;
        let place = match (grid, index) {
            (Grid::RowTiles { space, columns }, _) => {
                let tile = layout.group(space, at, item.expert).0 + item.start / layout.height(space);
                tile * columns + if index == Index::Tile { column } else { 0 }
            }
            (Grid::Experts, _) => item.expert,
            (Grid::Blocks { height }, _) => item.chunk * self.blocks_of_chunk(height) + item.start / height,
            (Grid::Rank, _) => item.chunk,
        };
        self.first[at as usize][counter.0 as usize] + place
    }
}

/// Number of counters of an array on a rank.
fn len(layout: &Layout, sizes: &Sizes, grid: Grid, rank: u32) -> u32 {
    match grid {
        Grid::RowTiles { space, columns } => layout.items(space, rank) * columns,
        Grid::Experts => layout.local,
        Grid::Blocks { height } => sizes.blocks(height) as u32 * layout.chunks,
        Grid::Rank => layout.chunks,
    }
}
