//! Which version of each element a tile meets.

use super::routing::HALF;
use super::{Routing, Tile, groups};
use hpmoe_language::graph::{CHUNK_BUFFERS, Columns, Phase, RowKind, Rows, TaskGraph};
use hpmoe_language::ids::TensorId;
use std::collections::{BTreeSet, HashMap};

/// (tensor, rank, row, unit of columns).
type Place = (TensorId, usize, usize, usize);

/// What a tile met when phases ran one after the other.
#[derive(Clone, Default, Debug)]
pub(super) struct Met {
    /// Element and its version.
    reads: Vec<(usize, u64)>,
    /// Element, its version before, and how often that was read.
    writes: Vec<(usize, u64, u64)>,
    /// The version that it writes.
    version: u64,
}

#[derive(Clone, Default)]
struct Element {
    version: u64,
    /// Reads of that version that are over.
    reads: u64,
    readers: u64,
    writing: bool,
}

/// All elements that some phase writes.
#[derive(Default)]
pub(super) struct Memory {
    numbers: HashMap<Place, usize>,
    elements: Vec<Element>,
}

impl Memory {
    /// Runs phase after phase and gives what each tile met, by phase, rank and tile as
    /// [`tiles_of_phase`](groups::tiles_of_phase) has them. Then everything is as at the beginning.
    pub(super) fn reference(graph: &TaskGraph, routing: &Routing) -> (Self, Vec<(Tile, Met)>) {
        let mut memory = Self::default();
        let mut met = Vec::new();
        let unit = unit(graph);
        let written = written(graph);
        let chunks = (0..routing.chunks).flat_map(|chunk| graph.phases.ids().map(move |phase| (chunk, phase)));
        for (chunk, phase) in chunks {
            for rank in 0..routing.ranks {
                for tile in groups::tiles_of_phase(graph, routing, phase, rank, chunk) {
                    let version = met.len() as u64 + 1;
                    let touched = places(graph, routing, &written, unit, &tile);
                    let seen = memory.once(touched, version);
                    met.push((tile, seen));
                }
            }
        }
        memory.elements.fill(Element::default());
        (memory, met)
    }

    fn once(&mut self, touched: Vec<(Place, bool)>, version: u64) -> Met {
        let mut met = Met { version, ..Met::default() };
        for (place, write) in touched {
            let next = self.numbers.len();
            let number = *self.numbers.entry(place).or_insert(next);
            self.elements.resize(self.numbers.len(), Element::default());
            let element = &self.elements[number];
            if write {
                met.writes.push((number, element.version, element.reads));
            } else {
                met.reads.push((number, element.version));
            }
        }
        self.begin(&met).expect("the order of phases is right by definition");
        self.end(&met);
        met
    }

    /// A tile begins; an error where it meets something else than in the order of phases.
    pub(super) fn begin(&mut self, met: &Met) -> Result<(), ()> {
        for &(number, version, reads) in &met.writes {
            let element = &mut self.elements[number];
            if element.version != version || element.reads != reads || element.readers > 0 || element.writing {
                return Err(());
            }
        }
        for &(number, version) in &met.reads {
            let element = &mut self.elements[number];
            if element.version != version || element.writing {
                return Err(());
            }
            element.readers += 1;
        }
        for &(number, ..) in &met.writes {
            self.elements[number].writing = true;
        }
        Ok(())
    }

    /// A tile ends.
    pub(super) fn end(&mut self, met: &Met) {
        for &(number, _) in &met.reads {
            self.elements[number].readers -= 1;
            self.elements[number].reads += 1;
        }
        for &(number, ..) in &met.writes {
            self.elements[number] = Element { version: met.version, ..Element::default() };
        }
    }
}

/// Columns that no tile cuts.
fn unit(graph: &TaskGraph) -> usize {
    let widths =
        graph.phases.iter().flat_map(|(_, phase)| &phase.accesses).filter_map(|access| match access.region.columns {
            Columns::Tile { width, .. } => Some(width),
            Columns::All => None,
        });
    let columns = graph.tensors.iter().map(|(_, tensor)| tensor.columns);
    widths.chain(columns.filter(|&columns| columns > 1)).fold(0, gcd) as usize
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn written(graph: &TaskGraph) -> BTreeSet<TensorId> {
    let phases = || graph.phases.iter().map(|(_, phase)| phase);
    let arguments = phases().flat_map(|phase| &phase.accesses).filter(|access| access.write).map(|a| a.tensor);
    let origins = phases().filter_map(|phase| phase.origins).filter(|origins| origins.write).map(|o| o.tensor);
    arguments.chain(origins).collect()
}

/// Elements of written tensors that a tile touches, and whether it writes them.
fn places(
    graph: &TaskGraph,
    routing: &Routing,
    written: &BTreeSet<TensorId>,
    unit: usize,
    tile: &Tile,
) -> Vec<(Place, bool)> {
    let phase = &graph.phases[tile.phase];
    let mut places = Vec::new();
    for access in phase.accesses.iter().filter(|access| written.contains(&access.tensor)) {
        let (rank, rows): (usize, Vec<usize>) = match (access.region.rows, graph.tensors[access.tensor].rows) {
            (Rows::Expert { range, index, height }, RowKind::Expert { rows }) => {
                let index = range.map_or(index as usize, |range| coordinate(phase, tile.column, range as usize));
                let (height, rows) = (height as usize, rows as usize);
                let own = routing.local / routing.chunks;
                let first = tile.item.expert % own * rows;
                (tile.item.rank, (first + index * height..first + rows.min((index + 1) * height)).collect())
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
                let index = range.map_or(index as usize, |range| coordinate(phase, tile.column, range as usize));
                let width = width as usize;
                ((index * width).min(columns), ((index + 1) * width).min(columns))
            }
        };
        for row in rows {
            let units = from / unit..to.div_ceil(unit);
            places.extend(units.map(|unit| ((access.tensor, rank, row, unit), access.write)));
        }
    }
    if let Some(origins) = phase.origins {
        let (rank, rows) = rows(graph, tile, Rows::Piece);
        places.extend(rows.into_iter().map(|row| ((origins.tensor, rank, row, 0), origins.write)));
    }
    places
}

/// The value of one range in a flat column number, outermost range first.
fn coordinate(phase: &Phase, column: usize, range: usize) -> usize {
    let inner: usize = phase.ranges[range + 1..].iter().map(|&range| range as usize).product();
    column / inner % phase.ranges[range] as usize
}

/// The rows of a row tile's tokens among those that are sent once to its rank.
fn rows_once(routing: &Routing, tile: &Tile) -> Vec<usize> {
    let item = &tile.item;
    let once = routing.tokens_once(item.rank);
    let tokens = routing.tokens_of_expert(item.rank * routing.local + item.expert);
    let row = |token| once.iter().position(|other| other == token).expect("a token that is received is sent");
    tokens[item.rows.clone()].iter().map(row).collect()
}

/// The row of a tensor for the first token of a chunk, or its first slot: tensors of the kernel keep two chunks.
fn first(graph: &TaskGraph, routing: &Routing, tensor: TensorId, (rank, chunk): (usize, usize), rows: Rows) -> usize {
    let by_slot = graph.tensors[tensor].rows == RowKind::Slot;
    match rows {
        Rows::Tile | Rows::Group | Rows::Piece | Rows::Once | Rows::Expert { .. } => 0,
        _ if !graph.tensors[tensor].storage.is_argument() => chunk % CHUNK_BUFFERS * HALF,
        _ => routing.first_token(rank, chunk) * if by_slot { graph.sizes.top_k } else { 1 },
    }
}

/// The rank where they lie, and the rows there, counted from those of the chunk where they belong to tokens.
fn rows(graph: &TaskGraph, tile: &Tile, rows: Rows) -> (usize, Vec<usize>) {
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
        Rows::Once | Rows::Expert { .. } => unreachable!("these depend on more than the tile"),
    }
}
