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

/// The least that a kernel may run, in addition to what one of its waits may take.
const RUN: Duration = Duration::from_secs(60);

/// The memory that launches on one NPU keep there until they have ended. Fields are dropped in order: tables refer to
/// arguments.
pub(super) struct OnNpu {
    pub(super) npu: Arc<Npu>,
    pub(super) rank: Rank,
    pub(super) program: Arc<Program>,
    pub(super) launches: Vec<Block>,
    /// The caller's tensors, for each step.
    pub(super) arguments: Vec<Arguments>,
}

/// The argument block and the records of a launch.
pub(super) struct Block {
    memory: LentMemory,
    /// Address of the launch structure.
    launch: u64,
    /// Bytes before the placement, if the kernel makes its route by one.
    placement_at: Option<usize>,
}

/// The caller's tensors of one rank and step.
pub(super) struct Arguments {
    /// Copies of those that are in the host's memory.
    memory: LentMemory,
    places: Vec<ArgumentPlace>,
}

/// The place where a kernel finds a tensor of the caller.
#[derive(Clone, Copy, Debug)]
enum ArgumentPlace {
    /// A copy, at this byte offset.
    Copied(usize),
    /// The caller's own memory, of the NPU.
    Own(u64),
}

impl OnNpu {
    /// Makes the argument block of a launch: its bytes. `tables` are those for records at an address. Its memory stays until the stream has been waited
    /// for, whatever happens.
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

    /// Overwrites the placement of all launches, which must have one, and returns when the copy is complete.
    pub(super) fn place(&self, placement: &[u32]) -> Result<(), NpuError> {
        self.launches.iter().try_for_each(|block| {
            let at = block.placement_at.expect("the launch has a placement");
            block.memory.write(at, bytemuck::cast_slice(placement))
        })
    }

    /// Puts the copy of the argument block of a launch on the stream.
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

    /// Puts a launch on the stream whose argument block was made.
    pub(super) fn start(&self, shared: &LaunchShared<'_>, launch: usize) -> Result<(), NpuError> {
        if let Some(delay) = shared.options.delays.get(&self.rank.id()) {
            sleep(*delay);
        }
        self.put(shared, launch, None)
    }

    /// Puts the first launch on a stream of the caller that is being captured.
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

    /// The end of the first launch that did not end well, or of the last one.
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

    /// The time stamps of the launch with that number.
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

/// Room for the records, in front of time stamps.
pub(super) const fn record_room(tables: &KernelTables) -> usize {
    record_bytes(tables).next_multiple_of(LINE)
}

/// Room for records and time stamps, in front of the tables.
pub(super) fn room_before_tables(shared: &LaunchShared<'_>) -> usize {
    let tables = shared.kernel.tables();
    record_room(tables) + stamp_bytes(tables, shared.sizes.ranks, shared.options.stamp_room).next_multiple_of(LINE)
}

/// The longest that one launch may run: a wait of a core ends first.
pub(super) fn seconds(shared: &LaunchShared<'_>) -> u16 {
    let limit = shared.options.time_limit.saturating_mul(2).saturating_add(RUN);
    u16::try_from(limit.as_secs()).unwrap_or(u16::MAX)
}
