//! One rank's NPU during a launch.
#![expect(unsafe_code, reason = "the launch of a kernel")]

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use bytemuck::Zeroable as _;
use hpmoe_kernels::Rank;
use hpmoe_kernels::memory::OffsetAllocator;

use super::super::rank_end::{RankEnd, is_done};
use super::super::shared::LaunchShared;
use crate::abi::{HpmoeRecord, LINE};
use crate::backend::host::{HostStatistics, Outcome};
use crate::backend::npu::{LentMemory, Npu, NpuError, Program, SentBlock, Start, WaitForOldest};
use crate::layout::stamps::{RankStamps, stamp_bytes};
use crate::layout::tables::{RankTables, record_bytes};
use crate::tables::Storage;
use crate::{Argument, KernelTables};

/// Minimum time that a kernel may run, in addition to twice the time limit of a wait.
const RUN: Duration = Duration::from_secs(60);

/// One rank's NPU, with the memory that launches keep there until they have ended. Fields are dropped in order, because tables refer to
/// arguments.
pub(super) struct OnNpu {
    pub(super) npu: Arc<Npu>,
    pub(super) rank: Rank,
    pub(super) program: Arc<Program>,
    pub(super) launches: Vec<Block>,
    /// The caller's tensors, by step.
    pub(super) arguments: Vec<Arguments>,
}

/// The argument block of a launch in the NPU's memory, with its records before the tables.
pub(super) struct Block {
    memory: LentMemory,
    /// Address of the launch structure.
    launch: u64,
    /// Offset of the placement in bytes, if the kernel makes its route with a placement.
    placement_at: Option<usize>,
}

/// The caller's tensors of one step on one rank, in the NPU's memory.
pub(super) struct Arguments {
    /// Memory with copies of the tensors that are in host memory.
    memory: LentMemory,
    places: Vec<ArgumentPlace>,
}

/// Where a kernel finds a tensor of the caller.
#[derive(Clone, Copy, Debug)]
enum ArgumentPlace {
    /// In a copy, at this byte offset of the copies' memory.
    Copied(usize),
    /// In the caller's own NPU memory, at this address.
    Own(u64),
}

impl OnNpu {
    /// Makes the bytes of a launch's argument block, and keeps memory for it until the stream has been waited for. `tables` makes the
    /// tables for records at a given address.
    pub(super) fn block(
        &mut self,
        shared: &LaunchShared<'_>,
        tables: impl Fn(u64) -> RankTables,
    ) -> Result<Vec<u8>, NpuError> {
        let room = room_before_tables(shared);
        let memory = self.npu.lend(room + tables(0).image_bytes())?;
        let mut tables = tables(memory.address());
        let placement_at = tables.placement_at().map(|at| room + at);
        self.launches.push(Block { memory, launch: tables.launch_address(), placement_at });
        Ok([vec![0; room], tables.image()].concat())
    }

    /// Copies the argument block of a launch to the NPU, and returns when the copy is complete.
    pub(super) fn write(&self, launch: usize, block: &[u8]) -> Result<(), NpuError> {
        self.launches[launch].memory.write(0, block)
    }

    /// Overwrites the placement of all launches, and returns when the copies are complete. Each launch must have a placement.
    pub(super) fn place(&self, placement: &[u32]) -> Result<(), NpuError> {
        self.launches.iter().try_for_each(|block| {
            let at = block.placement_at.expect("the launch has a placement");
            block.memory.write(at, bytemuck::cast_slice(placement))
        })
    }

    /// Enqueues the copy of a launch's argument block.
    pub(super) fn send(
        &self,
        shared: &LaunchShared<'_>,
        launch: usize,
        block: &[u8],
        with_patience: impl FnOnce(WaitForOldest<'_>) -> Result<(), NpuError>,
    ) -> Result<SentBlock<'_>, NpuError> {
        // Other groups may have launches there, too.
        let limit = Duration::from_secs(seconds(shared).into()).saturating_mul(u32::from(u8::MAX));
        self.npu.send(block, &self.launches[launch].memory, limit, with_patience)
    }

    /// Enqueues a launch whose argument block was made.
    pub(super) fn start(&self, shared: &LaunchShared<'_>, launch: usize) -> Result<(), NpuError> {
        if let Some(delay) = shared.options.delays.get(&self.rank.id()) {
            sleep(*delay);
        }
        self.put(shared, launch, None)
    }

    /// Enqueues the first launch on a stream of the caller that is being captured.
    pub(super) fn capture(&self, shared: &LaunchShared<'_>, stream: usize) -> Result<(), NpuError> {
        self.put(shared, 0, Some(stream))
    }

    fn put(&self, shared: &LaunchShared<'_>, launch: usize, captured: Option<usize>) -> Result<(), NpuError> {
        // Kernels use no flags between cores. An object that wants the address for these would take it first: `[0, ..]`.
        let arguments = [self.launches[launch].launch];
        let start = Start { groups: shared.kernel.tables().aic, arguments: &arguments, seconds: seconds(shared) };
        // SAFETY: made from this kernel's tables, which `launches` and `arguments` hold until the stream has been waited for; the
        // session's memory outlives the launch.
        unsafe {
            match captured {
                None => self.program.enqueue(&self.npu, start),
                Some(stream) => self.program.capture(&self.npu, start, stream),
            }
        }
    }

    /// The end of the first launch whose cores did not all finish, or else of the last launch.
    pub(super) fn end(&self, shared: &LaunchShared<'_>) -> Result<RankEnd, NpuError> {
        let cores = (shared.kernel.tables().aic + shared.kernel.tables().aiv) as usize;
        let mut last = (shared.first, vec![HpmoeRecord::zeroed(); cores]);
        for (number, block) in (shared.first..).zip(&self.launches) {
            block.memory.read(0, bytemuck::cast_slice_mut(&mut last.1))?;
            last.0 = number;
            if !is_done(&last.1) {
                break;
            }
        }
        let (host, stamps) = (HostStatistics::default(), self.time_stamps(shared, last.0)?);
        Ok(RankEnd { outcome: Outcome::Left(host), records: last.1, number: last.0, host, stamps })
    }

    /// The time stamps of launch number `number`.
    fn time_stamps(&self, shared: &LaunchShared<'_>, number: i32) -> Result<RankStamps, NpuError> {
        let (tables, room) = (shared.kernel.tables(), shared.options.stamp_room);
        let mut bytes = vec![0; stamp_bytes(tables, shared.sizes.ranks, room)];
        let launch = self.launches.get(number.wrapping_sub(shared.first) as usize);
        if let Some(block) = launch.filter(|_| !bytes.is_empty()) {
            block.memory.read(record_room(tables), &mut bytes)?;
        }
        Ok(RankStamps::read(tables, shared.sizes.ranks, room, &bytes))
    }

    /// Copies the results of the launches to the caller's tensors.
    pub(super) fn copy_out(
        &self,
        tables: &KernelTables,
        row: &[&[Argument<'_>]],
        processes: bool,
    ) -> Result<(), NpuError> {
        let written = |argument: usize| {
            // Tensors that peers in other processes write are in the heap.
            let of_argument = |storage| match storage {
                Storage::Argument(number) => number == argument,
                Storage::Shared(number) => number == argument && !processes,
                Storage::Workspace | Storage::Symmetric => false,
            };
            tables.tensors.iter().any(|tensor| tensor.writable && of_argument(tensor.storage))
        };
        for (row, arguments) in row.iter().zip(&self.arguments) {
            for (number, (argument, place)) in row.iter().zip(&arguments.places).enumerate() {
                match place {
                    ArgumentPlace::Copied(at) if written(number) => {
                        arguments.memory.copy_out(*at, argument, self.rank)?;
                    }
                    ArgumentPlace::Copied(_) | ArgumentPlace::Own(_) => {}
                }
            }
        }
        Ok(())
    }
}

impl Arguments {
    pub(super) fn copy_in(npu: &Arc<Npu>, rank: Rank, arguments: &[Argument<'_>]) -> Result<Self, NpuError> {
        let mut room = OffsetAllocator::default();
        let place = |argument: &Argument<'_>| match argument.on_npus {
            true => ArgumentPlace::Own(argument.part(rank).address),
            false => ArgumentPlace::Copied(room.take(argument.bytes(rank))),
        };
        let places: Vec<ArgumentPlace> = arguments.iter().map(place).collect();
        let memory = npu.lend(room.end())?;
        for (argument, place) in arguments.iter().zip(&places) {
            if let ArgumentPlace::Copied(at) = place {
                memory.copy_in(argument, rank, *at)?;
            }
        }
        Ok(Self { memory, places })
    }

    pub(super) fn addresses(&self) -> Vec<u64> {
        let address = |place: &ArgumentPlace| match place {
            ArgumentPlace::Copied(at) => self.memory.address() + *at as u64,
            ArgumentPlace::Own(address) => *address,
        };
        self.places.iter().map(address).collect()
    }
}

/// Bytes of the records, rounded up to a line. Time stamps follow them.
pub(super) const fn record_room(tables: &KernelTables) -> usize {
    record_bytes(tables).next_multiple_of(LINE)
}

/// Bytes of records and time stamps, each rounded up to a line. The tables follow them.
pub(super) fn room_before_tables(shared: &LaunchShared<'_>) -> usize {
    let tables = shared.kernel.tables();
    record_room(tables) + stamp_bytes(tables, shared.sizes.ranks, shared.options.stamp_room).next_multiple_of(LINE)
}

/// Maximum time, in seconds, that one launch may run. It is longer than a core may wait, so waits end first.
pub(super) fn seconds(shared: &LaunchShared<'_>) -> u16 {
    let limit = shared.options.time_limit.saturating_mul(2).saturating_add(RUN);
    u16::try_from(limit.as_secs()).unwrap_or(u16::MAX)
}
