//! The tables of a route on one rank: made by the host, or reserved for a kernel that makes them.

use bytemuck::Zeroable as _;
use hpmoe_kernels::Rank;
use hpmoe_kernels::route::ExpertOrder;

use super::route::sends_once;
use super::spaces::{self, Extents};
use super::{KernelRoute, LaunchRoute, RankSizes, RouteChunks, once, routing};
use crate::KernelTables;
use crate::abi::{
    HPMOE_ARRIVALS, HPMOE_BY_LOAD, HPMOE_BY_NUMBER, HPMOE_EXPERTS, HPMOE_LIGHTEST_FIRST, HPMOE_MIXED, HPMOE_ONCE_TILES,
    HPMOE_ROW_TILES, HPMOE_SENDS, HPMOE_SENDS_ONCE, HpmoeExpert, HpmoePair, HpmoeRouting,
};
use crate::tables::{RouteTable, SpaceTable};

/// Value of the words of a table that the kernel has yet to make. It is not a valid index.
pub(crate) const UNMADE: i32 = i32::from_ne_bytes([0x5a; 4]);

/// The tables of a space: extents, the arrival order of its items, and whether the kernel makes them.
pub(super) type SpaceItems = (Extents, Vec<i32>, bool);

/// The tables of a route on one rank, or room for them.
pub(super) struct RouteTables {
    /// Whether the kernel makes the tables.
    pub(super) by_kernel: bool,
    pub(super) experts: Vec<HpmoeExpert>,
    pub(super) sends: Vec<HpmoePair>,
    pub(super) arrivals: Vec<HpmoePair>,
    pub(super) order: Vec<i32>,
    pub(super) expert_order: Vec<u32>,
    pub(super) starts: Vec<u32>,
    pub(super) spaces: Vec<SpaceItems>,
    pub(super) rows_once: Option<Vec<i32>>,
    pub(super) origins: Option<Vec<i32>>,
    /// A word per slot that is negative if the slot is empty; `None` unless the host makes the route and a slot is empty.
    pub(super) ids: Option<Vec<i32>>,
    /// For sums that are added part by part: each expert's rows before each source and part. `None` for other kernels.
    pub(super) parts: Option<Vec<i32>>,
}

impl RouteTables {
    /// Makes the tables of one rank. `turns` are the kernel's [`arrival_turns`](super::tables::arrival_turns).
    pub(super) fn new(tables: &KernelTables, turns: &[Option<u32>], route: &LaunchRoute<'_>, rank: Rank) -> Self {
        match route {
            LaunchRoute::Host(chunks) => Self::made(tables, turns, chunks, rank),
            LaunchRoute::Kernel(route) => Self::room(tables, turns, route, rank),
        }
    }

    fn made(tables: &KernelTables, turns: &[Option<u32>], chunks: &RouteChunks<'_>, rank: Rank) -> Self {
        let route = chunks.whole();
        let space = |(space, turn): (&SpaceTable, &Option<u32>)| {
            let extents = spaces::extents(space, chunks.routes(), rank, chunks.orders());
            let arrival_order =
                turn.map_or_else(Vec::new, |turn| spaces::arrival_orders((space, turn), chunks.routes(), rank));
            (extents, arrival_order, false)
        };
        let spaces: Vec<_> = tables.spaces.iter().zip(turns).map(space).collect();
        let mut made = Self {
            by_kernel: false,
            experts: routing::experts(chunks, rank),
            sends: routing::sends(chunks, rank),
            arrivals: routing::arrivals(chunks, rank),
            order: routing::order(chunks, rank),
            expert_order: chunks.orders().iter().flatten().map(|&expert| expert as u32).collect(),
            starts: starts(tables, &spaces),
            spaces,
            rows_once: None,
            origins: tables.origins.then(|| route.origins(rank)),
            ids: routing::ids(route, rank),
            parts: tables.adds_by_parts().then(|| routing::parts(tables, chunks, rank)),
        };
        if sends_once(tables) {
            made.experts.extend(once::experts(route, rank));
            made.sends.extend(once::sends(route, rank));
            made.order.extend(route.order_once(rank));
            made.rows_once = Some(route.rows_once(rank));
        }
        made
    }

    /// Reserves room for the tables that the kernel makes, enough for the rank's capacity. The host makes the tables of spaces of tokens
    /// even then.
    fn room(tables: &KernelTables, turns: &[Option<u32>], route: &KernelRoute, rank: Rank) -> Self {
        let sizes = route.sizes().in_chunks(route.sizes().most_chunks());
        let parts = if sends_once(tables) { 2 } else { 1 };
        let local = sizes.local_experts * sizes.chunks;
        let pairs = sizes.ranks * local;
        let slots = route.tokens(rank) * sizes.top_k;
        let pair = HpmoePair { rows: UNMADE, at: UNMADE, base: UNMADE, order: UNMADE };
        let space = |(space, turn): (&SpaceTable, &Option<u32>)| {
            if let Some(extents) = spaces::of_tokens(space, &route.chunk_tokens(rank, sizes.chunks)) {
                return (extents, Vec::new(), false);
            }
            let tiles = if turn.is_some() { sizes.row_tiles(space.height) } else { 0 };
            (room_of(space.kind, local, pairs), vec![UNMADE; tiles], true)
        };
        let spaces: Vec<_> = tables.spaces.iter().zip(turns).map(space).collect();
        Self {
            by_kernel: true,
            experts: vec![HpmoeExpert { first: UNMADE, rows: UNMADE }; parts * local],
            sends: vec![pair; parts * pairs],
            arrivals: vec![pair; pairs],
            order: vec![UNMADE; parts * slots],
            expert_order: vec![UNMADE as u32; pairs],
            starts: starts_of_tokens(tables, &spaces, sizes.chooses()),
            spaces,
            rows_once: None,
            origins: None,
            ids: None,
            parts: tables.adds_by_parts().then(|| vec![UNMADE; room_of_parts(route.sizes())]),
        }
    }
}

/// Number of words of the table `parts`, enough for any number of chunks: per expert and chunk, one word for each source and part, and one
/// for the total.
fn room_of_parts(sizes: &RankSizes) -> usize {
    sizes.local_experts * (sizes.ranks * sizes.counted_chunks() + sizes.most_chunks())
}

fn room_of(kind: u32, local: usize, pairs: usize) -> Extents {
    let room = |count| vec![UNMADE; count];
    match kind {
        HPMOE_ROW_TILES | HPMOE_ONCE_TILES => {
            Extents { first_items: room(local + 1), peer_items: room(pairs), counted: room(local) }
        }
        HPMOE_EXPERTS => Extents { first_items: room(local + 1), peer_items: Vec::new(), counted: room(local) },
        HPMOE_SENDS | HPMOE_SENDS_ONCE | HPMOE_ARRIVALS => {
            Extents { first_items: room(pairs + 1), peer_items: Vec::new(), counted: room(pairs) }
        }
        kind => unreachable!("the compiler knows no space of kind {kind}"),
    }
}

/// The input of a kernel that makes its route. Its addresses are still zero.
pub(super) fn routing(tables: &KernelTables, route: &RouteTable, pitch: usize, capacity: usize) -> HpmoeRouting {
    HpmoeRouting {
        top_k: word(tables.top_k),
        count_pitch: word(pitch),
        // A rank can't receive more rows than an i32 can number.
        capacity: word(capacity.min(i32::MAX as usize)),
        phases: word(tables.phases.len()),
        spaces: word(tables.spaces.len()),
        once: u32::from(sends_once(tables)),
        made: route.made,
        is_kept: u32::from(route.kept),
        group_slots: route.groups.map_or(0, |groups| word(tables.top_k / groups)),
        group_experts: route.groups.map_or(0, |groups| word(tables.experts / groups)),
        experts: word(tables.experts),
        gaps: u32::from(tables.whole_slots.is_none()),
        before: route.before,
        ids_ready: route.ready.map_or(0, |ready| ready.counter),
        ids_per_token: route.ready.map_or(0, |ready| ready.per_token),
        ..HpmoeRouting::zeroed()
    }
}

/// The device library's number for an order of experts.
pub(super) const fn order_word(order: ExpertOrder) -> u32 {
    match order {
        ExpertOrder::Number => HPMOE_BY_NUMBER,
        ExpertOrder::Load => HPMOE_BY_LOAD,
        ExpertOrder::Mixed => HPMOE_MIXED,
        ExpertOrder::LightestFirst => HPMOE_LIGHTEST_FIRST,
    }
}

/// The pairs (space, columns) from which the device computes `starts`: the number of pairs before those of each phase, and the list of all
/// pairs.
pub(super) fn start_pairs(tables: &KernelTables) -> (Vec<u32>, Vec<[u32; 2]>) {
    let mut first = vec![0];
    first.extend(tables.phases.iter().scan(0, |sum, phase| {
        *sum += word(phase.starts.len());
        Some(*sum)
    }));
    let pairs = tables.phases.iter().flat_map(|phase| phase.starts).map(|&(space, columns)| [space, columns]);
    (first, pairs.collect())
}

/// The starts of phases before the route, whose spaces are blocks of tokens. After them comes room for the other starts and, if the kernel
/// chooses it, for the number of chunks.
fn starts_of_tokens(tables: &KernelTables, spaces: &[(Extents, Vec<i32>, bool)], chooses: bool) -> Vec<u32> {
    let before = tables.route.map_or(0, |route| route.before as usize);
    let known = starts(tables, spaces).into_iter().take(before);
    known.chain(std::iter::repeat(UNMADE as u32)).take(tables.phases.len() + usize::from(chooses)).collect()
}

/// The start of each phase in the numbering of tiles. Starts only deal tiles to cores, so the sums may wrap.
fn starts(tables: &KernelTables, spaces: &[(Extents, Vec<i32>, bool)]) -> Vec<u32> {
    let items = |space: u32| spaces[space as usize].0.first_items.last().map_or(0, |&all| all.unsigned_abs());
    let start = |&(space, columns): &(u32, u32)| items(space).wrapping_mul(columns);
    tables.phases.iter().map(|phase| phase.starts.iter().map(start).fold(0, u32::wrapping_add)).collect()
}

fn word(number: usize) -> u32 {
    u32::try_from(number).expect("sizes of a kernel are numbered by 32 bits")
}
