//! The tables that one rank's kernel reads, in memory.

use bytemuck::Pod;
use hpmoe_kernels::memory::LINE;
use hpmoe_kernels::route::{KEPT, KEPT_HEAD, KeptWords, chunk_tokens};
use hpmoe_kernels::{Placement, Rank};

use super::routed::{RouteTables, SpaceItems, UNMADE, order_word, routing, start_pairs};
use super::spaces::Extents;
use super::{LaunchRoute, MemoryPlan, RankSizes, Word};
use crate::KernelTables;
use crate::abi::{
    HPMOE_KEPT, HPMOE_ROW_TILES, HpmoeDescriptor, HpmoeKeptHead, HpmoeLaunch, HpmoeQueue, HpmoeRecord, HpmoeRouting,
    HpmoeSpace,
};
use crate::memory::LineMemory;
use crate::tables::{ScheduleTable, SpaceTable};

/// What a kernel reads besides tensors and counters, and what it is launched with.
pub(crate) struct RankTables {
    chunks: usize,
    memory: TableMemory,
    launch_arena: LineMemory,
}

/// Where a kernel finds its tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TablePlace {
    /// Where they are made.
    Here,
    /// In memory that they are copied to, from this address on, which lies on a line.
    At(u64),
}

/// What the tables of all ranks and launches share.
pub(crate) struct Common<'a> {
    tables: &'a KernelTables,
    schedule: &'a ScheduleTable,
    plan: &'a MemoryPlan,
    /// By space: see [`coming_spaces`].
    coming: Vec<Option<u32>>,
    /// Cycles that a wait may take.
    time_limit: u64,
    /// Tiles of a core that have room for a time stamp.
    stamp_room: u32,
}

impl<'a> Common<'a> {
    /// A wait may take `time_limit` cycles, and `stamp_room` tiles of a core have room for a time stamp.
    pub(crate) fn new(
        tables: &'a KernelTables,
        schedule: &'a ScheduleTable,
        plan: &'a MemoryPlan,
        time_limit: u64,
        stamp_room: u32,
    ) -> Self {
        Self { tables, schedule, plan, coming: coming_spaces(tables, schedule), time_limit, stamp_room }
    }
}

/// By space: where some entry walks its items in the order in which their rows arrive, the rows of a turn by which ranks send.
pub(crate) fn coming_spaces(tables: &KernelTables, schedule: &ScheduleTable) -> Vec<Option<u32>> {
    let mut coming = vec![None; tables.spaces.len()];
    for descriptor in schedule.descriptors.chunks_exact(size_of::<HpmoeDescriptor>()) {
        let entry: HpmoeDescriptor = bytemuck::pod_read_unaligned(descriptor);
        if u32::from(entry.kind) == HPMOE_ROW_TILES && entry.coming != 0 {
            coming[usize::from(entry.space)] = Some(entry.coming);
        }
    }
    coming
}

/// Addresses that one rank's tables refer to.
pub(crate) struct Addresses<'a> {
    /// Heaps of all ranks.
    pub(crate) peers: &'a [u64],
    /// Where each tensor lies.
    pub(crate) tensors: &'a [TensorAddress],
    /// The rank's records.
    pub(crate) records: u64,
    /// The rank's time stamps; zero if it keeps none.
    pub(crate) stamps: u64,
    /// Where the kernel finds the tables.
    pub(crate) tables: TablePlace,
}

/// Where a tensor lies, as a kernel reads it.
pub(crate) enum TensorAddress {
    /// At an address; a symmetric one at an offset in the heap.
    At(u64),
    /// At an address on each rank.
    OnEach(Vec<u64>),
}

impl RankTables {
    /// Makes the tables of one rank for one route, or room for those that the kernel makes.
    pub(crate) fn new(common: &Common<'_>, route: &LaunchRoute<'_>, rank: Rank, addresses: &Addresses<'_>) -> Self {
        let Common { tables, schedule, plan, time_limit, stamp_room, .. } = *common;
        let made = RouteTables::new(tables, &common.coming, route, rank);
        let mut arenas = TableMemory::new(addresses.tables);
        let queue = |&(first, count): &(u32, u32)| HpmoeQueue { first, count };
        let queues: Vec<HpmoeQueue> = schedule.queues.iter().map(queue).collect();
        let tensor = |place: &TensorAddress| match place {
            TensorAddress::At(address) => *address,
            TensorAddress::OnEach(ranks) => arenas.add("addresses of a tensor on all ranks", ranks),
        };
        let tensors: Vec<u64> = addresses.tensors.iter().map(tensor).collect();
        let kept = kept_at(tables, route, rank, &tensors);
        let routing = arenas.routing(common, route, kept, &tensors);
        let space = |((space, turn), (extents, coming, by_kernel)): ((&SpaceTable, &Option<u32>), &SpaceItems)| {
            arenas.by_kernel = *by_kernel;
            arenas.space(space, extents, (coming, turn.unwrap_or(0)))
        };
        let turns = tables.spaces.iter().zip(&common.coming);
        let spaces: Vec<HpmoeSpace> = turns.zip(&made.spaces).map(space).collect();
        arenas.by_kernel = made.by_kernel;
        let starts = arenas.add("starts", &made.starts);
        let experts = arenas.add("experts", &made.experts);
        let sends = arenas.add("sends", &made.sends);
        let arrivals = arenas.add("arrivals", &made.arrivals);
        let order = match kept {
            Some((at, words)) => at + words_bytes(words.order),
            None => arenas.add("order", &made.order),
        };
        let expert_order = arenas.add("order of experts", &made.expert_order);
        arenas.by_kernel = false;
        let rows_once = made.rows_once.map_or(0, |rows| arenas.add("rows sent once", &rows));
        let origins = made.origins.map_or(0, |rows| arenas.add("(token, k) of rows", &rows));
        let ids = made.ids.map_or(0, |ids| arenas.add("ids of slots", &ids));
        let parts = made.parts.map_or(0, |rows| arenas.add("rows by part", &rows));
        let (tokens, local_experts) = (route.tokens(rank), tables.local_experts(schedule.ranks as usize));
        let launch = HpmoeLaunch {
            peers: arenas.add("peers", addresses.peers),
            tensors: arenas.add("tensors", &tensors),
            queues: arenas.add("queues", &queues),
            descriptors: arenas.add("descriptors", schedule.descriptors),
            spaces: arenas.add("spaces", &spaces),
            starts,
            experts,
            sends,
            arrivals,
            order,
            expert_order,
            counter_bases: arenas.add("counter bases", &plan.counters.bases),
            launches: plan.at(Word::Launches) as u64,
            counters: plan.at(Word::Counters) as u64,
            ready: plan.at(Word::Ready) as u64,
            freed: freed(tables, schedule, plan),
            abort: plan.at(Word::Abort) as u64,
            records: addresses.records,
            time_limit,
            counter_count: plan.counters.count,
            rank: small(rank.id()),
            ranks: schedule.ranks,
            local_experts: small(local_experts * tables.chunks),
            tokens: small(tokens),
            chunks: small(tables.chunks),
            chunk_tokens: small(chunk_tokens(tokens, tables.chunks, tables.chunks_at_most())),
            chunk_experts: small(local_experts),
            aic: tables.aic,
            aiv: tables.aiv,
            rows_once,
            origins,
            routing,
            ids,
            stamps: addresses.stamps,
            clocks: plan.at(Word::Clocks) as u64,
            stamp_room,
            chunk_parts: small(tables.chunk_parts()),
            parts,
        };
        let mut launch_arena = LineMemory::zeroed(size_of::<HpmoeLaunch>());
        launch_arena.write(0, &[launch]);
        Self { chunks: tables.chunks, memory: arenas, launch_arena }
    }

    /// Address of the launch structure.
    pub(crate) fn launch_address(&mut self) -> u64 {
        match self.memory.place {
            TablePlace::Here => self.launch_arena.address(),
            TablePlace::At(base) => base + self.memory.end as u64,
        }
    }

    /// Bytes that [`image`](Self::image) has.
    pub(crate) fn image_bytes(&self) -> usize {
        self.memory.end + self.launch_arena.bytes().len()
    }

    /// All tables one after the other and then the launch structure, as they lie in memory that they are copied to.
    pub(crate) fn image(&self) -> Vec<u8> {
        let arenas = self.memory.arenas.iter().map(|table| table.memory.bytes());
        arenas.chain([self.launch_arena.bytes()]).collect::<Vec<_>>().concat()
    }

    /// Overwrites the placement by another one, of as many places.
    pub(crate) fn place(&mut self, placement: &Placement) {
        let (table, _) = self.memory.placement.expect("the launch has a placement");
        self.memory.arenas[table].memory.write(0, &placement.device_words(self.chunks));
    }

    /// Bytes of the image before the placement, if there is one.
    pub(crate) fn placement_at(&self) -> Option<usize> {
        self.memory.placement.map(|(_, at)| at)
    }

    /// Name and memory of each table, and whether the kernel makes it.
    pub(crate) fn arenas(&mut self) -> impl Iterator<Item = (&'static str, &mut LineMemory, bool)> {
        let tables = self.memory.arenas.iter_mut().map(|Table { name, memory, by_kernel }| (*name, memory, *by_kernel));
        tables.chain(std::iter::once(("launch structure", &mut self.launch_arena, false)))
    }
}

/// Offset of the freed words of launches of this many chunks.
fn freed(tables: &KernelTables, schedule: &ScheduleTable, plan: &MemoryPlan) -> u64 {
    let sizes = RankSizes::new(&tables.sizes(), schedule.ranks as usize, Some(0), false);
    (plan.at(Word::Freed) + sizes.freed_words_before() * LINE) as u64
}

/// A table in memory of its own.
struct Table {
    name: &'static str,
    memory: LineMemory,
    by_kernel: bool,
}

/// Tables, each in memory of its own, so that reading beyond one is found.
struct TableMemory {
    arenas: Vec<Table>,
    place: TablePlace,
    /// Bytes of all of them.
    end: usize,
    /// Whether the kernel makes the next ones.
    by_kernel: bool,
    /// The number of the placement's table and the bytes before it, if there is one.
    placement: Option<(usize, usize)>,
}

impl TableMemory {
    const fn new(place: TablePlace) -> Self {
        Self { arenas: Vec::new(), place, end: 0, by_kernel: false, placement: None }
    }

    fn add<T: Pod>(&mut self, name: &'static str, values: &[T]) -> u64 {
        let mut arena = LineMemory::zeroed(size_of_val(values).max(1));
        arena.write(0, values);
        let address = match self.place {
            TablePlace::Here => arena.address(),
            TablePlace::At(base) => base + self.end as u64,
        };
        self.end += arena.bytes().len();
        self.arenas.push(Table { name, memory: arena, by_kernel: self.by_kernel });
        address
    }

    /// What the kernel makes its route from; zero where the host makes it.
    fn routing(
        &mut self,
        common: &Common<'_>,
        route: &LaunchRoute<'_>,
        kept: Option<(u64, KeptWords)>,
        tensors: &[u64],
    ) -> u64 {
        let (Some(table), LaunchRoute::Kernel(route)) = (common.tables.route, route) else { return 0 };
        let ids_in_kept = kept.filter(|_| table.kept).map_or(0, |(_, words)| words_bytes(words.ids));
        let (first_pairs, start_pairs) = start_pairs(common.tables);
        let made_from = HpmoeRouting {
            ids: tensors[table.ids] + ids_in_kept,
            kept: kept.map_or(0, |(at, _)| at),
            counts: common.plan.at(Word::Counts) as u64,
            digests: common.plan.at(Word::Digests) as u64,
            first_pairs: self.add("first pairs", &first_pairs),
            start_pairs: self.add("start pairs", &start_pairs),
            placement: route.placement().map_or(0, |placement| self.add_placement(placement, common.tables.chunks)),
            sent: route.placement().map_or(0, |_| self.add_made("slots sent", &[UNMADE])),
            expert_order: order_word(common.tables.expert_orders.on(common.schedule.ranks)),
            ..routing(
                common.tables,
                &table,
                common.tables.shape().count_pitch(route.sizes().ranks),
                route.sizes().capacity,
            )
        };
        self.add("what the route is made from", &[made_from])
    }

    /// Room for a table that the kernel makes.
    fn add_made(&mut self, name: &'static str, room: &[i32]) -> u64 {
        let by_kernel = std::mem::replace(&mut self.by_kernel, true);
        let address = self.add(name, room);
        self.by_kernel = by_kernel;
        address
    }

    fn add_placement(&mut self, placement: &Placement, chunks: usize) -> u64 {
        self.placement = Some((self.arenas.len(), self.end));
        self.add("placement", &placement.device_words(chunks))
    }

    fn space(&mut self, space: &SpaceTable, extents: &Extents, (coming, turn): (&[i32], u32)) -> HpmoeSpace {
        let mut tiles_only = |name, items: &[i32]| if items.is_empty() { 0 } else { self.add(name, items) };
        let peer_items = tiles_only("items of peers", &extents.peer_items);
        let coming = tiles_only("items as rows come", coming);
        HpmoeSpace {
            first_items: self.add("items", &extents.first_items),
            peer_items,
            counted: self.add("items expert by expert", &extents.counted),
            coming,
            kind: space.kind,
            height: space.height,
            turn,
            reserved: 0,
        }
    }
}

// What the kernel keeps is what the host reads.
const _: () = assert!(KEPT as u32 == HPMOE_KEPT && KEPT_HEAD * size_of::<i32>() == size_of::<HpmoeKeptHead>());

/// Where a route is kept for other launches, or was kept by one, and its words.
fn kept_at(tables: &KernelTables, route: &LaunchRoute<'_>, rank: Rank, tensors: &[u64]) -> Option<(u64, KeptWords)> {
    let (Some(table), LaunchRoute::Kernel(route)) = (tables.route, route) else { return None };
    let tensor = if table.kept { Some(table.ids) } else { table.keeps };
    tensor.map(|tensor| (tensors[tensor], route.sizes().kept(route.tokens(rank))))
}

const fn words_bytes(words: usize) -> u64 {
    (words * size_of::<i32>()) as u64
}

/// Bytes of the records of a rank.
pub(crate) const fn record_bytes(tables: &KernelTables) -> usize {
    (tables.aic + tables.aiv) as usize * size_of::<HpmoeRecord>()
}

fn small(number: usize) -> u32 {
    u32::try_from(number).expect("rows, ranks and experts are numbered by 32 bits")
}
