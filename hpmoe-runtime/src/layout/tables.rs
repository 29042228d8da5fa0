//! The tables that one rank's kernel reads, as bytes in memory.

use bytemuck::{Pod, Zeroable};
use hpmoe_kernels::memory::LINE;
use hpmoe_kernels::route::{KEPT, KEPT_HEAD, KeptWords, chunk_tokens};
use hpmoe_kernels::{Placement, Rank};

use super::routed::{RouteTables, SpaceItems, UNMADE, order_word, routing, start_pairs};
use super::spaces::{Extents, of_tokens};
use super::{LaunchRoute, MemoryPlan, RankSizes, Word};
use crate::KernelTables;
use crate::abi::{
    HPMOE_KEPT, HPMOE_ROW_TILES, HpmoeDescriptor, HpmoeKeptHead, HpmoeLaunch, HpmoeQueue, HpmoeRecord, HpmoeRouting,
    HpmoeSpace,
};
use crate::memory::LineMemory;
use crate::tables::{ScheduleTable, SpaceTable};

/// The launch structure and all tables that a kernel reads, except tensors and counters.
pub(crate) struct RankTables {
    /// Number of chunks in which ranks count rows.
    counted: usize,
    memory: TableMemory,
    launch_arena: LineMemory,
}

/// The memory in which a kernel reads its tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TablePlace {
    /// The memory in which the tables are made.
    Here,
    /// Memory that the tables are copied to, starting at this address, which is a multiple of a line.
    At(u64),
}

/// The data that the tables of all ranks and launches share.
pub(crate) struct Common<'a> {
    tables: &'a KernelTables,
    schedule: &'a ScheduleTable,
    plan: &'a MemoryPlan,
    /// [`arrival_turns`] of the kernel, by space.
    arrival_turns: Vec<Option<u32>>,
    /// Maximum number of cycles that a wait may take.
    time_limit: u64,
    /// Maximum number of time stamps per core.
    stamp_room: u32,
}

impl<'a> Common<'a> {
    /// Prepares tables for launches in which a wait takes at most `time_limit` cycles and each core has room for
    /// `stamp_room` time stamps.
    pub(crate) fn new(
        tables: &'a KernelTables,
        schedule: &'a ScheduleTable,
        plan: &'a MemoryPlan,
        time_limit: u64,
        stamp_room: u32,
    ) -> Self {
        Self { tables, schedule, plan, arrival_turns: arrival_turns(tables, schedule), time_limit, stamp_room }
    }
}

/// Rows per turn of each space; `None` for a space whose items no entry processes in arrival order.
pub(crate) fn arrival_turns(tables: &KernelTables, schedule: &ScheduleTable) -> Vec<Option<u32>> {
    let mut turns = vec![None; tables.spaces.len()];
    for descriptor in schedule.descriptors.chunks_exact(size_of::<HpmoeDescriptor>()) {
        let entry: HpmoeDescriptor = bytemuck::pod_read_unaligned(descriptor);
        if u32::from(entry.kind) == HPMOE_ROW_TILES && entry.arrival_turn != 0 {
            turns[usize::from(entry.space)] = Some(entry.arrival_turn);
        }
    }
    turns
}

/// The addresses that one rank's tables contain.
pub(crate) struct Addresses<'a> {
    /// Addresses of the heaps of all ranks.
    pub(crate) peers: &'a [u64],
    /// The address of each tensor.
    pub(crate) tensors: &'a [TensorAddress],
    /// Address of the rank's records.
    pub(crate) records: u64,
    /// Address of the rank's time stamps; zero if the kernel records none.
    pub(crate) stamps: u64,
    /// The memory in which the kernel reads its tables.
    pub(crate) tables: TablePlace,
}

/// The address of a tensor, as a kernel reads it.
pub(crate) enum TensorAddress {
    /// The tensor on this rank: its address or, for a symmetric tensor, its offset in the heap.
    At(u64),
    /// The tensor's addresses on all ranks.
    OnEach(Vec<u64>),
}

impl RankTables {
    /// Makes the tables of one rank for one route, or room for tables that the kernel makes.
    pub(crate) fn new(common: &Common<'_>, route: &LaunchRoute<'_>, rank: Rank, addresses: &Addresses<'_>) -> Self {
        let Common { tables, schedule, plan, time_limit, stamp_room, .. } = *common;
        let choices = choices(common, route);
        let most = choices.last().map_or(common.tables, |choice| &choice.tables);
        let counted = match route {
            LaunchRoute::Host(_) => common.tables.chunks,
            LaunchRoute::Kernel(route) => route.sizes().counted_chunks(),
        };
        let turn = |space: usize| {
            choices.iter().find_map(|choice| choice.arrival_turns[space]).or(common.arrival_turns[space])
        };
        let turns: Vec<Option<u32>> = (0..tables.spaces.len()).map(turn).collect();
        let made = RouteTables::new(most, &turns, route, rank);
        let mut arenas = TableMemory::new(addresses.tables);
        let tensor = |place: &TensorAddress| match place {
            TensorAddress::At(address) => *address,
            TensorAddress::OnEach(ranks) => arenas.add("addresses of a tensor on all ranks", ranks),
        };
        let tensors: Vec<u64> = addresses.tensors.iter().map(tensor).collect();
        let kept = kept_at(tables, route, rank, &tensors);
        let routing = arenas.routing(common, route, kept, &tensors);
        let space =
            |((space, turn), (extents, arrival_order, by_kernel)): ((&SpaceTable, &Option<u32>), &SpaceItems)| {
                arenas.by_kernel = *by_kernel;
                arenas.space(space, extents, (arrival_order, turn.unwrap_or(0)))
            };
        let space_turns = tables.spaces.iter().zip(&turns);
        let spaces: Vec<HpmoeSpace> = space_turns.zip(&made.spaces).map(space).collect();
        arenas.by_kernel = made.by_kernel;
        let starts = arenas.add("starts", &made.starts);
        let experts = arenas.add("experts", &made.experts);
        let sends = arenas.add("sends", &made.sends);
        let arrivals = arenas.add("arrivals", &made.arrivals);
        let order = match kept {
            Some((at, words)) if counted == 1 => at + words_bytes(words.order),
            _ => arenas.add("order", &made.order),
        };
        let expert_order = arenas.add("order of experts", &made.expert_order);
        let parts = made.parts.map_or(0, |rows| arenas.add("rows by part", &rows));
        arenas.by_kernel = false;
        let rows_once = made.rows_once.map_or(0, |rows| arenas.add("rows sent once", &rows));
        let origins = made.origins.map_or(0, |rows| arenas.add("(token, k) of rows", &rows));
        let ids = made.ids.map_or(0, |ids| arenas.add("ids of slots", &ids));
        let (tokens, local_experts) = (route.tokens(rank), tables.local_experts(schedule.ranks as usize));
        let mut launch = HpmoeLaunch {
            peers: arenas.add("peers", addresses.peers),
            tensors: arenas.add("tensors", &tensors),
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
            abort: plan.at(Word::Abort) as u64,
            records: addresses.records,
            time_limit,
            counter_count: plan.counters.count,
            rank: small(rank.id()),
            ranks: schedule.ranks,
            tokens: small(tokens),
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
            parts,
            ..Zeroable::zeroed()
        };
        if choices.is_empty() {
            launch = arenas.in_chunks(&launch, common, tables, schedule, &spaces);
        } else {
            // The launches contain the address of this table.
            let table = arenas.arenas.len();
            launch.choices = arenas.add("launches by number of chunks", &vec![launch; choices.len()]);
            let in_chunks = |choice: &Choice| {
                let spaces = arenas.spaces_of(choice, &spaces, route, rank);
                arenas.in_chunks(&launch, common, &choice.tables, choice.schedule, &spaces)
            };
            let launches: Vec<HpmoeLaunch> = choices.iter().map(in_chunks).collect();
            arenas.arenas[table].memory.write(0, &launches);
            // Until the kernel has chosen, the chunks are those that it counts.
            launch = HpmoeLaunch {
                chunks: small(counted),
                local_experts: small(local_experts * counted),
                chunk_tokens: small(chunk_tokens(tokens, counted, tables.chunks_at_most())),
                ..launches[launches.len() - 1]
            };
        }
        let mut launch_arena = LineMemory::zeroed(size_of::<HpmoeLaunch>());
        launch_arena.write(0, &[launch]);
        Self { counted, memory: arenas, launch_arena }
    }

    /// Address of the launch structure.
    pub(crate) fn launch_address(&mut self) -> u64 {
        match self.memory.place {
            TablePlace::Here => self.launch_arena.address(),
            TablePlace::At(base) => base + self.memory.end as u64,
        }
    }

    /// Size of the [`image`](Self::image) in bytes.
    pub(crate) fn image_bytes(&self) -> usize {
        self.memory.end + self.launch_arena.bytes().len()
    }

    /// The bytes of all tables, one after another, and then of the launch structure, as the tables are laid out in a
    /// copy.
    pub(crate) fn image(&self) -> Vec<u8> {
        let arenas = self.memory.arenas.iter().map(|table| table.memory.bytes());
        arenas.chain([self.launch_arena.bytes()]).collect::<Vec<_>>().concat()
    }

    /// Overwrites the placement with another one, which must have the same number of places.
    pub(crate) fn place(&mut self, placement: &Placement) {
        let (table, _) = self.memory.placement.expect("the launch has a placement");
        self.memory.arenas[table].memory.write(0, &placement.device_words(self.counted));
    }

    /// Byte offset of the placement in the image, if there is one.
    pub(crate) fn placement_at(&self) -> Option<usize> {
        self.memory.placement.map(|(_, at)| at)
    }

    /// Name and memory of each table, and whether the kernel makes it.
    pub(crate) fn arenas(&mut self) -> impl Iterator<Item = (&'static str, &mut LineMemory, bool)> {
        let tables = self.memory.arenas.iter_mut().map(|Table { name, memory, by_kernel }| (*name, memory, *by_kernel));
        tables.chain(std::iter::once(("launch structure", &mut self.launch_arena, false)))
    }
}

/// A number of chunks that a kernel can choose, with the tables and the schedule for it.
struct Choice {
    tables: KernelTables,
    schedule: &'static ScheduleTable,
    arrival_turns: Vec<Option<u32>>,
}

/// The choices of a kernel, with the fewest chunks first; empty if the number of chunks is known before the launch.
fn choices(common: &Common<'_>, route: &LaunchRoute<'_>) -> Vec<Choice> {
    let LaunchRoute::Kernel(route) = route else { return Vec::new() };
    let choice = |sizes: RankSizes| {
        let tables = common.tables.in_chunks(sizes.chunks);
        let schedule = tables.schedules.iter().find(|schedule| schedule.ranks == common.schedule.ranks);
        let schedule = schedule.expect("each number of chunks has schedules for the same ranks");
        Choice { tables, schedule, arrival_turns: arrival_turns(&tables, schedule) }
    };
    match route.sizes().chooses() {
        true => route.sizes().of_launches().map(choice).collect(),
        false => Vec::new(),
    }
}

/// Offset of the freed words, which depends on the number of chunks.
fn freed(tables: &KernelTables, schedule: &ScheduleTable, plan: &MemoryPlan) -> u64 {
    let sizes = RankSizes::new(&tables.sizes(), schedule.ranks as usize, Some(0), false);
    (plan.at(Word::Freed) + sizes.freed_words_before() * LINE) as u64
}

/// A table in its own allocation.
struct Table {
    name: &'static str,
    memory: LineMemory,
    by_kernel: bool,
}

/// Tables, each in its own allocation, so that the host finds accesses beyond a table.
struct TableMemory {
    arenas: Vec<Table>,
    place: TablePlace,
    /// Number of bytes of all tables.
    end: usize,
    /// Whether the kernel makes the tables that are added next.
    by_kernel: bool,
    /// Number of the placement's table, and the table's byte offset in the image; `None` without a placement.
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

    /// Makes the launch structure for one number of chunks, and adds its queues.
    fn in_chunks(
        &mut self,
        launch: &HpmoeLaunch,
        common: &Common<'_>,
        tables: &KernelTables,
        schedule: &ScheduleTable,
        spaces: &[HpmoeSpace],
    ) -> HpmoeLaunch {
        let queue = |&(first, count): &(u32, u32)| HpmoeQueue { first, count };
        let queues: Vec<HpmoeQueue> = schedule.queues.iter().map(queue).collect();
        HpmoeLaunch {
            queues: self.add("queues", &queues),
            descriptors: self.add("descriptors", schedule.descriptors),
            spaces: self.add("spaces", spaces),
            freed: freed(tables, schedule, common.plan),
            chunks: small(tables.chunks),
            chunk_parts: small(tables.chunk_parts()),
            local_experts: launch.chunk_experts * small(tables.chunks),
            chunk_tokens: small(chunk_tokens(launch.tokens as usize, tables.chunks, tables.chunks_at_most())),
            ..*launch
        }
    }

    /// Adds the spaces for one number of chunks. Spaces of tokens have their own tables; all others share the tables
    /// that the kernel makes.
    fn spaces_of(
        &mut self,
        choice: &Choice,
        spaces: &[HpmoeSpace],
        route: &LaunchRoute<'_>,
        rank: Rank,
    ) -> Vec<HpmoeSpace> {
        let LaunchRoute::Kernel(route) = route else {
            unreachable!("a route made by the host has a fixed number of chunks")
        };
        let tokens = route.chunk_tokens(rank, choice.tables.chunks);
        let of_choice = |((space, table), turn): ((&HpmoeSpace, &SpaceTable), &Option<u32>)| match (
            of_tokens(table, &tokens),
            turn,
        ) {
            (Some(extents), _) => self.space(table, &extents, (&[], 0)),
            (None, Some(turn)) => HpmoeSpace { turn: *turn, ..*space },
            (None, None) => HpmoeSpace { arrival_order: 0, turn: 0, ..*space },
        };
        spaces.iter().zip(choice.tables.spaces).zip(&choice.arrival_turns).map(of_choice).collect()
    }

    /// The input of a kernel that makes its route; all zero if the host makes the route.
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
            placement: route
                .placement()
                .map_or(0, |placement| self.add_placement(placement, route.sizes().counted_chunks())),
            sent: route.placement().map_or(0, |_| self.add_made("slots sent", &[UNMADE])),
            expert_order: order_word(common.tables.expert_orders.on(common.schedule.ranks)),
            ..routing(
                common.tables,
                &table,
                common.tables.shape().count_pitch(route.sizes().ranks),
                route.sizes().capacity,
            )
        };
        self.add("routing input", &[made_from])
    }

    /// Adds a table that the kernel makes, with `room` as its contents before that.
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

    fn space(&mut self, space: &SpaceTable, extents: &Extents, (arrival_order, turn): (&[i32], u32)) -> HpmoeSpace {
        let mut tiles_only = |name, items: &[i32]| if items.is_empty() { 0 } else { self.add(name, items) };
        let peer_items = tiles_only("items of peers", &extents.peer_items);
        let arrival_order = tiles_only("items in arrival order", arrival_order);
        HpmoeSpace {
            first_items: self.add("items", &extents.first_items),
            peer_items,
            counted: self.add("items expert by expert", &extents.counted),
            arrival_order,
            kind: space.kind,
            height: space.height,
            turn,
            reserved: 0,
        }
    }
}

// Kernels and host use the same head.
const _: () = assert!(KEPT as u32 == HPMOE_KEPT && KEPT_HEAD * size_of::<i32>() == size_of::<HpmoeKeptHead>());

/// The address of the route that the launch keeps or takes, and the layout of its words; `None` if it does neither.
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
