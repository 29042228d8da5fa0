//! The tiles of an entry: their rows, and the core that makes each of them.

use super::RoutedSlots;
use crate::analyze::CheckedGraph;
use crate::graph::{CHUNK_BUFFERS, Height, SpaceKind, TaskGraph};
use crate::ids::{PhaseId, SpaceId};
use crate::schedule::{Entry, Schedule, Swizzle};
use hpmoe_kernels::route::{PairTurns, PieceTurns, arrival_order};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// An item of a space, with its rows or tokens in one routing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PlacedItem {
    /// The rank that runs it.
    pub(super) rank: usize,
    /// For sends and arrivals, the peer; otherwise the rank itself.
    pub(super) peer: usize,
    /// The rank that received the rows, and the number of the expert there.
    pub(super) owner: usize,
    pub(super) expert: usize,
    /// Range of the expert's rows.
    pub(super) rows: Range<usize>,
    /// The first of these rows, counted among all rows of the owner.
    pub(super) first: usize,
    /// The rank that the rows' tokens belong to, and their slots there.
    pub(super) source: usize,
    pub(super) slots: Vec<usize>,
    /// For blocks, their tokens, counted from the first token of the chunk.
    pub(super) tokens: Range<usize>,
    pub(super) chunk: usize,
}

/// A tile of a phase: an item and a column.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PhaseTile {
    pub(super) phase: PhaseId,
    pub(super) item: PlacedItem,
    /// The column: an index over all constant ranges of the phase, the outermost first.
    pub(super) column: usize,
}

/// The items of all spaces that phases run over, for one routing.
pub(super) struct Items {
    /// For each rank, the groups of each space.
    by_rank: Vec<HashMap<SpaceId, Vec<Vec<PlacedItem>>>>,
}

impl Items {
    pub(super) fn new(graph: &TaskGraph, routing: &RoutedSlots) -> Self {
        let spaces: BTreeSet<SpaceId> = graph.phases.iter().map(|(_, phase)| phase.space).collect();
        let of_rank = |rank| spaces.iter().map(|&space| (space, groups(graph, routing, space, rank))).collect();
        Self { by_rank: (0..routing.ranks).map(of_rank).collect() }
    }

    fn groups(&self, space: SpaceId, rank: usize) -> &[Vec<PlacedItem>] {
        self.by_rank[rank].get(&space).expect("a phase runs over the space")
    }
}

/// A tile, with the number of the turn in which a core makes it; 0 without turns.
pub(super) type TurnTile = (usize, PhaseTile);

/// The tiles of an entry on a rank that one core makes, in order. `orders` is the result of [`orders`].
pub(super) fn tiles_of_core(
    checked: &CheckedGraph,
    schedule: &Schedule,
    (routing, items, orders): (&RoutedSlots, &Items, &[Vec<usize>]),
    rank: usize,
    entry: Entry,
    (core, cores): (usize, usize),
) -> Vec<TurnTile> {
    let graph = checked.graph();
    let phase = &graph.phases[entry.phase];
    let columns = phase.columns() as usize;
    let all = items.groups(phase.space, rank);
    let number = number(graph, orders, entry, rank);
    let space = graph.spaces[phase.space];
    let before = if space.height == Height::WholeExpert && routing.chunks > 1 {
        // The same core adds to an expert's matrix in each chunk, whichever experts have rows.
        number % (routing.local / routing.chunks)
    } else {
        counted_before(all, number, space.kind, (rank, orders))
    };
    let own = &all[number];
    let outer = graph.column_rows(entry.phase) as usize;
    let (rows, wide) = ((own.len() * outer) as u64, (columns / outer) as u64);
    let swizzle = Swizzle { items: rows, columns: wide, band: schedule.phases[entry.phase].band.into() };
    let start: usize = schedule.phases[entry.phase]
        .preceding
        .iter()
        .map(|&(space, columns)| items.groups(space, rank).iter().map(Vec::len).sum::<usize>() * columns as usize)
        .sum();
    // The deal moves on by `rotation` cores per round.
    let rotation = schedule.phases[entry.phase].rotation as usize;
    let dealt = |number: usize| (number % cores + number / cores * rotation) % cores;
    let mine = (0..swizzle.tiles()).filter(|&tile| dealt(start + before * columns + tile as usize) == core);
    let walk = walk(graph, schedule, routing, (rank, orders), entry);
    let turns = piece_turns(graph, schedule, routing, entry.phase, own);
    let tile = |number| {
        let (place, column) = swizzle.place(number);
        let walked = place as usize / outer;
        let item = turns.map_or_else(|| walk(walked, own.len()), |turns| turns.piece(walked));
        let column = place as usize % outer * wide as usize + column as usize;
        let turn = turns.map_or(0, |turns| turns.of_place(number as usize / columns));
        (turn, PhaseTile { phase: entry.phase, item: own[item].clone(), column })
    };
    mine.map(tile).collect()
}

/// The turns of a pair's pieces; `None` if peers don't take turns.
fn piece_turns(
    graph: &TaskGraph,
    schedule: &Schedule,
    routing: &RoutedSlots,
    phase: PhaseId,
    pieces: &[PlacedItem],
) -> Option<PieceTurns> {
    let turn = schedule.order(routing.ranks as u32)?.turn(graph, phase)?;
    let rows = pieces.first().map_or(0, |piece| piece.rows.start)..pieces.last().map_or(0, |piece| piece.rows.end);
    let height = graph.spaces[graph.phases[phase].space].height.number() as usize;
    Some(PairTurns::new(rows, turn as usize).of_pieces(height))
}

/// The item at a position of the walk over `items` items. Row tiles are walked in arrival order, or starting with the first one that begins
/// with the rank's own rows.
fn walk(
    graph: &TaskGraph,
    schedule: &Schedule,
    routing: &RoutedSlots,
    (rank, orders): (usize, &[Vec<usize>]),
    entry: Entry,
) -> Box<dyn Fn(usize, usize) -> usize> {
    let space = graph.spaces[graph.phases[entry.phase].space];
    if space.kind != SpaceKind::RowTiles {
        return Box::new(|place, _| place);
    }
    let expert = rank * routing.local + orders[rank][entry.expert as usize];
    let order = schedule.order(routing.ranks as u32);
    if let Some(turn) = order.and_then(|order| schedule.arrival_turn(order, entry.phase)) {
        let rows: Vec<usize> = (0..routing.ranks).map(|source| routing.slots[source][expert].len()).collect();
        let tiles = arrival_order(&rows, rank, space.height.number() as usize, turn as usize);
        return Box::new(move |place, _| tiles[place]);
    }
    let own = routing.at(rank, expert).div_ceil(space.height.number() as usize);
    Box::new(move |place, items| (place + own) % items)
}

/// The experts of each rank, in the order in which the rank works on them.
pub(super) fn orders(schedule: &Schedule, routing: &RoutedSlots) -> Vec<Vec<usize>> {
    let of_rank = |rank: usize| {
        let experts = rank * routing.local..(rank + 1) * routing.local;
        let rows: Vec<usize> = experts.map(|expert| routing.expert_rows(expert)).collect();
        schedule.expert_orders.on(routing.ranks as u32).of(&rows, routing.chunks)
    };
    (0..routing.ranks).map(of_rank).collect()
}

/// Number of items of a space before a group. Groups are ordered by expert, in the order of queues, and then by peer.
fn counted_before(
    groups: &[Vec<PlacedItem>],
    number: usize,
    kind: SpaceKind,
    (rank, orders): (usize, &[Vec<usize>]),
) -> usize {
    let local = orders[rank].len();
    let at = |owner: usize, expert: usize| orders[owner].iter().position(|&other| other == expert);
    let place = |group: usize| match kind {
        SpaceKind::Sends | SpaceKind::SendsOnce => (at(group / local, group % local), group / local),
        SpaceKind::Arrivals => (at(rank, group % local), group / local),
        SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => (at(rank, group), 0),
        SpaceKind::Blocks | SpaceKind::Chunks => (Some(group), 0),
    };
    // One core writes all words of a rank.
    let counts = kind != SpaceKind::Chunks;
    let before = (0..groups.len()).filter(|&group| counts && place(group) < place(number));
    before.map(|group| groups[group].len()).sum()
}

/// All tiles of a phase on a rank in a chunk, group by group.
pub(super) fn tiles_of_phase(
    graph: &TaskGraph,
    routing: &RoutedSlots,
    phase: PhaseId,
    rank: usize,
    chunk: usize,
) -> Vec<PhaseTile> {
    let columns = graph.phases[phase].columns() as usize;
    let items = groups(graph, routing, graph.phases[phase].space, rank)
        .into_iter()
        .flatten()
        .filter(|item| item.chunk == chunk);
    items.flat_map(|item| (0..columns).map(move |column| PhaseTile { phase, item: item.clone(), column })).collect()
}

/// The items of a space on a rank, for each group. Groups are local experts, pairs (by peer, then by expert), or chunks.
fn groups(graph: &TaskGraph, routing: &RoutedSlots, space: SpaceId, rank: usize) -> Vec<Vec<PlacedItem>> {
    let space = graph.spaces[space];
    let height = space.height.number() as usize;
    let pairs = (0..routing.ranks).flat_map(|peer| (0..routing.local).map(move |expert| (peer, expert)));
    match space.kind {
        SpaceKind::RowTiles => (0..routing.local).map(|expert| row_tiles(routing, rank, expert, height)).collect(),
        SpaceKind::OnceTiles => unreachable!("no phase runs over row tiles of once-sent rows, which only counters use"),
        SpaceKind::Experts => (0..routing.local).map(|expert| vec![whole(routing, rank, expert)]).collect(),
        SpaceKind::Sends => pairs.map(|(owner, expert)| pieces(routing, rank, (rank, owner, expert), height)).collect(),
        SpaceKind::SendsOnce => {
            pairs.map(|(owner, expert)| pieces_once(routing, (rank, owner, expert), height)).collect()
        }
        SpaceKind::Arrivals => {
            pairs.map(|(source, expert)| pieces(routing, rank, (source, rank, expert), height)).collect()
        }
        SpaceKind::Blocks => (0..routing.chunks).map(|chunk| blocks(routing, rank, chunk, height)).collect(),
        SpaceKind::Chunks => (0..routing.chunks).map(|chunk| word(routing, rank, chunk)).collect(),
    }
}

fn number(graph: &TaskGraph, orders: &[Vec<usize>], entry: Entry, rank: usize) -> usize {
    let (ranks, place) = (orders.len(), entry.expert as usize);
    let peer = (rank + entry.peer_offset as usize) % ranks;
    match graph.spaces[graph.phases[entry.phase].space].kind {
        SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => orders[rank][place],
        SpaceKind::Sends | SpaceKind::SendsOnce => peer * orders[peer].len() + orders[peer][place],
        SpaceKind::Arrivals => peer * orders[rank].len() + orders[rank][place],
        SpaceKind::Blocks | SpaceKind::Chunks => place,
    }
}

fn row_tiles(routing: &RoutedSlots, rank: usize, expert: usize, height: usize) -> Vec<PlacedItem> {
    let rows = routing.expert_rows(rank * routing.local + expert);
    let cut = (0..rows.div_ceil(height)).map(|tile| tile * height..rows.min((tile + 1) * height));
    cut.map(|rows| of_expert(routing, rank, expert, rows)).collect()
}

/// An item with all rows of an expert, even if there are none.
fn whole(routing: &RoutedSlots, rank: usize, expert: usize) -> PlacedItem {
    of_expert(routing, rank, expert, 0..routing.expert_rows(rank * routing.local + expert))
}

fn of_expert(routing: &RoutedSlots, rank: usize, expert: usize, rows: Range<usize>) -> PlacedItem {
    PlacedItem {
        rank,
        peer: rank,
        owner: rank,
        expert,
        first: routing.base(rank * routing.local + expert) + rows.start,
        rows,
        source: rank,
        slots: Vec::new(),
        tokens: 0..0,
        chunk: routing.chunk(expert),
    }
}

/// Pieces of a source's rows for an owner's expert, cut at the expert's row tiles.
fn pieces(routing: &RoutedSlots, rank: usize, pair: (usize, usize, usize), height: usize) -> Vec<PlacedItem> {
    let (source, owner, expert) = pair;
    let of_group = owner * routing.local + expert;
    let (at, base) = (routing.at(source, of_group), routing.base(of_group));
    cut(routing, (rank, source, owner, expert), &routing.slots[source][of_group], (at, base), height)
}

/// Pieces of the once-sent rows of a source that an owner stores under an expert, cut at the tiles of such rows.
fn pieces_once(
    routing: &RoutedSlots,
    (source, owner, expert): (usize, usize, usize),
    height: usize,
) -> Vec<PlacedItem> {
    let of_group = owner * routing.local + expert;
    let at = (0..source).map(|before| routing.once(before, of_group).len()).sum();
    let base = (owner * routing.local..of_group).map(|before| routing.expert_rows_once(before)).sum();
    cut(routing, (source, source, owner, expert), &routing.once(source, of_group), (at, base), height)
}

/// Pieces of consecutive slots. The first is row `at` of the expert, whose rows start at row `base` of the owner.
fn cut(
    routing: &RoutedSlots,
    (rank, source, owner, expert): (usize, usize, usize, usize),
    slots: &[usize],
    (at, base): (usize, usize),
    height: usize,
) -> Vec<PlacedItem> {
    let mut items = Vec::new();
    let mut done = 0;
    while done < slots.len() {
        let start = at + done;
        let end = (at + slots.len()).min((start / height + 1) * height);
        items.push(PlacedItem {
            rank,
            peer: if rank == source { owner } else { source },
            owner,
            expert,
            rows: start..end,
            first: base + start,
            source,
            slots: slots[done..end - at].to_vec(),
            tokens: 0..0,
            chunk: routing.chunk(expert),
        });
        done = end - at;
    }
    items
}

fn blocks(routing: &RoutedSlots, rank: usize, chunk: usize, height: usize) -> Vec<PlacedItem> {
    let tokens = routing.tokens(rank, chunk);
    let cut = (0..tokens.div_ceil(height)).map(|block| block * height..tokens.min((block + 1) * height));
    cut.map(|tokens| of_tokens(rank, chunk, tokens)).collect()
}

/// The one item of a chunk whose memory a later chunk reuses; empty for other chunks.
fn word(routing: &RoutedSlots, rank: usize, chunk: usize) -> Vec<PlacedItem> {
    let taken = chunk + CHUNK_BUFFERS < routing.chunks;
    if taken { vec![of_tokens(rank, chunk, 0..0)] } else { Vec::new() }
}

fn of_tokens(rank: usize, chunk: usize, tokens: Range<usize>) -> PlacedItem {
    PlacedItem {
        rank,
        peer: rank,
        owner: rank,
        expert: 0,
        rows: 0..0,
        first: 0,
        source: rank,
        slots: Vec::new(),
        tokens,
        chunk,
    }
}
