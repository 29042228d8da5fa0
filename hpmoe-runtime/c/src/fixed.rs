//! Fixed launches: launches whose argument block is made once.

use std::ffi::c_void;

use hpmoe_runtime::prelude::Ranks;
use hpmoe_runtime::{Argument, FixedLaunch, LaunchError, Placement, Report, Streams};

use crate::error::Failure;
use crate::header::HpmoeTensor;
use crate::kernel::Kernel;
use crate::launch::{Prepared, Request, agreed, prepare, refused, streams, tensors};
use crate::lent::LaunchMemory;
use crate::library::Library;
use crate::report;

/// The tensors and the streams of a replay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replay {
    pub(crate) ranks: u64,
    pub(crate) tensors: *const HpmoeTensor,
    pub(crate) arguments: u64,
    pub(crate) streams: *const *mut c_void,
}

/// A fixed launch on the caller's memory.
pub(crate) struct Fixed {
    kernel: &'static Kernel,
    launch: FixedLaunch<'static>,
}

// SAFETY: an argument block has addresses of the caller's memory, which the caller leaves to it until any thread frees it.
unsafe impl Send for Fixed {}

impl Fixed {
    /// Makes the argument block of a launch on the caller's memory.
    ///
    /// # Safety
    ///
    /// The conditions of `hpmoe_fix` in the header apply.
    pub(crate) unsafe fn new(library: &'static Library, request: &Request) -> Result<Self, Failure> {
        report::forget();
        // SAFETY: the caller's strings, arrays and memory.
        let Prepared { kernel, group, route, memory, arguments } = unsafe { prepare(library, request) }?;
        // The next replay looks at the memory again.
        let memory = agreed(&group, memory.in_place())?;
        let launch = group.fix_shared(&kernel.compiled, route, &arguments).map_err(|error| refused(&group, &error))?;
        drop(memory);
        Ok(Self { kernel, launch })
    }

    /// Enqueues a launch once more; on the CPU, runs it to its end.
    ///
    /// # Safety
    ///
    /// The conditions of `hpmoe_replay` in the header apply.
    pub(crate) unsafe fn replay(&mut self, replay: &Replay) -> Result<(), Failure> {
        // SAFETY: the caller upholds the contract of this function.
        unsafe { self.again(replay, |launch, streams, arguments| launch.enqueue(streams, arguments)) }
    }

    /// Enqueues a launch on streams that are being captured.
    ///
    /// # Safety
    ///
    /// The conditions of `hpmoe_capture` in the header apply.
    pub(crate) unsafe fn capture(&mut self, replay: &Replay) -> Result<(), Failure> {
        let capture = |launch: &mut FixedLaunch<'_>, streams: Option<&Streams>, arguments: &[Argument<'_>]| {
            launch.capture(streams.expect("the pointer to the streams is not null"), arguments)
        };
        // SAFETY: the caller upholds the contract of this function.
        unsafe { self.again(replay, capture) }
    }

    /// The ranks of the launch's group.
    pub(crate) fn ranks(&self) -> Ranks {
        self.launch.group().ranks()
    }

    /// Changes the placement of experts for later launches.
    pub(crate) fn place(&mut self, placement: &Placement) -> Result<(), Failure> {
        self.launch.place(placement).map_err(|error| refused(self.launch.group(), &error))
    }

    /// Counts `launches` launches by graphs as pending.
    pub(crate) fn replayed(&mut self, launches: u32) -> Result<(), Failure> {
        self.launch.replayed(launches).map_err(|error| refused(self.launch.group(), &error))
    }

    /// Waits for all launches since the last wait, and keeps the report of the last one.
    pub(crate) fn wait(&mut self) -> Result<(), Failure> {
        report::forget();
        let last: Option<Report> = self.launch.wait().map_err(|error| refused(self.launch.group(), &error))?;
        let Some(last) = last else { return Ok(()) };
        let (ranks, route) = (self.launch.group().ranks(), self.launch.route());
        let received: Option<Vec<usize>> = route.map(|route| ranks.here().map(|rank| route.received(rank)).collect());
        report::keep(&last, &received.unwrap_or_default(), &[]);
        Ok(())
    }

    /// Checks that the arguments are those of the fixed launch, and calls `then` with them.
    ///
    /// # Safety
    ///
    /// The conditions of `hpmoe_replay` in the header apply.
    unsafe fn again(
        &mut self,
        replay: &Replay,
        then: impl FnOnce(&mut FixedLaunch<'static>, Option<&Streams>, &[Argument<'_>]) -> Result<(), LaunchError>,
    ) -> Result<(), Failure> {
        let Self { kernel, launch } = self;
        let group = launch.group();
        // SAFETY: the caller's arrays and memory.
        let memory = unsafe {
            tensors(kernel, group, replay.ranks, replay.tensors, replay.arguments)
                .and_then(|tensors| LaunchMemory::new(kernel, group, launch.route(), tensors))
                .and_then(LaunchMemory::in_place)
        };
        // On NPUs, each process launches by itself.
        let memory = if launch.is_on_npus() { memory } else { agreed(group, memory) }?;
        // SAFETY: memory of the caller, who guarantees everything that has not been checked; and the caller's streams.
        let (arguments, streams) = unsafe { (memory.arguments(kernel, group), streams(group, replay.streams)) };
        then(launch, streams.as_ref(), &arguments).map_err(|error| refused(launch.group(), &error))
    }
}
