//! The memory that a group keeps for a kernel between launches.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::member::Member;
use super::remote::RemoteHeaps;
use crate::backend::host::SharedMapping;
use crate::backend::npu::{DeviceMemory, Npu, NpuError, symmetric_memory};
use crate::bootstrap::BootstrapError;
use crate::engine::OpenShmem;
use crate::layout::{MemoryPlan, RankSizes};
use crate::poisoned::Poisoned;
use crate::{KernelTables, LaunchError};

/// The memory of a kernel on all ranks.
pub(super) struct Session {
    pub(super) plan: MemoryPlan,
    pub(super) sizes: RankSizes,
    /// The memory of each rank. For a rank in another process, it is only the heap.
    pub(super) ranks: Vec<RankMemory>,
    /// The ranks that run in this process.
    pub(super) here: Range<usize>,
    /// Number of launches so far; the last launch's number.
    pub(super) launches: i32,
    /// The writer for heaps of ranks on other machines.
    pub(super) remote: Option<Arc<RemoteHeaps>>,
}

/// The memory that a kernel uses on one rank.
pub(super) struct RankMemory {
    pub(super) heap: Poisoned,
    pub(super) workspace: Poisoned,
}

impl Session {
    /// Allocates the memory of a kernel for ranks that are threads. The workspace and the heap's tensors start poisoned; counters, ready
    /// words and the abort word start as zeros. From then on each launch clears what the next one needs.
    ///
    /// # Errors
    ///
    /// The number of bytes that a rank needs, if there is too little memory.
    pub(super) fn new(tables: &KernelTables, sizes: &RankSizes) -> Result<Self, usize> {
        let plan = plan(tables, sizes)?;
        let memory = |_| {
            let heap = Poisoned::new(plan.heap, plan.heap_tensors())?;
            Some(RankMemory { heap, workspace: workspace(&plan)? })
        };
        let ranks = (0..sizes.ranks).map(memory).collect::<Option<_>>().ok_or_else(|| plan.needed())?;
        Ok(Self { plan, sizes: *sizes, ranks, here: 0..sizes.ranks, launches: 0, remote: None })
    }

    /// Like [`new`](Self::new), but allocates each rank's memory on its NPU.
    ///
    /// # Errors
    ///
    /// `no_room` if the size can't be represented, or CANN's error.
    pub(super) fn on_npus(
        tables: &KernelTables,
        sizes: &RankSizes,
        npus: &[Arc<Npu>],
        no_room: impl Fn(usize) -> LaunchError,
    ) -> Result<Self, LaunchError> {
        let plan = plan(tables, sizes).map_err(no_room)?;
        let memory = |npu: &Arc<Npu>| {
            Ok(RankMemory {
                heap: Poisoned::Device(DeviceMemory::poisoned(npu, plan.heap, plan.heap_tensors())?),
                workspace: Poisoned::Device(DeviceMemory::poisoned(npu, plan.workspace, plan.workspace)?),
            })
        };
        let ranks = npus.iter().map(memory).collect::<Result<_, NpuError>>()?;
        Ok(Self { plan, sizes: *sizes, ranks, here: 0..sizes.ranks, launches: 0, remote: None })
    }

    /// Like [`on_npus`](Self::on_npus), for ranks that are processes: each process maps the heaps of all ranks. All ranks must call this.
    ///
    /// # Errors
    ///
    /// As [`of_processes`](Self::of_processes).
    pub(super) fn of_npus(
        tables: &KernelTables,
        sizes: &RankSizes,
        npu: &Npu,
        member: &Member,
        limit: Duration,
        no_room: impl Fn(usize) -> LaunchError,
    ) -> Result<Self, LaunchError> {
        let rank = member.rank().id();
        let offer = || -> Result<_, NpuError> {
            let shared = symmetric_memory()?;
            shared.fits(npu)?;
            Ok((shared, shared.offer(rank)?))
        };
        let (shared, offers) =
            member.exchange_results("what gives memory", offer().map_err(LaunchError::from), limit)?;
        let own = || -> Result<_, LaunchError> {
            shared.begin(npu, rank, &offers)?;
            let plan = plan(tables, sizes).map_err(no_room)?;
            let workspace = DeviceMemory::poisoned(npu, plan.workspace, plan.workspace)?;
            let heap = shared.allocate(npu, plan.heap, plan.heap_tensors())?;
            let ticket = shared.ticket(npu, &heap)?;
            Ok(((plan, workspace, heap), [&superpod_bytes(npu.superpod())[..], &ticket].concat()))
        };
        let ((plan, workspace, heap), tickets) = member.exchange_results("memory", own(), limit)?;
        let mut own = Some(RankMemory { heap: Poisoned::Device(heap), workspace: Poisoned::Device(workspace) });
        let of_rank = |(peer, ticket): (usize, &Vec<u8>)| match own.take_if(|_| peer == rank) {
            Some(own) => Ok(own),
            None => {
                let (superpod, ticket) = ticket.split_at_checked(size_of::<i64>()).unwrap_or_default();
                check_superpods(rank, npu.superpod(), peer, superpod)?;
                let heap = Poisoned::Device(shared.open(npu, rank, peer, ticket)?);
                Ok(RankMemory { heap, workspace: Poisoned::empty() })
            }
        };
        let ranks = tickets.iter().enumerate().map(of_rank).collect::<Result<Vec<_>, LaunchError>>();
        // No heap may go before all ranks have opened it, nor may one be written that is not complete.
        let (ranks, _) =
            member.exchange_results("memory of all ranks", ranks.map(|ranks| (ranks, Vec::new())), limit)?;
        Ok(Self { plan, sizes: *sizes, ranks, here: rank..rank + 1, launches: 0, remote: None })
    }

    /// The NPU memory that is a rank's heap.
    pub(super) fn npu_heap(&self, rank: usize) -> &DeviceMemory {
        match &self.ranks[rank].heap {
            Poisoned::Device(heap) => heap,
            Poisoned::Filled(_) | Poisoned::Mapped(_) | Poisoned::Shared(_) => panic!("rank {rank} has no NPU"),
        }
    }

    /// Allocates the memory of a kernel for ranks that are processes of one machine. Each process maps the heaps of all ranks, so peers
    /// write them directly, and nothing is left when the processes have ended. All ranks must call this.
    ///
    /// # Errors
    ///
    /// `no_room` if this machine has too little memory; otherwise the error of the rank that failed.
    pub(super) fn of_processes(
        tables: &KernelTables,
        sizes: &RankSizes,
        member: &Member,
        limit: Duration,
        no_room: impl Fn(usize) -> LaunchError,
    ) -> Result<Self, LaunchError> {
        if let Some(engine) = member.engine() {
            return Self::of_engine(tables, sizes, member, engine, limit, no_room);
        }
        let rank = member.rank().id();
        let unshared = |peer: usize, error: std::io::Error| {
            let none =
                BootstrapError::no_descriptor(&format!("mapping the heap of rank {peer} in rank {rank}"), &error);
            let unshared = || LaunchError::SharedMemory { rank, peer, cause: error.to_string() };
            none.map_or_else(unshared, LaunchError::from)
        };
        let own = || -> Result<_, LaunchError> {
            let plan = plan(tables, sizes).map_err(&no_room)?;
            let workspace = workspace(&plan).ok_or_else(|| no_room(plan.needed()))?;
            let heap = SharedMapping::create(plan.heap, plan.heap_tensors()).map_err(|error| unshared(rank, error))?;
            let ticket = heap.ticket().map_err(|error| unshared(rank, error))?;
            Ok(((plan, workspace, heap), ticket))
        };
        let ((plan, workspace, heap), tickets) = member.exchange_results("memory", own(), limit)?;
        // Kept until all ranks have opened it, even if this rank can't open the others.
        let (heap, mut workspace) = (Arc::new(heap), Some(workspace));
        let of_rank = |(peer, ticket): (usize, &Vec<u8>)| {
            let heap = match peer == rank {
                true => Arc::clone(&heap),
                false => Arc::new(SharedMapping::open(ticket).map_err(|error| unshared(peer, error))?),
            };
            let workspace = workspace.take_if(|_| peer == rank).or_else(|| Poisoned::new(0, 0));
            Ok(RankMemory { heap: Poisoned::Shared(heap), workspace: workspace.ok_or_else(|| no_room(plan.needed()))? })
        };
        let ranks = tickets.iter().enumerate().map(of_rank).collect::<Result<Vec<_>, _>>();
        // No heap may go before all ranks have opened it, nor may one be written that is not complete.
        let (ranks, _) =
            member.exchange_results("memory of all ranks", ranks.map(|ranks| (ranks, Vec::new())), limit)?;
        Ok(Self { plan, sizes: *sizes, ranks, here: rank..rank + 1, launches: 0, remote: None })
    }

    /// Like [`of_processes`](Self::of_processes), for heaps of other ranks that an engine writes. All heaps have the same offset in the
    /// engine's symmetric memory. All ranks must call this.
    fn of_engine(
        tables: &KernelTables,
        sizes: &RankSizes,
        member: &Member,
        engine: &'static OpenShmem,
        limit: Duration,
        no_room: impl Fn(usize) -> LaunchError,
    ) -> Result<Self, LaunchError> {
        let rank = member.rank().id();
        let own = || -> Result<_, LaunchError> {
            let plan = plan(tables, sizes).map_err(&no_room)?;
            let workspace = workspace(&plan).ok_or_else(|| no_room(plan.needed()))?;
            Ok(((plan, workspace), Vec::new()))
        };
        // Either all ranks reach the allocation, or none.
        let ((plan, workspace), _) = member.exchange_results("memory", own(), limit)?;
        let heaps = RemoteHeaps::new(engine, rank, sizes.ranks, plan.heap, plan.heap_tensors());
        // No heap may be written that is not complete.
        let ((remote, heaps), _) =
            member.exchange_results("memory of all ranks", heaps.map(|heaps| (heaps, Vec::new())), limit)?;
        let mut own = Some(workspace);
        let memory = |(peer, heap)| RankMemory {
            heap: Poisoned::Shared(heap),
            workspace: own.take_if(|_| peer == rank).unwrap_or_else(Poisoned::empty),
        };
        let ranks = heaps.into_iter().enumerate().map(memory).collect();
        Ok(Self { plan, sizes: *sizes, ranks, here: rank..rank + 1, launches: 0, remote: Some(Arc::new(remote)) })
    }

    /// The heap of a rank, if other processes map it.
    pub(super) fn shared_heap(&self, rank: usize) -> Option<Arc<SharedMapping>> {
        match &self.ranks[rank].heap {
            Poisoned::Shared(heap) => Some(Arc::clone(heap)),
            Poisoned::Filled(_) | Poisoned::Mapped(_) | Poisoned::Device(_) => None,
        }
    }
}

/// Stands for the superpod of an NPU whose driver does not report it.
const UNKNOWN: i64 = i64::MIN;

fn superpod_bytes(superpod: Option<i64>) -> [u8; size_of::<i64>()] {
    superpod.unwrap_or(UNKNOWN).to_le_bytes()
}

/// Refuses ranks in two superpods, if both superpods are known.
fn check_superpods(rank: usize, own: Option<i64>, peer: usize, bytes: &[u8]) -> Result<(), NpuError> {
    let other = bytes.try_into().map_or(UNKNOWN, i64::from_le_bytes);
    match own {
        Some(superpod) if superpod != other && other != UNKNOWN => {
            Err(NpuError::Superpods { rank, superpod, peer, other })
        }
        _ => Ok(()),
    }
}

fn plan(tables: &KernelTables, sizes: &RankSizes) -> Result<MemoryPlan, usize> {
    let plan = MemoryPlan::new(&tables.shape(), sizes);
    if plan.counters.can_be_numbered() { Ok(plan) } else { Err(plan.needed()) }
}

fn workspace(plan: &MemoryPlan) -> Option<Poisoned> {
    Poisoned::new(plan.workspace, plan.workspace)
}
