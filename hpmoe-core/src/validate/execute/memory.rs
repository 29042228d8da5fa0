//! The version of each cell of memory that a tile reads or overwrites.

use super::routing::HALF;
use super::{PhaseTile, RoutedSlots, groups};
use crate::divisor::gcd;
use crate::graph::{CHUNK_BUFFERS, Columns, Phase, RowKind, Rows, TaskGraph};
use crate::ids::{Id, TensorId};
use std::collections::{BTreeSet, HashMap};

/// A cell: a part of a row that no tile cuts, given by tensor, rank, row, and the part's first column.
type Cell = (TensorId, usize, usize, usize);

/// The versions of cells that a tile met when phases ran one after another.
#[derive(Clone, Default, Debug)]
pub(super) struct Met {
    /// Number of each cell that the tile reads, and its version.
    reads: Vec<(usize, u64)>,
    /// Number of each cell that the tile writes, its version before that, and the number of tiles that read that
    /// version.
    writes: Vec<(usize, u64, u64)>,
    /// The version that the tile writes.
    version: u64,
}

/// The state of a cell while tiles run.
#[derive(Clone, Default)]
struct CellState {
    version: u64,
    /// Number of tiles that have finished reading that version.
    reads: u64,
    /// Number of tiles that are reading it.
    readers: u64,
    writing: bool,
}

/// The version of each cell that some phase writes, while tiles run.
#[derive(Clone, Default)]
pub(super) struct Versions {
    numbers: HashMap<Cell, usize>,
    cells: Vec<CellState>,
}

impl Versions {
    /// Runs the phases one after another. Returns the versions that each tile met, by phase, rank and tile in the order
    /// of [`tiles_of_phase`](groups::tiles_of_phase). Then resets all versions, but keeps the numbers of cells.
    pub(super) fn reference(graph: &TaskGraph, routing: &RoutedSlots) -> (Self, Vec<(PhaseTile, Met)>) {
        let mut versions = Self::default();
        let mut met = Vec::new();
        let cuts = Cuts::new(graph);
        let written = written(graph);
        let chunks = (0..routing.chunks).flat_map(|chunk| graph.phases.ids().map(move |phase| (chunk, phase)));
        for (chunk, phase) in chunks {
            for rank in 0..routing.ranks {
                for tile in groups::tiles_of_phase(graph, routing, phase, rank, chunk) {
                    let version = met.len() as u64 + 1;
                    let touched = touched_cells(graph, routing, &written, &cuts, &tile);
                    let seen = versions.once(touched, version);
                    met.push((tile, seen));
                }
            }
        }
        versions.cells.fill(CellState::default());
        versions.numbers = HashMap::new();
        (versions, met)
    }

    fn once(&mut self, touched: Vec<(Cell, bool)>, version: u64) -> Met {
        let mut met = Met { version, ..Met::default() };
        for (cell, write) in touched {
            let next = self.numbers.len();
            let number = *self.numbers.entry(cell).or_insert(next);
            self.cells.resize(self.numbers.len(), CellState::default());
            let cell = &self.cells[number];
            if write {
                met.writes.push((number, cell.version, cell.reads));
            } else {
                met.reads.push((number, cell.version));
            }
        }
        self.begin(&met).expect("the order of phases is right by definition");
        self.end(&met);
        met
    }

    /// Starts a tile; an error if it meets different versions than when phases ran one after another.
    pub(super) fn begin(&mut self, met: &Met) -> Result<(), ()> {
        for &(number, version, reads) in &met.writes {
            let cell = &mut self.cells[number];
            if cell.version != version || cell.reads != reads || cell.readers > 0 || cell.writing {
                return Err(());
            }
        }
        for &(number, version) in &met.reads {
            let cell = &mut self.cells[number];
            if cell.version != version || cell.writing {
                return Err(());
            }
            cell.readers += 1;
        }
        for &(number, ..) in &met.writes {
            self.cells[number].writing = true;
        }
        Ok(())
    }

    /// Ends a tile and publishes its writes.
    pub(super) fn end(&mut self, met: &Met) {
        for &(number, _) in &met.reads {
            self.cells[number].readers -= 1;
            self.cells[number].reads += 1;
        }
        for &(number, ..) in &met.writes {
            self.cells[number] = CellState { version: met.version, ..CellState::default() };
        }
    }
}

/// The boundaries of tiles in tensors. Columns between two boundaries are touched together or not at all: they form one
/// cell of a row.
struct Cuts {
    /// For each tensor, the first column of each cell, then the end of the last one.
    columns: Vec<Vec<usize>>,
    /// For each tensor, a number of rows of an expert's matrix that divides every tile of the matrix.
    matrix_rows: Vec<usize>,
}

impl Cuts {
    fn new(graph: &TaskGraph) -> Self {
        let mut cuts = Self { columns: Vec::new(), matrix_rows: Vec::new() };
        for (id, tensor) in graph.tensors.iter() {
            let accesses =
                || graph.phases.iter().flat_map(|(_, phase)| &phase.accesses).filter(|access| access.tensor == id);
            let mut columns = BTreeSet::from([0, tensor.columns as usize]);
            for access in accesses() {
                if let Columns::Tile { width, .. } = access.region.columns {
                    columns.extend((0..tensor.columns as usize).step_by(width as usize));
                }
            }
            cuts.columns.push(columns.into_iter().collect());
            let rows = accesses().filter_map(|access| match (access.region.rows, tensor.rows) {
                (Rows::Expert { height, outer, .. }, RowKind::Expert(rows)) => {
                    Some([rows, outer.first, outer.rows].into_iter().fold(height, gcd))
                }
                _ => None,
            });
            cuts.matrix_rows.push((rows.fold(0, gcd) as usize).max(1));
        }
        cuts
    }

    /// The first columns of a row's cells from one column to another.
    fn cells(&self, tensor: TensorId, from: usize, to: usize) -> impl Iterator<Item = usize> {
        self.columns[tensor.index()].iter().copied().filter(move |&column| (from..to).contains(&column))
    }
}

fn written(graph: &TaskGraph) -> BTreeSet<TensorId> {
    let phases = || graph.phases.iter().map(|(_, phase)| phase);
    let arguments = phases().flat_map(|phase| &phase.accesses).filter(|access| access.write).map(|a| a.tensor);
    let origins = phases().filter_map(|phase| phase.origins).filter(|origins| origins.write).map(|o| o.tensor);
    arguments.chain(origins).collect()
}

/// The cells of written tensors that a tile touches, and whether it writes them.
fn touched_cells(
    graph: &TaskGraph,
    routing: &RoutedSlots,
    written: &BTreeSet<TensorId>,
    cuts: &Cuts,
    tile: &PhaseTile,
) -> Vec<(Cell, bool)> {
    let phase = &graph.phases[tile.phase];
    let mut touched = Vec::new();
    for access in phase.accesses.iter().filter(|access| written.contains(&access.tensor)) {
        let (rank, rows): (usize, Vec<usize>) = match (access.region.rows, graph.tensors[access.tensor].rows) {
            (Rows::Expert { range, index, height, outer }, RowKind::Expert(rows)) => {
                let index = index as usize + range.map_or(0, |range| coordinate(phase, tile.column, range as usize));
                let (height, most) = (height as usize, outer.rows as usize);
                let own = routing.local / routing.chunks;
                let first = tile.item.expert % own * rows as usize + outer.first as usize;
                let rows = first + index * height..first + most.min((index + 1) * height);
                (tile.item.rank, rows.step_by(cuts.matrix_rows[access.tensor.index()]).collect())
            }
            (Rows::Once, _) => (tile.item.rank, rows_once(routing, tile)),
            (rows_of, _) => {
                let (rank, rows) = rows(graph, tile, rows_of);
                let first = first(graph, routing, access.tensor, (rank, tile.item.chunk), rows_of);
                (rank, rows.into_iter().map(|row| first + row).collect())
            }
        };
        assert_eq!(rank, if access.remote { tile.item.peer } else { tile.item.rank });
        let columns = graph.tensors[access.tensor].columns as usize;
        let (from, to) = match access.region.columns {
            Columns::All => (0, columns),
            Columns::Tile { range, index, width } => {
                let index = index as usize + range.map_or(0, |range| coordinate(phase, tile.column, range as usize));
                let width = width as usize;
                ((index * width).min(columns), ((index + 1) * width).min(columns))
            }
        };
        for row in rows {
            let cells = cuts.cells(access.tensor, from, to);
            touched.extend(cells.map(|column| ((access.tensor, rank, row, column), access.write)));
        }
    }
    if let Some(origins) = phase.origins {
        let (rank, rows) = rows(graph, tile, Rows::Piece);
        touched.extend(rows.into_iter().map(|row| ((origins.tensor, rank, row, 0), origins.write)));
    }
    touched
}

/// The step of one of a phase's ranges in which a column is computed. Columns are numbered with the first range outermost.
fn coordinate(phase: &Phase, column: usize, range: usize) -> usize {
    let inner: usize = phase.ranges[range + 1..].iter().map(|&range| range as usize).product();
    column / inner % phase.ranges[range] as usize
}

/// The once-sent rows of a row tile's tokens, on the tile's rank.
fn rows_once(routing: &RoutedSlots, tile: &PhaseTile) -> Vec<usize> {
    let item = &tile.item;
    let once = routing.tokens_once(item.rank);
    let tokens = routing.tokens_of_expert(item.rank * routing.local + item.expert);
    let row = |token| once.iter().position(|other| other == token).expect("a token that is received is sent");
    tokens[item.rows.clone()].iter().map(row).collect()
}

/// The row of a tensor for a chunk's first token or slot. The kernel's own tensors hold two chunks.
fn first(
    graph: &TaskGraph,
    routing: &RoutedSlots,
    tensor: TensorId,
    (rank, chunk): (usize, usize),
    rows: Rows,
) -> usize {
    let by_slot = graph.tensors[tensor].rows == RowKind::Slot;
    match rows {
        Rows::Tile | Rows::Group | Rows::Piece | Rows::Once | Rows::Expert { .. } => 0,
        _ if !graph.tensors[tensor].storage.is_argument() => chunk % CHUNK_BUFFERS * HALF,
        _ => routing.first_token(rank, chunk) * if by_slot { graph.sizes.top_k } else { 1 },
    }
}

/// The rank of a region's rows, and the rows there. Rows of tokens and slots are counted from the chunk's first.
fn rows(graph: &TaskGraph, tile: &PhaseTile, rows: Rows) -> (usize, Vec<usize>) {
    let item = &tile.item;
    let top_k = graph.sizes.top_k;
    let received = || (item.first..item.first + item.rows.len()).collect();
    match rows {
        Rows::Tile | Rows::Group => (item.rank, received()),
        Rows::Piece => (item.owner, received()),
        Rows::Gather => (item.source, item.slots.iter().map(|slot| slot / top_k).collect()),
        Rows::Scatter => (item.source, item.slots.clone()),
        Rows::Block => (item.rank, item.tokens.clone().collect()),
        Rows::BlockSlots => (item.rank, (item.tokens.start * top_k..item.tokens.end * top_k).collect()),
        Rows::Once | Rows::Expert { .. } => unreachable!("these rows depend on more than the item"),
    }
}
