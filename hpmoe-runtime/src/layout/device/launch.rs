//! One rank's launch of the kernel that makes a route, in memory of its own.

use std::sync::OnceLock;
use std::sync::atomic::AtomicI32;

use hpmoe_kernels::{Rank, Route};

use super::case::Case;
use crate::KernelTables;
use crate::abi::{
    HPMOE_BLOCKS, HPMOE_CHUNKS, HPMOE_ROW_TILES, HpmoeDescriptor, HpmoeLaunch, HpmoeRecord, HpmoeRouteFault,
    HpmoeRouting, HpmoeSpace,
};
use crate::backend::host::library::KernelLibrary;
use crate::backend::host::{MemoryRegion, Outcome, RankRun};
use crate::layout::tables::{Addresses, Common, RankTables, TablePlace};
use crate::layout::{MemoryPlan, RankSizes, RouteChunks};
use crate::memory::LineMemory;
use crate::tables::{CounterTable, Grid, PhaseTable, RowKind, ScheduleTable, Storage, TensorTable};
use crate::testing::{TABLES, tensor};

/// Bytes of tables that nobody has written.
const UNMADE: u8 = 0x5a;

/// A count from here on is a fault.
pub(super) const FAULT_COUNT: i32 = 1 << 22;

fn kernel() -> &'static KernelLibrary {
    static KERNEL: OnceLock<KernelLibrary> = OnceLock::new();
    KERNEL.get_or_init(|| KernelLibrary::compile("routing"))
}

/// The kernel that a case is for.
pub(super) struct CaseKernel {
    pub(super) tables: KernelTables,
    pub(super) sizes: RankSizes,
    pub(super) plan: MemoryPlan,
    /// Pairs of space and columns before each phase.
    first_pairs: Vec<u32>,
    start_pairs: Vec<[u32; 2]>,
    /// Byte offset of the counts in the heap, and bytes of the heap.
    counts_at: usize,
    pub(super) heap: usize,
}

impl CaseKernel {
    pub(super) fn new(case: &Case, capacity: Option<usize>) -> Self {
        let cores = case.cores * 3 / 2;
        // One entry walks the tiles of the first space as their rows come.
        let coming = HpmoeDescriptor { kind: HPMOE_ROW_TILES as u16, coming: 1, ..HpmoeDescriptor::default() };
        let starts: Vec<Vec<(u32, u32)>> =
            vec![vec![], vec![(0, 3)], vec![(3, 1), (4, 7)], vec![(5, 2), (6, 5), (2, 4), (1, 1)]];
        let phase = |starts: &Vec<(u32, u32)>| PhaseTable {
            task: "task",
            source: "task(..)",
            line: 1,
            space: 0,
            starts: starts.clone().leak(),
        };
        let tensors: Vec<TensorTable> =
            case.once.then(|| tensor("once", RowKind::Once, Storage::Symmetric)).into_iter().collect();
        let tables = KernelTables {
            experts: case.experts,
            top_k: case.top_k,
            tokens: case.tokens,
            chunks: case.chunks,
            aic: (case.cores / 2) as u32,
            aiv: case.cores as u32,
            by_load: case.by_load,
            tensors: tensors.leak(),
            spaces: case.spaces.clone().leak(),
            counters: &[CounterTable { name: "made", grid: Grid::Rank }],
            phases: starts.iter().map(phase).collect::<Vec<_>>().leak(),
            schedules: vec![ScheduleTable {
                ranks: case.ranks as u32,
                queues: vec![(0, 0); cores].leak(),
                descriptors: bytemuck::bytes_of(&coming).to_vec().leak(),
            }]
            .leak(),
            ..TABLES
        };
        let sizes = RankSizes::new(&tables, case.ranks, capacity, false);
        let plan = MemoryPlan::new(&tables, &sizes);
        let mut first_pairs = vec![0];
        first_pairs.extend(starts.iter().scan(0, |sum, pairs| {
            *sum += pairs.len() as u32;
            Some(*sum)
        }));
        let start_pairs = starts.concat().into_iter().map(|(space, columns)| [space, columns]).collect();
        // A peer's heap begins so far after another's that what this rank writes to one of them hides nothing in the other.
        let row = case.count_pitch() * 4;
        let counts_at = plan.heap + case.ranks * row;
        let heap = counts_at + 2 * case.ranks * row;
        Self { tables, sizes, plan, first_pairs, start_pairs, counts_at, heap }
    }

    fn common(&self) -> Common<'_> {
        Common::new(&self.tables, &self.tables.schedules[0], &self.plan, 60 * 50_000_000)
    }
}

/// What one rank's launch left behind.
pub(super) struct Ended {
    pub(super) outcome: Outcome,
    /// Each table: its name, what the host makes and what the device made.
    pub(super) tables: Vec<(&'static str, Vec<u8>, Vec<u8>)>,
    pub(super) fault: HpmoeRouteFault,
    pub(super) states: Vec<u32>,
    /// What the rank told each peer.
    pub(super) sent: Vec<Vec<i32>>,
}

/// Counts of a rank as they are sent, before they get their sign.
pub(super) fn counts(case: &Case, chunks: &RouteChunks<'_>, rank: Rank) -> Vec<i32> {
    let each = chunks.routes().iter().flat_map(|route| route.experts().map(move |e| route.pair(rank, e).rows));
    let whole = chunks.whole();
    let once = whole.experts().filter(|_| case.once).map(|e| whole.pair_once(rank, e).rows);
    each.chain(once).map(|rows| rows as i32).collect()
}

/// A rank's launch by itself: `counts` are what the other ranks have told it.
pub(super) fn run(
    case: &Case,
    kernel_of: &CaseKernel,
    route: &Route,
    rank: Rank,
    counts: &[Vec<i32>],
    seed: u64,
) -> Ended {
    let (me, ranks, row) = (rank.id(), case.ranks, case.count_pitch() * 4);
    let row_at = |rank: usize| kernel_of.counts_at + (case.launch as usize % 2 * ranks + rank) * row;
    let sign = case.sign();
    let mut heap = LineMemory::zeroed(kernel_of.heap);
    let mut peer_heaps = LineMemory::zeroed(kernel_of.heap + ranks * row);
    for (source, counts) in counts.iter().enumerate() {
        // Its own row is as the launch before the last has left it.
        let signed = |count: &i32| if source == me { -sign * (count / 2 + 1) } else { sign * (count + 1) };
        heap.write(row_at(source), &counts.iter().map(signed).collect::<Vec<_>>());
    }
    let peer_at = |peer: usize| (peer * row) as u64;
    let heaps = (heap.address(), peer_heaps.address());
    let peers: Vec<u64> = (0..ranks).map(|peer| if peer == me { heaps.0 } else { heaps.1 + peer_at(peer) }).collect();
    let mut regions = vec![heap_region(&mut heap, rank)];
    if ranks > 1 {
        regions.push(heap_region(&mut peer_heaps, Rank::new((me + 1) % ranks)));
    }
    let mut ended = launch(case, kernel_of, route, rank, &peers, regions, seed, &AtomicI32::new(0));
    let sent = |peer| {
        let (memory, at) = if peer == me { (&heap, 0) } else { (&peer_heaps, peer * row) };
        let words: &[i32] = bytemuck::cast_slice(&memory.bytes()[at + row_at(me)..][..counts[me].len() * 4]);
        words.iter().map(|word| word * sign - 1).collect()
    };
    ended.sent = (0..ranks).map(sent).collect();
    ended
}

/// A rank's heap as kernels may access it.
pub(super) fn heap_region(heap: &mut LineMemory, rank: Rank) -> MemoryRegion {
    MemoryRegion {
        name: "heap",
        address: heap.address(),
        bytes: heap.bytes().len(),
        rank: rank.id() as u32,
        symmetric: true,
        writable: true,
    }
}

/// A rank's launch, in a group whose heaps lie at `peers`.
#[expect(clippy::too_many_arguments, reason = "a launch has them")]
pub(super) fn launch(
    case: &Case,
    kernel_of: &CaseKernel,
    route: &Route,
    rank: Rank,
    peers: &[u64],
    heaps: Vec<MemoryRegion>,
    seed: u64,
    stop: &AtomicI32,
) -> Ended {
    let CaseKernel { tables, sizes, counts_at, .. } = kernel_of;
    let me = rank.id();
    let chunks = RouteChunks::new(tables, route, sizes.capacity);
    let mut records = LineMemory::zeroed((tables.aic + tables.aiv) as usize * size_of::<HpmoeRecord>());
    let common = kernel_of.common();
    let made = |records: u64| {
        let addresses = Addresses { peers, tensors: &[], records, tables: TablePlace::Here };
        let mut made = RankTables::new(&common, &chunks, rank, &addresses);
        made.number(case.launch);
        made
    };
    let mut expected = made(records.address());
    let mut device = made(records.address());
    let mut ids = filled(&case.ids[me]);
    let mut first_pairs = filled(&kernel_of.first_pairs);
    let mut start_pairs = filled(&kernel_of.start_pairs);
    let mut fault = LineMemory::zeroed(size_of::<HpmoeRouteFault>());
    let mut routing = filled(&[HpmoeRouting {
        ids: ids.address(),
        counts: *counts_at as u64,
        first_pairs: first_pairs.address(),
        start_pairs: start_pairs.address(),
        fault: fault.address(),
        top_k: case.top_k as u32,
        count_pitch: case.count_pitch() as u32,
        capacity: sizes.capacity as u32,
        phases: tables.phases.len() as u32,
        spaces: tables.spaces.len() as u32,
        by_load: u32::from(case.by_load),
        once: u32::from(case.once),
        made: 0,
        ..HpmoeRouting::default()
    }]);
    let launch = unmake(&mut device, routing.address(), case.ids[me].len() / case.top_k, case.chunks);
    let region = |name, memory: &mut LineMemory, writable| MemoryRegion {
        name,
        symmetric: false,
        writable,
        ..heap_region(memory, rank)
    };
    let mut regions = heaps;
    regions.extend([
        region("records", &mut records, true),
        region("ids", &mut ids, false),
        region("first pairs", &mut first_pairs, false),
        region("start pairs", &mut start_pairs, false),
        region("fault", &mut fault, true),
        region("routing", &mut routing, false),
    ]);
    regions.extend(device.arenas().map(|(name, arena)| region(name, arena, name != "launch structure")));
    let run = RankRun {
        entry: kernel().entry(),
        launch,
        rank: me as u32,
        aic: tables.aic,
        aiv: tables.aiv,
        threads: 1,
        seed,
        regions: &regions,
        fault: None,
    };
    let outcome = kernel().run(&run, stop);
    let same = |(name, device): (&'static str, &mut LineMemory), expected: &mut LineMemory| {
        let mut bytes = device.bytes().to_vec();
        // Nobody makes what fills the last line.
        let end = bytes.iter().rposition(|byte| *byte != UNMADE).map_or(0, |last| last + 1);
        bytes[end..].fill(0);
        (name, expected.bytes().to_vec(), bytes)
    };
    let tables = device.arenas().zip(expected.arenas()).map(|(device, (_, expected))| same(device, expected)).collect();
    let states: &[HpmoeRecord] =
        bytemuck::cast_slice(&records.bytes()[..(case.cores * 3 / 2) * size_of::<HpmoeRecord>()]);
    Ended {
        outcome,
        tables,
        fault: bytemuck::pod_read_unaligned(&fault.bytes()[..size_of::<HpmoeRouteFault>()]),
        states: states.iter().map(|record| record.state).collect(),
        sent: Vec::new(),
    }
}

/// Memory with these values.
fn filled<T: bytemuck::Pod>(values: &[T]) -> LineMemory {
    let mut memory = LineMemory::zeroed(size_of_val(values).max(1));
    memory.write(0, values);
    memory
}

/// Spoils the tables that the device makes, and tells the launch what it makes them of. Returns the address of the launch
/// structure.
fn unmake(device: &mut RankTables, routing: u64, tokens: usize, chunks: usize) -> u64 {
    let address = device.launch_address();
    let mut host_made: Vec<u64> = Vec::new();
    for (name, arena) in device.arenas() {
        if name == "spaces" {
            let spaces = arena.bytes().chunks_exact(size_of::<HpmoeSpace>()).map(bytemuck::pod_read_unaligned);
            let of_tokens = |space: &HpmoeSpace| [HPMOE_BLOCKS, HPMOE_CHUNKS].contains(&space.kind);
            host_made.extend(spaces.filter(of_tokens).flat_map(|space| [space.first_items, space.counted]));
        }
    }
    for (name, arena) in device.arenas() {
        match name {
            "starts" | "experts" | "sends" | "arrivals" | "order" | "order of experts" | "items of peers"
            | "items as rows come" => arena.bytes_mut().fill(UNMADE),
            "items" | "items expert by expert" if !host_made.contains(&arena.address()) => {
                arena.bytes_mut().fill(UNMADE);
            }
            "launch structure" => {
                let mut launch: HpmoeLaunch = bytemuck::pod_read_unaligned(&arena.bytes()[..size_of::<HpmoeLaunch>()]);
                launch.routing = routing;
                launch.tokens = tokens as u32;
                launch.chunk_tokens = tokens.div_ceil(chunks) as u32;
                arena.write(0, &[launch]);
            }
            _ => {}
        }
    }
    address
}
