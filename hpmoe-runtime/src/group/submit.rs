//! Submits launches: checks them on all ranks, provides their memory, and runs them on the host or on NPUs.

use std::sync::PoisonError;

use hpmoe_kernels::{Rank, Route};

use super::Group;
use super::agree::agree;
use super::launch;
use super::npus::{self, LocalNpus};
use super::prepare::prepare;
use super::rank::RankLaunch;
use super::row::{LaunchStep, PreparedRow, UncheckedStep};
use super::session::Session;
use super::state::{GroupState, Kept};
use crate::backend::npu::NpuError;
use crate::layout::{KernelRoute, LaunchRoute, RankSizes, RouteChunks};
use crate::tables::{Storage, TensorTable};
use crate::{Argument, CompiledKernel, KernelTables, LaunchError, Report, Streams, check};

impl Group {
    /// Runs a kernel on all ranks and waits for it. Generated code calls this.
    ///
    /// # Errors
    ///
    /// If the arguments don't fit the kernel, the route or the group. This is found before anything starts, and the group stays usable.
    ///
    /// If the kernel makes no progress or breaks a rule of the device, the machine refuses a resource, a rank is lost, or the launch is
    /// cancelled. The group can't be used after that.
    pub fn launch(
        &self,
        kernel: &CompiledKernel,
        route: &Route,
        arguments: &[Argument<'_>],
    ) -> Result<Report, LaunchError> {
        self.launch_row(kernel, &[(route, arguments)])
    }

    /// Runs a kernel once for each entry of `row`, one launch directly after another. Nothing makes ranks wait for each other between the
    /// launches. Each launch has its own route and tensors, so if a launch uses another launch's data by mistake, its results show it.
    ///
    /// # Errors
    ///
    /// As [`launch`](Self::launch).
    ///
    /// # Panics
    ///
    /// If `row` is empty.
    pub fn launch_row(
        &self,
        kernel: &CompiledKernel,
        row: &[(&Route, &[Argument<'_>])],
    ) -> Result<Report, LaunchError> {
        let row: Vec<_> =
            row.iter().map(|&(route, arguments)| UncheckedStep { route: Some(route), arguments }).collect();
        self.launch_steps(kernel, &row)
    }

    /// Runs a kernel that makes its route on all ranks, and waits for it. Generated code calls this.
    ///
    /// # Errors
    ///
    /// As [`launch`](Self::launch). Also if the ids are invalid, or a rank would receive more rows than it has room for. The kernel finds
    /// this before it sends a row: all ranks return the same error, and the group stays usable.
    pub fn launch_routed(&self, kernel: &CompiledKernel, arguments: &[Argument<'_>]) -> Result<Report, LaunchError> {
        self.launch_routed_row(kernel, &[arguments])
    }

    /// Like [`launch_row`](Self::launch_row), for a kernel that makes its route: runs it once for each entry of `row`.
    ///
    /// # Errors
    ///
    /// As [`launch_routed`](Self::launch_routed).
    ///
    /// # Panics
    ///
    /// If `row` is empty.
    pub fn launch_routed_row(&self, kernel: &CompiledKernel, row: &[&[Argument<'_>]]) -> Result<Report, LaunchError> {
        let row: Vec<_> = row.iter().map(|&arguments| UncheckedStep { route: None, arguments }).collect();
        self.launch_steps(kernel, &row)
    }

    pub(super) fn launch_steps(
        &self,
        kernel: &CompiledKernel,
        row: &[UncheckedStep<'_>],
    ) -> Result<Report, LaunchError> {
        if self.joint.npus.is_some() {
            let number = self.start(kernel, None, row)?;
            return self.finish(number, &row.iter().map(|step| step.arguments).collect::<Vec<_>>());
        }
        self.run_row(kernel, row, None)
    }

    /// Runs launches on the host, with the tables of a fixed launch, or with tables made for this call.
    pub(super) fn run_row(
        &self,
        kernel: &CompiledKernel,
        row: &[UncheckedStep<'_>],
        fixed: Option<&mut [RankLaunch]>,
    ) -> Result<Report, LaunchError> {
        let mut state = self.options.lock(&self.joint.state);
        let (row, mut session, mut kept) = self.make_ready(kernel, row, None, &mut state)?;
        let kernel = &kernel.in_chunks(row.chunks);
        // Any error or panic from here on leaves the group broken, unless the launches end well.
        let mut made = match fixed {
            Some(_) => Vec::new(),
            None => prepare(kernel, &self.options, &row, &mut session),
        };
        let ranks = fixed.unwrap_or(&mut made);
        let result = launch::launch(kernel, &row.steps, &self.options, &mut session, self.joint.member.as_ref(), ranks);
        if result.as_ref().err().is_none_or(LaunchError::is_of_ids) {
            kept.sessions.insert((kernel.tables().name, kernel.tables().fingerprint), session);
            *state = GroupState::Sound(kept);
        }
        result.map(|report| report.after(self.strangers())).map_err(|error| self.options.cancelled_or(error))
    }

    /// Enqueues launches on the group's NPUs, and returns the number under which the group keeps them.
    pub(super) fn start(
        &self,
        kernel: &CompiledKernel,
        streams: Option<&Streams>,
        row: &[UncheckedStep<'_>],
    ) -> Result<u64, LaunchError> {
        let npus = self.joint.npus.as_deref().unwrap_or_default();
        let mut state = self.joint.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (row, mut session, mut kept) = self.make_ready(kernel, row, streams, &mut state)?;
        let kernel = &kernel.in_chunks(row.chunks);
        let local = LocalNpus { npus, member: self.joint.member.as_ref() };
        let flight = npus::enqueue(kernel, &row, &self.options, &mut session, local, streams);
        // The memory of a pending launch is kept, whatever happens to this one.
        kept.sessions.insert((kernel.tables().name, kernel.tables().fingerprint), session);
        let number = kept.add(flight?);
        *state = GroupState::Sound(kept);
        Ok(number)
    }

    /// Checks that the kernel can run on each rank's NPU.
    fn check_npus(&self, kernel: &CompiledKernel) -> Result<(), LaunchError> {
        let KernelTables { name, aic, aiv, .. } = *kernel.tables();
        let Some(npus) = &self.joint.npus else { return Ok(()) };
        if kernel.device().is_none() {
            return Err(NpuError::NotBuilt { kernel: name }.into());
        }
        Ok(npus.iter().try_for_each(|npu| npu.fits(name, aic, aiv))?)
    }

    /// Checks a row of launches on all ranks, and takes or allocates the memory for it. The group is broken until its state is given back.
    pub(super) fn make_ready<'a>(
        &self,
        kernel: &'a CompiledKernel,
        row: &[UncheckedStep<'a>],
        streams: Option<&Streams>,
        state: &mut GroupState,
    ) -> Result<(PreparedRow<'a>, Session, Kept), LaunchError> {
        assert!(!row.is_empty(), "a row of launches has at least one");
        let mut kept = state.take().ok_or(LaunchError::Broken)?;
        match self.ready(kernel, row, streams, &mut kept) {
            Ok((row, session)) => Ok((row, session, kept)),
            Err(error) => {
                if !error.is_out_of_step() {
                    *state = GroupState::Sound(kept);
                }
                Err(error)
            }
        }
    }

    fn ready<'a>(
        &self,
        kernel: &'a CompiledKernel,
        row: &[UncheckedStep<'a>],
        streams: Option<&Streams>,
        kept: &mut Kept,
    ) -> Result<(PreparedRow<'a>, Session), LaunchError> {
        let tables = kernel.tables();
        let streams = check::streams(streams, self.ranks(), self.joint.npus.is_some());
        let row = self.check_npus(kernel).and(streams).and_then(|()| self.prepare(tables, row));
        let row = row.and_then(|row| self.check_pending(tables, row, kept));
        let row = match &self.joint.member {
            None => row?,
            Some(member) => agree(member, tables, &self.options, row)?,
        };
        // Another capacity needs other memory.
        let session = kept.sessions.remove(&(tables.name, tables.fingerprint));
        let session = session.filter(|session| session.sizes == row.sizes);
        let session = session.map_or_else(|| self.allocate(tables, &row), Ok)?;
        Ok((row, session))
    }

    /// Refuses a launch that would need memory of a pending launch.
    fn check_pending<'a>(
        &self,
        tables: &KernelTables,
        row: PreparedRow<'a>,
        kept: &Kept,
    ) -> Result<PreparedRow<'a>, LaunchError> {
        let key = (tables.name, tables.fingerprint);
        let is_pending = kept.flights.values().any(|flight| flight.kernel() == key);
        let fits = kept.sessions.get(&key).is_some_and(|session| session.sizes == row.sizes);
        // Between processes, what peers write of the caller's tensors lies in the heap until it is waited for.
        let is_shared = |tensor: &TensorTable| matches!(tensor.storage, Storage::Shared(_));
        let in_heap = self.joint.member.is_some() && tables.tensors.iter().any(is_shared);
        match is_pending && (!fits || in_heap) {
            true => Err(LaunchError::Pending { kernel: tables.name }),
            false => Ok(row),
        }
    }

    /// Checks a row of launches on this process.
    fn prepare<'a>(&self, tables: &'a KernelTables, row: &[UncheckedStep<'a>]) -> Result<PreparedRow<'a>, LaunchError> {
        self.options.check_delays(self.joint.ranks)?;
        if self.joint.npus.is_none() {
            self.options.checks()?;
        }
        check::schedule(tables, self.joint.ranks)?;
        let placement = check::placement(tables, self.joint.ranks, self.shared_placement())?;
        let sizes =
            RankSizes::new(&tables.sizes(), self.joint.ranks, self.options.capacity, self.joint.member.is_some());
        let chunks = self.choose_chunks(tables, &sizes, row)?;
        let tables = &tables.in_chunks(chunks);
        let schedule = check::schedule(tables, self.joint.ranks)?;
        let mut steps = Vec::with_capacity(row.len());
        for &UncheckedStep { route, arguments } in row {
            let route = match (route, tables.route) {
                (Some(route), None) => {
                    self.check_route(tables, route)?;
                    LaunchRoute::Host(RouteChunks::new(tables, route, &sizes))
                }
                (None, Some(table)) => {
                    check::routing(tables, schedule, &sizes, placement.is_some())?;
                    let tokens = check::tokens(tables, table, self.ranks(), arguments)?;
                    LaunchRoute::Kernel(KernelRoute::new(tokens, sizes, placement.clone()))
                }
                (Some(_), Some(_)) => return Err(LaunchError::SecondRoute { kernel: tables.name }),
                (None, None) => return Err(LaunchError::NoRoute { kernel: tables.name }),
            };
            check::arguments(tables, self.ranks(), &route, arguments)?;
            check::places(tables, arguments, self.joint.npus.is_some(), self.joint.member.is_some())?;
            check::owners(arguments, self.ranks(), self.joint.npus.as_deref().unwrap_or_default())?;
            if let Some(chunks) = route.host() {
                check::capacity(tables, &sizes, chunks)?;
            }
            steps.push(LaunchStep { route, arguments });
        }
        Ok(PreparedRow { chunks, schedule, sizes, steps })
    }

    /// The number of chunks of a row of launches: if launches choose it, the least number with which all of them fit, or else
    /// the largest.
    fn choose_chunks(
        &self,
        tables: &KernelTables,
        sizes: &RankSizes,
        row: &[UncheckedStep<'_>],
    ) -> Result<usize, LaunchError> {
        let mut chunks = tables.chunks;
        if tables.chunks_at_most().is_some() {
            for route in row.iter().filter_map(|step| step.route) {
                self.check_route(tables, route)?;
                chunks = chunks.max(RouteChunks::choose(tables, route, sizes));
            }
        }
        Ok(chunks)
    }

    /// Checks that a host's route fits the kernel and the group.
    fn check_route(&self, tables: &KernelTables, route: &Route) -> Result<(), LaunchError> {
        check::fits_kernel(tables, self.joint.ranks, route)?;
        check::same_placement(self.placement(), route)
    }

    /// Checks one launch, without any memory for it.
    pub(crate) fn check_one(
        &self,
        tables: &KernelTables,
        route: Option<&Route>,
        arguments: &[Argument<'_>],
    ) -> Result<(), LaunchError> {
        self.prepare(tables, &[UncheckedStep { route, arguments }]).map(|_| ())
    }

    /// Allocates the memory for a kernel's first launch, or for a launch with another capacity.
    fn allocate(&self, tables: &KernelTables, row: &PreparedRow<'_>) -> Result<Session, LaunchError> {
        let no_room = |bytes| no_room(tables, &row.sizes, bytes, &row.steps);
        let limit = self.options.patience(1);
        match (&self.joint.npus, &self.joint.member) {
            (Some(npus), None) => Session::on_npus(tables, &row.sizes, npus, no_room),
            (Some(npus), Some(member)) => Session::of_npus(tables, &row.sizes, &npus[0], member, limit, no_room),
            (None, None) => Session::new(tables, &row.sizes).map_err(no_room),
            (None, Some(member)) => Session::of_processes(tables, &row.sizes, member, limit, no_room),
        }
    }
}

fn no_room(tables: &KernelTables, sizes: &RankSizes, bytes: usize, row: &[LaunchStep<'_>]) -> LaunchError {
    let ranks = || (0..sizes.ranks).map(Rank::new);
    let chunks = row.iter().filter_map(|step| step.route.host());
    let received = chunks.flat_map(|chunks| ranks().map(|rank| chunks.received(rank)));
    LaunchError::Memory {
        kernel: tables.name,
        bytes,
        ranks: sizes.ranks,
        capacity: sizes.capacity,
        rows: received.max(),
    }
}
