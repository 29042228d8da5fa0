//! Launches the kernel that makes a route on one rank, in separate memory.

use std::collections::HashMap;
use std::sync::atomic::AtomicI32;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hpmoe_kernels::op::ElementType;
use hpmoe_kernels::route::{ExpertOrder, ExpertOrders, chunk_counts};
use hpmoe_kernels::{PerRank, Placement, Rank, Route};

use super::case::Case;
use crate::KernelTables;
use crate::abi::{
    HPMOE_DIGEST_WORDS, HPMOE_ROW_TILES, HPMOE_UNROUTED, HpmoeDescriptor, HpmoeKeptHead, HpmoeRecord, LINE,
};
use crate::backend::host::library::KernelLibrary;
use crate::backend::host::{MemoryRegion, Outcome, RankRun};
use crate::layout::routed::UNMADE;
use crate::layout::tables::{Addresses, Common, RankTables, TablePlace, TensorAddress};
use crate::layout::{KernelRoute, LaunchRoute, MemoryPlan, RankSizes, RouteChunks, Word};
use crate::memory::LineMemory;
use crate::tables::{
    ChunkedSchedules, CounterTable, Grid, PhaseTable, RouteTable, RowKind, ScheduleTable, Storage, TensorTable,
};
use crate::testing::{TABLES, tensor};

/// The smallest number that counts as a fault instead of a count.
pub(super) const FAULT_COUNT: i32 = 1 << 22;

/// Number of words in the head of a kept route.
pub(super) const KEPT_HEAD: usize = size_of::<HpmoeKeptHead>() / 4;

/// Number of launches without a route before the one under test.
pub(super) const UNROUTED_BEFORE: u32 = 7;

fn kernel(bare: bool) -> &'static KernelLibrary {
    static KERNELS: [OnceLock<KernelLibrary>; 2] = [OnceLock::new(), OnceLock::new()];
    KERNELS[usize::from(bare)].get_or_init(|| KernelLibrary::compile(if bare { "bare_routing" } else { "routing" }))
}

/// How a kernel uses kept routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kept {
    No,
    /// The kernel keeps the route that it makes.
    Keeps,
    /// The kernel takes a route that the host has kept.
    Takes,
}

/// The kernel of a case, with its settings.
pub(super) struct CaseKernel {
    pub(super) tables: KernelTables,
    pub(super) sizes: RankSizes,
    pub(super) plan: MemoryPlan,
    /// Maximum time that a core waits, in cycles of 20 ns.
    pub(super) time_limit: u64,
    kept: Kept,
    /// A wrong word in the head of this rank's kept route: its index and value.
    pub(super) other_word: Option<(usize, i32)>,
    /// Whether the kernel lacks the code that only some launches need.
    pub(super) bare: bool,
}

impl CaseKernel {
    pub(super) fn new(case: &Case) -> Self {
        Self::with_kept(case, Kept::No)
    }

    pub(super) fn with_kept(case: &Case, kept: Kept) -> Self {
        let cores = case.cores * 3 / 2;
        // One entry walks the tiles of the first space in arrival order, with turns shorter or longer than a tile.
        let turn = [1, 2, 3, 16, 100][case.tokens % 5];
        let schedules = |turn: u32| -> &'static [ScheduleTable] {
            let walked =
                HpmoeDescriptor { kind: HPMOE_ROW_TILES as u16, arrival_turn: turn, ..HpmoeDescriptor::default() };
            vec![ScheduleTable {
                ranks: case.ranks as u32,
                queues: vec![(0, 0); cores].leak(),
                descriptors: bytemuck::bytes_of(&walked).to_vec().leak(),
            }]
            .leak()
        };
        // Each number of chunks has its own length of turns.
        let chosen = chunk_counts(1, case.at_most).filter(|chunks| *chunks > 1);
        let chosen = chosen.map(|chunks| ChunkedSchedules { chunks, schedules: schedules(turn + chunks as u32) });
        let chosen: Vec<_> = chosen.filter(|_| case.at_most.is_some()).collect();
        let blocks = (0..case.before).map(|phase| vec![(5, 3 + 2 * phase)]);
        let after = [vec![], vec![(0, 3)], vec![(3, 1), (4, 7)], vec![(5, 2), (6, 5), (2, 4), (1, 1)]];
        let starts: Vec<Vec<(u32, u32)>> = blocks.chain(after).collect();
        let phase = |starts: &Vec<(u32, u32)>| PhaseTable {
            task: "task",
            name: "task",
            source: "task(..)",
            line: 1,
            space: 0,
            starts: starts.clone().leak(),
        };
        let ids = TensorTable {
            element: ElementType::i32,
            columns: case.top_k as u32,
            ..tensor("ids", RowKind::Token, Storage::Argument(0))
        };
        let once = case.once.then(|| tensor("once", RowKind::Once, Storage::Symmetric));
        let routed = (kept != Kept::No).then(|| TensorTable {
            element: ElementType::i32,
            columns: 1,
            ..tensor("routed", RowKind::Routed, Storage::Argument(1))
        });
        let sums = case
            .sums
            .then(|| TensorTable { writable: true, ..tensor("sums", RowKind::Expert(1), Storage::Argument(2)) });
        let tensors: Vec<TensorTable> = std::iter::once(ids).chain(once).chain(routed).chain(sums).collect();
        let tables = KernelTables {
            experts: case.experts,
            spare: case.spare,
            top_k: case.top_k,
            tokens: case.tokens,
            chunks: case.chunks,
            aic: (case.cores / 2) as u32,
            aiv: case.cores as u32,
            expert_orders: match case.order {
                ExpertOrder::Number => ExpertOrders::Number,
                ExpertOrder::Load => ExpertOrders::Load,
                ExpertOrder::Mixed => ExpertOrders::LightestFirstFrom(u32::MAX),
                ExpertOrder::LightestFirst => ExpertOrders::LightestFirstFrom(1),
            },
            route: Some(RouteTable {
                ids: usize::from(kept == Kept::Takes),
                kept: kept == Kept::Takes,
                groups: case.groups,
                keeps: (kept == Kept::Keeps).then_some(1),
                tokens: 0,
                before: case.before,
                ready: None,
                made: 0,
                source: "Route::of(..)",
                line: 1,
            }),
            tensors: tensors.leak(),
            spaces: case.spaces.clone().leak(),
            counters: &[CounterTable { name: "made", grid: Grid::Rank }],
            phases: starts.iter().map(phase).collect::<Vec<_>>().leak(),
            schedules: schedules(turn),
            chosen: chosen.leak(),
            ..TABLES
        };
        let sizes = RankSizes::new(&tables.sizes(), case.ranks, case.capacity, false);
        let mut plan = MemoryPlan::new(&tables.shape(), &sizes);
        // Heaps of peers overlap, but start so far apart that their counts and digests don't.
        let row = tables.shape().count_pitch(case.ranks) * size_of::<i32>();
        plan.words[Word::Counts as usize].0 = plan.heap + case.ranks * row;
        let counted = plan.at(Word::Counts) + plan.bytes(Word::Counts);
        plan.words[Word::Digests as usize].0 = counted + case.ranks * row;
        plan.heap = plan.at(Word::Digests) + plan.bytes(Word::Digests);
        Self { tables, sizes, plan, time_limit: 60 * 50_000_000, kept, other_word: None, bare: false }
    }

    /// Bytes of a rank's counts.
    fn row(&self) -> usize {
        self.tables.shape().count_pitch(self.sizes.ranks) * size_of::<i32>()
    }

    fn common<'a>(&'a self, tables: &'a KernelTables) -> Common<'a> {
        Common::new(tables, &tables.schedules[0], &self.plan, self.time_limit, 0)
    }

    /// The number of chunks of the launch.
    pub(super) fn chunks(&self, route: &Route) -> usize {
        if self.sizes.chunks_at_most.is_some() {
            RouteChunks::choose(&self.tables, route, &self.sizes)
        } else {
            self.tables.chunks
        }
    }

    /// The tables for the number of chunks in which ranks count rows.
    pub(super) fn counted(&self) -> KernelTables {
        self.tables.in_chunks(self.sizes.counted_chunks())
    }
}

/// The results of one rank's launch.
pub(super) struct Ended {
    pub(super) outcome: Outcome,
    /// Each table: its name, the host's bytes and the device's bytes.
    pub(super) tables: Vec<(&'static str, Vec<u8>, Vec<u8>)>,
    /// The records of all cores. The first vector core's record says why there is no route.
    pub(super) records: Vec<HpmoeRecord>,
    /// The counts that the rank sent to each peer.
    pub(super) sent: Vec<Vec<i32>>,
}

impl Ended {
    /// The record of the first vector core, which names the fault if there is no route.
    pub(super) fn fault(&self) -> &HpmoeRecord {
        &self.records[self.records.len() / 3]
    }

    pub(super) fn states(&self) -> Vec<u32> {
        self.records.iter().map(|record| record.state).collect()
    }
}

/// A rank's counts as they are sent, but without the launch's sign.
pub(super) fn counts(case: &Case, chunks: &RouteChunks<'_>, rank: Rank) -> Vec<i32> {
    let of_places = |route: &Route| route.experts().map(|e| route.pair(rank, e).rows).collect::<Vec<_>>();
    let each = chunks.routes().iter().flat_map(|route| match &case.placement {
        None => of_places(route),
        Some(placement) => {
            let rows = of_places(route);
            placement.columns().into_iter().map(|(_, place)| place.map_or(0, |place| rows[place])).collect()
        }
    });
    let whole = chunks.whole();
    let once = whole.experts().filter(|_| case.once).map(|e| whole.pair_once(rank, e).rows);
    each.chain(once).map(|rows| rows as i32).collect()
}

/// Launches one rank without its peers. `counts` are the counts that the peers would send.
pub(super) fn run(
    case: &Case,
    kernel_of: &CaseKernel,
    route: &Route,
    rank: Rank,
    counts: &[Vec<i32>],
    seed: u64,
) -> Ended {
    let (me, ranks, row) = (rank.id(), case.ranks, kernel_of.row());
    let row_at = |rank: usize| kernel_of.plan.at(Word::Counts) + (case.launch as usize % 2 * ranks + rank) * row;
    let sign = case.sign();
    let mut heap = LineMemory::zeroed(kernel_of.plan.heap);
    let launch_words = || (0..case.cores * 3 / 2).map(|core| kernel_of.plan.at(Word::Launches) + core * LINE);
    launch_words().for_each(|at| heap.write(at, &[case.launch.wrapping_sub(1)]));
    let mut peer_heaps = LineMemory::zeroed(kernel_of.plan.heap + ranks * row);
    for (source, counts) in counts.iter().enumerate() {
        // Its own counts are as the launch before the last left them.
        let signed = |count: &i32| if source == me { -sign * (count / 2 + 1) } else { sign * (count + 1) };
        heap.write(row_at(source), &counts.iter().map(signed).collect::<Vec<_>>());
    }
    // A rank that takes the host's kept route sends that no launch kept it.
    let digest = |placement: &Placement| {
        if kernel_of.kept == Kept::Takes { 1 } else { placement.device_words(1)[0] as i32 + 1 }
    };
    let digest_at = |rank: usize| {
        kernel_of.plan.at(Word::Digests) + (case.launch as usize % 2 * ranks + rank) * HPMOE_DIGEST_WORDS as usize * 4
    };
    for source in (0..ranks).filter(|source| *source != me) {
        let placement = case.other_placement.as_ref().filter(|(rank, _)| *rank == source).map(|(_, other)| other);
        if let Some(placement) = placement.or(case.placement.as_ref()) {
            heap.write(digest_at(source), &[sign * digest(placement)]);
        }
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
        let words: &[i32] = bytemuck::cast_slice(&memory.bytes()[at + row_at(me)..][..row]);
        let told: i32 = bytemuck::pod_read_unaligned(&memory.bytes()[at + digest_at(me)..][..4]);
        let wanted = sign * case.placement.as_ref().map_or(0, digest);
        assert_eq!(told, wanted, "case {seed}: digest of {rank} for rank {peer}, {:?}", ended.outcome);
        let (sent, others) = words.split_at(counts[me].len());
        assert!(others.iter().all(|word| *word == 0), "no word is sent that is not a count");
        sent.iter().map(|word| word * sign - 1).collect()
    };
    ended.sent = (0..ranks).map(sent).collect();
    let word = |at: usize| bytemuck::pod_read_unaligned::<i32>(&heap.bytes()[at..at + 4]);
    let left = matches!(ended.outcome, Outcome::Left(_));
    assert!(!left || launch_words().all(|at| word(at) == case.launch), "every core leaves the number of the launch");
    ended
}

/// The memory region of a rank's heap, for the host's checks.
pub(super) fn heap_region(heap: &mut LineMemory, rank: Rank) -> MemoryRegion {
    MemoryRegion {
        name: "heap",
        address: heap.address(),
        bytes: heap.bytes().len(),
        rank: rank.id() as u32,
        symmetric: true,
        writable: true,
        self_validating: false,
    }
}

/// Launches one rank of a group whose heaps are at `peers`.
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
    let CaseKernel { tables, sizes, .. } = kernel_of;
    let me = rank.id();
    let before = HpmoeRecord { unrouted: UNROUTED_BEFORE, ..HpmoeRecord::default() };
    let mut records = filled(&vec![before; (tables.aic + tables.aiv) as usize]);
    let mut ids = filled(&case.ids[me]);
    let kept = if kernel_of.kept == Kept::No { Vec::new() } else { route.kept_words(rank, sizes.kept_chunks()) };
    let mut given = kept.clone();
    match kernel_of.kept {
        Kept::Takes => kernel_of.other_word.iter().for_each(|(word, number)| given[*word] = *number),
        // Start from a head that an earlier launch left.
        Kept::Keeps => {
            given.fill(0);
            given[..KEPT_HEAD].fill(0x7777);
        }
        Kept::No => {}
    }
    let mut routed = filled(&given);
    // Nothing accesses the last one.
    let tensors = [ids.address(), routed.address(), 0].map(TensorAddress::At);
    let chunks = kernel_of.chunks(route);
    let in_chunks = tables.in_chunks(chunks);
    let made = |tables: &KernelTables, route: &LaunchRoute<'_>, records: u64| {
        let addresses = Addresses {
            peers,
            tensors: &tensors[..tables.tensors.len()],
            records,
            stamps: 0,
            tables: TablePlace::Here,
        };
        RankTables::new(&kernel_of.common(tables), route, rank, &addresses)
    };
    let placement = case.placement.clone().map(Arc::new);
    let tokens = PerRank::from_fn(route.ranks(), |rank| case.ids[rank.id()].len() / case.top_k);
    let of_host = LaunchRoute::Host(RouteChunks::new(&in_chunks, route, sizes));
    let mut expected = made(&in_chunks, &of_host, records.address());
    let of_kernel = LaunchRoute::Kernel(KernelRoute::new(tokens, *sizes, placement));
    let mut device = made(tables, &of_kernel, records.address());
    let launch = device.launch_address();
    let region = |name, memory: &mut LineMemory, writable| MemoryRegion {
        name,
        symmetric: false,
        writable,
        self_validating: false,
        ..heap_region(memory, rank)
    };
    let mut regions = heaps;
    regions.extend([region("records", &mut records, true), region("ids", &mut ids, false)]);
    regions.push(region("routed", &mut routed, kernel_of.kept == Kept::Keeps));
    for (name, arena, by_kernel) in device.arenas() {
        regions.push(region(name, arena, by_kernel));
    }
    let run = RankRun {
        races: None,
        writer: None,
        entry: kernel(kernel_of.bare).entry(),
        launch,
        rank: me as u32,
        aic: tables.aic,
        aiv: tables.aiv,
        threads: 1,
        alone: Duration::ZERO,
        checks: true,
        is_over: None,
        seed,
        regions: &regions,
        fault: None,
    };
    let outcome = kernel(kernel_of.bare).run(&run, stop);
    let mut tables = compared(&mut device, &mut expected, route.order(rank).len() as i32);
    if sizes.chooses() {
        let (_, starts, _) = tables.iter_mut().find(|(name, ..)| *name == "starts").expect("the tables include starts");
        starts.resize(kernel_of.tables.phases.len() * 4, 0);
        starts.extend((chunks as u32).to_le_bytes());
    }
    let records: &[HpmoeRecord] =
        bytemuck::cast_slice(&records.bytes()[..(case.cores * 3 / 2) * size_of::<HpmoeRecord>()]);
    if kernel_of.kept == Kept::Keeps {
        // The host's route has no launch number.
        let mut expected = kept;
        expected[1] = case.launch;
        // An invalid route is not kept.
        if records[case.cores / 2].state == HPMOE_UNROUTED {
            expected.fill(0);
        }
        let bytes = bytemuck::cast_slice::<i32, u8>(&expected).to_vec();
        tables.push(("kept route", bytes, routed.bytes()[..size_of_val(&expected[..])].to_vec()));
    }
    Ended { outcome, tables, records: records.to_vec(), sent: Vec::new() }
}

/// Memory that starts with these values.
fn filled<T: bytemuck::Pod>(values: &[T]) -> LineMemory {
    let mut memory = LineMemory::zeroed(size_of_val(values).max(1));
    memory.write(0, values);
    memory
}

/// Name of a table that only kernels make: the number of the rank's non-empty slots.
const SENT: &str = "slots sent";

/// Compares each table that the device made with the host's: name, expected bytes, actual bytes. The device's tables
/// may be longer, because they have unused room.
fn compared(
    device: &mut RankTables,
    expected: &mut RankTables,
    expected_sent: i32,
) -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let mut of_host: HashMap<&'static str, Vec<Vec<u8>>> = HashMap::new();
    for (name, arena, _) in expected.arenas() {
        of_host.entry(name).or_default().push(trimmed(arena.bytes(), &[0]));
    }
    let mut seen: HashMap<&'static str, usize> = HashMap::new();
    let mut tables = Vec::new();
    for (name, arena, by_kernel) in device.arenas() {
        let number = seen.entry(name).or_default();
        if name == SENT {
            let sent = expected_sent.to_ne_bytes().to_vec();
            tables.push((name, sent, arena.bytes()[..4].to_vec()));
        } else if by_kernel {
            // The host leaves out tables without words.
            let host = of_host.get(name).and_then(|all| all.get(*number)).cloned().unwrap_or_default();
            tables.push((name, host, trimmed(arena.bytes(), &[0, UNMADE])));
        }
        *number += 1;
    }
    tables
}

/// The words of `bytes` up to the last one that is not in `of`.
fn trimmed(bytes: &[u8], of: &[i32]) -> Vec<u8> {
    let words: &[i32] = bytemuck::cast_slice(bytes);
    let end = words.iter().rposition(|word| !of.contains(word)).map_or(0, |last| last + 1);
    bytes[..4 * end].to_vec()
}
