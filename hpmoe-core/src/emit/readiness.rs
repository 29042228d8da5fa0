//! Waits before a task and signals after it.

use super::context::{Context, number};
use super::cpp::{Expr, Stmt, int, name};
use super::cube::read_ahead;
use super::expects::expects;
use crate::analyze::{Amount, Dependency, Grid, Index, Need, Signal, Wait, Whose};
use crate::graph::{CHUNK_BUFFERS, Height, Phase, RowKind, SpaceKind, TaskGraph};
use crate::ids::{CounterId, Id as _, PhaseId};
use crate::schedule::CoreKind;
use hpmoe_kernels::op::TaskKind;

fn tile(member: &str) -> Expr {
    name("tile").dot(member)
}

fn core(member: &str, arguments: Vec<Expr>) -> Expr {
    name("core").method(member, arguments)
}

/// Gives up the launch if a wait fails: `if (!wait) { return false; }`.
fn or_leave(wait: Expr) -> Stmt {
    Stmt::If(wait.negated(), vec![Stmt::Return(name("false"))])
}

/// The waits of a tile: for its counters and, if it puts to a peer, for the peer's ready word. A put that returns results needs no ready
/// word: the peer sent the rows in this launch, so it has started.
pub(super) fn waits(context: &Context<'_>, id: PhaseId) -> Vec<Stmt> {
    let phase = &context.graph.phases[id];
    let mut all = words(context, id);
    // Of phases that are walked together, the first has waited with the same tile.
    if let Some(first) =
        id.index().checked_sub(1).map(PhaseId::new).filter(|_| context.schedule.phases[id].joins_previous)
    {
        let awaited = words(context, first);
        all.retain(|wait| !awaited.contains(wait));
    }
    all.extend(context.schedule.phases[id].waits.iter().map(|wait| {
        let counter = counter(context, wait.counter);
        if let (Index::OnceTiles, Grid::RowTiles { space, .. }) = (wait.index, context.counters[wait.counter].grid) {
            let height = int(context.graph.spaces[space].height.number());
            let space = name(format!("space::{}", context.space_name(space)));
            return or_leave(core("AwaitTokens", vec![name("tile"), counter, space, height, int(wait.need.per_row)]));
        }
        let arguments = vec![counter, index(context, phase, wait.counter, wait.index), need(context, phase, wait)];
        match read_ahead(context, id) {
            Some(weights) => {
                let there = core("IsThere", arguments.clone());
                let read = name("core").dot("ahead").binary(">", int(0u64));
                let read = read.binary("||", tile("rows").binary("==", int(0u64)));
                Stmt::If(there.negated(), vec![weights, expects(read), or_leave(core("Await", arguments))])
            }
            None => or_leave(core("Await", arguments)),
        }
    }));
    all
}

/// Whether the tiles of a phase wait for the ready word of the rank that they put to.
#[must_use]
pub fn awaits_ready(graph: &TaskGraph, dependencies: &[Dependency], id: PhaseId) -> bool {
    let phase = &graph.phases[id];
    let sends = graph.spaces[phase.space].kind.sends();
    phase.accesses.iter().any(|access| access.remote) && (sends || !needs_a_send(graph, dependencies, id))
}

/// Whether a phase depends, directly or through other phases, on rows sent in the same launch.
fn needs_a_send(graph: &TaskGraph, dependencies: &[Dependency], id: PhaseId) -> bool {
    dependencies.iter().filter(|dependency| dependency.after == id).any(|dependency| {
        let kind = graph.spaces[graph.phases[dependency.before].space].kind;
        kind.sends() || dependency.before < id && needs_a_send(graph, dependencies, dependency.before)
    })
}

/// The waits of a tile for a peer's ready word and for a rank's freed word.
fn words(context: &Context<'_>, id: PhaseId) -> Vec<Stmt> {
    let mut all = Vec::new();
    if awaits_ready(context.graph, context.dependencies, id) {
        all.push(or_leave(core("AwaitReady", vec![tile("peer")])));
    }
    if let Some(whose) = context.reuse.and_then(|reuse| reuse.waits[id]) {
        let rank = if whose == Whose::Peer { tile("peer") } else { name("core").dot("launch").dot("rank") };
        all.push(or_leave(core("AwaitFreed", vec![rank, tile("chunk")])));
    }
    all
}

/// The signals that follow a tile, after one fence. A put that sends (token, k) needs a fence even if no phase waits for its rows, because
/// the buffer of (token, k) is reused.
pub(super) fn signals(context: &Context<'_>, id: PhaseId) -> Vec<Stmt> {
    let (graph, schedule) = (context.graph, context.schedule);
    let signals: Vec<&Signal> = schedule.signals_after(graph, id).collect();
    let sends_origins = |id: PhaseId| graph.phases[id].origins.is_some_and(|origins| origins.write);
    if signals.is_empty() && !schedule.fenced_with(graph, id).any(sends_origins) {
        return Vec::new();
    }
    let phase = &graph.phases[id];
    let put = graph.tasks[phase.task].kind == TaskKind::Put;
    // A signal that a tile has finished reading promises nothing about what it wrote.
    let promises = signals.iter().any(|signal| !context.counters[signal.counter].through);
    let fence = if put { "FencePeer" } else { "Fence" };
    let mut all = Vec::new();
    let fenced = put || promises;
    if fenced {
        all.push(Stmt::Expr(core(fence, Vec::new())));
    }
    all.extend(signals.iter().map(|each| signal(context, (id, phase), each, fenced)));
    all
}

fn signal(context: &Context<'_>, (id, phase): (PhaseId, &Phase), signal: &Signal, fenced: bool) -> Stmt {
    if context.counters[signal.counter].through {
        // Nobody takes the memory of the last chunks.
        let sizes = &context.graph.sizes;
        let taken = match sizes.chunks_at_most {
            Some(_) => {
                let chunks = name("core").dot("launch").dot("chunks");
                (tile("chunk") + int(CHUNK_BUFFERS as u64)).binary("<", chunks)
            }
            None => tile("chunk").binary("<", int((sizes.chunks - CHUNK_BUFFERS) as u64)),
        };
        // A matrix core signals by a pipe that waits for none of those that read.
        let fence = (context.core_kind(id) == CoreKind::Aic && !fenced).then(|| Stmt::Expr(core("Fence", Vec::new())));
        let body = fence.into_iter().chain([made(context, id, phase, signal)]).collect();
        return Stmt::If(taken, body);
    }
    made(context, id, phase, signal)
}

fn made(context: &Context<'_>, id: PhaseId, phase: &Phase, signal: &Signal) -> Stmt {
    let counter = counter(context, signal.counter);
    if signal.index == Index::PieceBlocks {
        let Grid::Blocks { height } = context.counters[signal.counter].grid else {
            unreachable!("only blocks of tokens have counters by piece")
        };
        let slots = u64::from(height) * context.graph.sizes.top_k as u64;
        let first = first_block(context, height);
        return Stmt::call("SignalBlocks", vec![name("core"), name("tile"), counter, first, int(slots)]);
    }
    let index = index(context, phase, signal.counter, signal.index);
    let amount = match signal.amount {
        Amount::Rows => tile("rows"),
        Amount::One => int(1u64),
    };
    Stmt::Expr(match (context.core_kind(id), signal.remote) {
        (CoreKind::Aic, _) => core("Signal", vec![counter, index]),
        (CoreKind::Aiv, false) => core("Signal", vec![counter, index, amount]),
        (CoreKind::Aiv, true) => core("SignalPeer", vec![tile("peer"), counter, index, amount]),
    })
}

fn counter(context: &Context<'_>, counter: CounterId) -> Expr {
    name(format!("counter::{}", context.used_counters.name(counter)))
}

/// The number, within its array, of the counter that a tile signals or waits for.
fn index(context: &Context<'_>, phase: &Phase, counter: CounterId, index: Index) -> Expr {
    match index {
        Index::RowTile => row_tile(context, phase, counter),
        Index::Tile => {
            let columns = match context.counters[counter].grid {
                Grid::RowTiles { columns, .. } => columns,
                _ => 1,
            };
            row_tile(context, phase, counter) * int(columns) + tile("column")
        }
        Index::Expert => tile("expert"),
        Index::Block | Index::PieceBlocks => match context.counters[counter].grid {
            Grid::Blocks { height } if context.graph.sizes.cuts() => {
                first_block(context, height) + tile("first") / int(height)
            }
            Grid::Blocks { height } if Height::Rows(height) != context.graph.spaces[phase.space].height => {
                tile("first") / int(height)
            }
            _ => tile("number"),
        },
        Index::Rank => chunk(context),
        Index::OnceTiles => unreachable!("an item waits for more than one counter of once-sent row tiles"),
    }
}

/// The chunk of a tile.
fn chunk(context: &Context<'_>) -> Expr {
    if context.graph.sizes.cuts() { tile("chunk") } else { int(0u64) }
}

/// The number of the counter for the first block of the tile's chunk. Each chunk has equally many block counters on every rank.
fn first_block(context: &Context<'_>, height: u32) -> Expr {
    chunk(context) * int((context.graph.sizes.chunk_stride() as u64).div_ceil(u64::from(height)))
}

/// The row tile of the counter's grid that holds the tile's rows: its own, or one to be looked up.
fn row_tile(context: &Context<'_>, phase: &Phase, counter: CounterId) -> Expr {
    let Some(space) = context.looked_up(phase, counter, Index::RowTile) else { return tile("number") };
    let named = name(format!("space::{}", context.space_name(space)));
    let first = match context.graph.spaces[phase.space].kind {
        SpaceKind::Sends | SpaceKind::SendsOnce => core("FirstTileAt", vec![named, tile("peer"), tile("expert")]),
        _ => core("FirstTile", vec![named, tile("expert")]),
    };
    first + tile("at") / int(context.graph.spaces[space].height.number())
}

/// The threshold of a wait: the sum of all that producers add to the counter.
fn need(context: &Context<'_>, phase: &Phase, wait: &Wait) -> Expr {
    let Need { fixed, per_row, per_slot, pieces } = &wait.need;
    let rows = || rows(context, phase, wait.counter);
    let mut total = int(*fixed);
    if *per_row > 0 {
        total = total + rows() * int(*per_row);
    }
    if *per_slot > 0 {
        total = total + slots(context, phase, wait.counter) * int(*per_slot);
    }
    for &(height, count) in pieces {
        let started = match context.counters[wait.counter].grid {
            // One piece holds all rows that the counter stands for.
            Grid::RowTiles { space, .. } if height >= context.graph.spaces[space].height => int(1u64),
            // The rows that a rank receives are cut into tiles separately for each expert.
            Grid::Rank => match context.row_tiles(wait.counter, height) {
                Some(space) => {
                    core("RowTiles", vec![name(format!("space::{}", context.space_name(space))), chunk(context)])
                }
                None => divided(rows(), height),
            },
            _ => divided(rows(), height),
        };
        total = total + started * int(count);
    }
    total
}

fn divided(rows: Expr, height: Height) -> Expr {
    name("CeilDiv").call(vec![rows, int(height.number())])
}

/// The rows that a counter stands for, or its tokens if it stands for tokens.
fn rows(context: &Context<'_>, phase: &Phase, counter: CounterId) -> Expr {
    let space = &context.graph.spaces[phase.space];
    let array = &context.counters[counter];
    match array.grid {
        Grid::RowTiles { space: tiles, .. } if tiles == phase.space => tile("rows"),
        Grid::RowTiles { space: tiles, .. } => {
            let height = context.graph.spaces[tiles].height.number();
            core("TileRows", vec![tile("expert"), tile("at"), int(height)])
        }
        Grid::Experts => core("ExpertRows", vec![tile("expert")]),
        Grid::Blocks { height } if Height::Rows(height) == space.height => tile("rows"),
        Grid::Blocks { height } => core("BlockTokens", vec![chunk(context), tile("first") / int(height), int(height)]),
        Grid::Rank => match context.graph.tensors[array.tensor].rows {
            RowKind::Received => core("ReceivedRows", vec![chunk(context)]),
            _ => core("ChunkTokens", vec![chunk(context)]),
        },
    }
}

/// The non-empty slots of the tokens that a counter stands for.
fn slots(context: &Context<'_>, phase: &Phase, counter: CounterId) -> Expr {
    let top_k = int(context.graph.sizes.top_k as u64);
    let first = match context.counters[counter].grid {
        Grid::Blocks { height } if Height::Rows(height) == context.graph.spaces[phase.space].height => tile("first"),
        Grid::Blocks { height } => tile("first") / int(height) * int(height),
        _ => return core("SlotsSent", vec![chunk(context), top_k]),
    };
    core("FullSlots", vec![chunk(context), first, rows(context, phase, counter), top_k])
}

/// The counter arrays to declare: name, number and meaning of each.
pub(super) fn numbered(context: &Context<'_>) -> Vec<(String, u64, String)> {
    let described = |(place, (id, name)): (usize, (CounterId, &str))| {
        let meaning = super::context::UsedCounters::meaning(context.graph, &context.counters[id]);
        (name.to_owned(), place as u64, meaning)
    };
    context.used_counters.iter().enumerate().map(described).collect()
}

/// The row-tile spaces to declare because the dispatch looks them up: name and number of each.
pub(super) fn looked_up(context: &Context<'_>) -> Vec<(String, u64)> {
    context.looked_up_spaces().iter().map(|space| (context.space_name(space), number(space))).collect()
}
