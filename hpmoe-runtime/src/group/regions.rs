//! The global memory that a rank's kernel may use.
//!
//! Each tensor and each table is a separate region that ends with its last real row, so that an access beyond it is found.

use hpmoe_kernels::Rank;

use super::rank::RankLaunch;
use super::row::LaunchStep;
use super::session::Session;
use crate::KernelTables;
use crate::backend::host::MemoryRegion;
use crate::layout::Word;
use crate::tables::{Storage, TensorTable};

/// Lists the regions of a rank in one step of the row.
pub(super) fn regions(
    tables: &KernelTables,
    row: &[LaunchStep<'_>],
    session: &mut Session,
    launch: &mut RankLaunch,
    step: usize,
) -> Vec<MemoryRegion> {
    let rank = launch.rank;
    let mut regions = tensors(tables, &row[step], session, rank);
    regions.extend(words(session, rank));
    regions.push(launch_words(session, rank));
    regions.extend(launch_tables(launch, step));
    regions.retain(|region| region.bytes > 0);
    regions
}

/// Lists the regions of ranks in other processes: their heaps, which this process may write.
pub(super) fn peer_regions(tables: &KernelTables, step: &LaunchStep<'_>, session: &mut Session) -> Vec<MemoryRegion> {
    let others = (0..session.ranks.len()).filter(|rank| !session.here.contains(rank)).map(Rank::new);
    let mut regions = Vec::new();
    for rank in others.collect::<Vec<_>>() {
        let heap = session.ranks[rank.id()].heap.address();
        let tensors = tables.tensors.iter().zip(&session.plan.tensors);
        let symmetric = tensors.filter(|(tensor, _)| matches!(tensor.storage, Storage::Symmetric | Storage::Shared(_)));
        let region = |(tensor, at): (&TensorTable, &usize)| {
            tensor_region(tables, tensor, step, session, rank, heap + *at as u64)
        };
        regions.extend(symmetric.map(region));
        regions.extend(words(session, rank));
    }
    regions.retain(|region| region.bytes > 0);
    regions
}

fn tensors(tables: &KernelTables, step: &LaunchStep<'_>, session: &mut Session, rank: Rank) -> Vec<MemoryRegion> {
    let memory = &mut session.ranks[rank.id()];
    let (heap, workspace) = (memory.heap.address(), memory.workspace.address());
    let region = |(tensor, at): (&TensorTable, &usize)| {
        let address = match tensor.storage {
            Storage::Shared(_) if session.sizes.processes => heap + *at as u64,
            Storage::Argument(number) | Storage::Shared(number) => step.arguments[number].part(rank).address,
            Storage::Workspace => workspace + *at as u64,
            Storage::Symmetric => heap + *at as u64,
        };
        tensor_region(tables, tensor, step, session, rank, address)
    };
    tables.tensors.iter().zip(&session.plan.tensors).map(region).collect()
}

/// The region of a tensor that starts at an address.
fn tensor_region(
    tables: &KernelTables,
    tensor: &TensorTable,
    step: &LaunchStep<'_>,
    session: &Session,
    rank: Rank,
    address: u64,
) -> MemoryRegion {
    let rows = match tensor.storage {
        Storage::Workspace | Storage::Symmetric if tables.chunks > 1 || step.route.chooses() => {
            session.sizes.rows(tensor.row_kind)
        }
        _ => step.route.rows(tensor.row_kind, rank),
    };
    MemoryRegion {
        name: tensor.name,
        address,
        bytes: tensor.row_bytes() * rows,
        rank: number(rank),
        symmetric: matches!(tensor.storage, Storage::Symmetric | Storage::Shared(_)),
        writable: tensor.writable || !matches!(tensor.storage, Storage::Argument(_)),
        self_validating: false,
    }
}

/// The launch words of a rank's cores, which no other rank accesses.
fn launch_words(session: &mut Session, rank: Rank) -> MemoryRegion {
    MemoryRegion { symmetric: false, ..word(session, rank, Word::Launches) }
}

/// The words of a rank's heap: counters, ready words, freed words, peers' counts, words of clocks, and the abort word.
fn words(session: &mut Session, rank: Rank) -> [MemoryRegion; 7] {
    [Word::Counters, Word::Ready, Word::Freed, Word::Counts, Word::Digests, Word::Clocks, Word::Abort]
        .map(|number| word(session, rank, number))
}

fn word(session: &mut Session, rank: Rank, word: Word) -> MemoryRegion {
    let heap = session.ranks[rank.id()].heap.address();
    MemoryRegion {
        name: word.name(),
        address: heap + session.plan.at(word) as u64,
        bytes: session.plan.bytes(word),
        rank: number(rank),
        symmetric: true,
        writable: true,
        // A count is never zero, and its sign is that of the launch.
        self_validating: matches!(word, Word::Counts | Word::Digests),
    }
}

/// The tables that the kernel reads, and the rank's records and time stamps.
fn launch_tables(launch: &mut RankLaunch, step: usize) -> Vec<MemoryRegion> {
    let RankLaunch { rank, steps, records, stamps } = launch;
    let region = |(name, arena, writable): (&'static str, &mut crate::memory::LineMemory, bool)| MemoryRegion {
        name,
        address: arena.address(),
        bytes: arena.bytes().len(),
        rank: number(*rank),
        symmetric: false,
        writable,
        self_validating: false,
    };
    let mut regions: Vec<MemoryRegion> = steps[step].arenas().map(region).collect();
    regions.push(region(("records", records, true)));
    regions.push(region(("time stamps", stamps, true)));
    regions
}

fn number(rank: Rank) -> u32 {
    u32::try_from(rank.id()).expect("ranks are numbered by u32")
}
