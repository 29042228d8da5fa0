//! Launches whose argument block is made once, to be launched again and again.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use hpmoe_kernels::{Placement, Route};

use super::Group;
use super::npus::{self, LocalNpus};
use super::pending::Holder;
use super::prepare::prepare;
use super::rank::RankLaunch;
use super::row::UncheckedStep;
use super::state::GroupState;
use crate::argument::RankPart;
use crate::error::ArgumentError;
use crate::{Argument, CompiledKernel, LaunchError, Report, Streams, check};

/// A launch that can be made again and again, with new data in the same tensors. Its argument block keeps its address, so captured graphs
/// can replay the launch.
///
/// The argument block has everything that a kernel reads from the host: tables, addresses, numbers of tokens. [`Group::fix`] makes it once.
/// Each launch uses the current data of the same tensors. A kernel that makes its route (`Route::of`) makes it from the ids of each launch;
/// if the host makes the route, all launches have the same one. On NPUs, [`enqueue`](Self::enqueue) puts kernels on streams and copies
/// nothing.
///
/// ```
/// use hpmoe_runtime::{Argument, CompiledKernel, prelude::*};
///
/// /// Doubles a thousand times what is in `x`.
/// fn again(group: &Group, kernel: &CompiledKernel, x: &mut PerRank<Tensor<f32, 16>>, y: &mut PerRank<Tensor<f32, 16>>)
/// -> Result<(), LaunchError> {
///     let mut fixed = group.fix(kernel, None, &[Argument::read("x", x), Argument::write("y", y)])?;
///     for number in 0..1000_u16 {
///         x[Rank::new(0)].fill(number.into());
///         fixed.launch(&[Argument::read("x", x), Argument::write("y", y)])?;
///     }
///     Ok(())
/// }
/// ```
pub struct FixedLaunch<'a> {
    group: Holder<'a>,
    kernel: CompiledKernel,
    route: Option<Cow<'a, Route>>,
    /// Addresses and row counts of each tensor's parts, in the order of the taskflow's parameters.
    places: Vec<Vec<RankPart>>,
    block: Block,
    /// Number of launches since the last wait.
    pending: u32,
    /// The report of the last launch, if it ran on the host.
    report: Option<Report>,
}

/// The argument block, or the number by which the group finds it.
enum Block {
    /// On the host: the tables of each rank of this process.
    OnHost(Vec<RankLaunch>),
    /// On NPUs: the number under which the group keeps the block in their memory.
    OnNpus(u64),
}

impl Group {
    /// Makes the argument block of a launch, which can then be launched repeatedly with these tensors. `route` is the host's route; it is
    /// `None` if the kernel makes its own. This call launches nothing. If ranks are processes, all of them must make it.
    ///
    /// # Errors
    ///
    /// The errors that [`launch`](Self::launch) finds before a kernel runs. On NPUs, also if a tensor is not in the NPUs' memory
    /// ([`Argument::on_npus`]), because fixed launches copy nothing.
    pub fn fix<'a>(
        &'a self,
        kernel: &CompiledKernel,
        route: Option<&'a Route>,
        arguments: &[Argument<'_>],
    ) -> Result<FixedLaunch<'a>, LaunchError> {
        let block = self.block(kernel, route, arguments)?;
        Ok(FixedLaunch::new(Holder::Borrowed(self), kernel, route.map(Cow::Borrowed), arguments, block))
    }

    /// Like [`fix`](Self::fix), but with shared ownership of the group and an owned route, so that the result has no
    /// lifetime.
    ///
    /// # Errors
    ///
    /// As [`fix`](Self::fix).
    pub fn fix_shared(
        self: &Arc<Self>,
        kernel: &CompiledKernel,
        route: Option<Route>,
        arguments: &[Argument<'_>],
    ) -> Result<FixedLaunch<'static>, LaunchError> {
        let block = self.block(kernel, route.as_ref(), arguments)?;
        Ok(FixedLaunch::new(Holder::Shared(Arc::clone(self)), kernel, route.map(Cow::Owned), arguments, block))
    }

    /// Makes the argument block of a launch.
    fn block(
        &self,
        kernel: &CompiledKernel,
        route: Option<&Route>,
        arguments: &[Argument<'_>],
    ) -> Result<Block, LaunchError> {
        if let (true, Some(argument)) = (self.joint.npus.is_some(), arguments.iter().find(|argument| !argument.on_npus))
        {
            return Err(ArgumentError::OnHost { tensor: argument.name }.into());
        }
        let mut state = self.options.lock(&self.joint.state);
        let row = [UncheckedStep { route, arguments }];
        let (row, mut session, mut kept) = self.make_ready(kernel, &row, None, &mut state)?;
        let kernel = &kernel.in_chunks(row.chunks);
        let block = match &self.joint.npus {
            None => Ok(Block::OnHost(prepare(kernel, &self.options, &row, &mut session))),
            Some(npus) => {
                let local = LocalNpus { npus, member: self.joint.member.as_ref() };
                npus::fix(kernel, &row, &self.options, &mut session, local)
                    .map(|flight| Block::OnNpus(kept.add(flight)))
            }
        };
        // Nothing runs, so that the group is as sound as before.
        if !block.as_ref().is_err_and(LaunchError::is_out_of_step) {
            kept.sessions.insert((kernel.tables().name, kernel.tables().fingerprint), session);
            *state = GroupState::Sound(kept);
        }
        block
    }

    /// Enqueues the launch that the group keeps under `number` once more.
    fn enqueue_again(&self, number: u64, streams: Option<&Streams>) -> Result<(), LaunchError> {
        let mut state = self.joint.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = state.take().ok_or(LaunchError::Broken)?;
        // If a call fails, kernels of some ranks may wait for those of others: the group stays broken, and they are waited for here.
        let flight = kept.flights.get_mut(&number).expect("the group keeps a fixed launch until it is dropped");
        flight.again(streams).map_err(|(_, cause)| cause)?;
        *state = GroupState::Sound(kept);
        Ok(())
    }

    /// Enqueues the launch that the group keeps under `number` on streams that are being captured.
    fn capture(&self, number: u64, streams: &Streams) -> Result<(), LaunchError> {
        let mut state = self.joint.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing runs, whatever comes of it.
        let flight = state.kept()?.flights.get(&number).expect("the group keeps a fixed launch until it is dropped");
        flight.capture(streams).map_err(|(_, cause)| cause.into())
    }

    /// Overwrites the placement of the launch that the group keeps under `number`.
    fn place(&self, number: u64, placement: &Placement) -> Result<(), LaunchError> {
        let mut state = self.joint.state.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(state
            .kept()?
            .flights
            .get(&number)
            .expect("the group keeps a fixed launch until it is dropped")
            .place(placement)?)
    }

    /// Counts launches by graphs of the launch that the group keeps under `number`.
    fn replayed(&self, number: u64, launches: u32) -> Result<(), LaunchError> {
        let mut state = self.joint.state.lock().unwrap_or_else(PoisonError::into_inner);
        state
            .kept()?
            .flights
            .get_mut(&number)
            .expect("the group keeps a fixed launch until it is dropped")
            .replayed(launches);
        Ok(())
    }

    /// Frees the memory of the launch that the group keeps under `number`, once no launch of it runs.
    fn release(&self, number: u64) {
        let mut state = self.joint.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut kept) = state.take() else { return };
        let limit: Duration = kept.flights.values().map(npus::Flight::limit).sum();
        let flight = kept.flights.remove(&number).expect("the group keeps a fixed launch until it is dropped");
        if flight.wait(limit).is_ok() {
            *state = GroupState::Sound(kept);
        } else {
            std::mem::forget(flight);
            kept.leak();
        }
    }
}

impl<'a> FixedLaunch<'a> {
    fn new(
        group: Holder<'a>,
        kernel: &CompiledKernel,
        route: Option<Cow<'a, Route>>,
        arguments: &[Argument<'_>],
        block: Block,
    ) -> Self {
        let places = arguments.iter().map(Argument::places).collect();
        Self { group, kernel: *kernel, route, places, block, pending: 0, report: None }
    }

    /// The group that the launch was made for.
    #[must_use]
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Changes the placement of experts for later launches. The kernel must make its route, and the launch must have been fixed on a group
    /// with a placement ([`Group::placed`]). Only the placement in the argument block is overwritten, so captured graphs use the new
    /// placement, too. Before the call, the program must wait for all earlier launches, including those by graphs. If ranks are processes,
    /// each of them must make this call.
    ///
    /// # Errors
    ///
    /// If the launch was fixed without a placement, one of its launches has not been waited for, the kernel takes its route from the host,
    /// or the placement does not fit the kernel.
    pub fn place(&mut self, placement: &Placement) -> Result<(), LaunchError> {
        let tables = self.kernel.tables();
        let ranks = self.group.ranks().count();
        check::placement_ranks(placement, ranks)?;
        let placement = check::placement(tables, ranks, Some(&Arc::new(placement.clone())))?;
        let before = check::placement(tables, ranks, self.group.shared_placement())?;
        let (Some(placement), Some(_)) = (placement, before) else {
            return Err(LaunchError::Unplaced { kernel: tables.name });
        };
        if self.pending > 0 {
            return Err(LaunchError::Pending { kernel: tables.name });
        }
        match &mut self.block {
            Block::OnHost(ranks) => {
                ranks.iter_mut().flat_map(|rank| &mut rank.steps).for_each(|tables| tables.place(&placement));
                Ok(())
            }
            Block::OnNpus(number) => self.group.place(*number, &placement),
        }
    }

    /// The route of all launches; `None` if the kernel makes it.
    #[must_use]
    pub fn route(&self) -> Option<&Route> {
        self.route.as_deref()
    }

    /// Whether the argument block is in the memory of NPUs.
    #[must_use]
    pub const fn is_on_npus(&self) -> bool {
        matches!(self.block, Block::OnNpus(_))
    }

    /// Launches the kernel and waits for it. The arguments must be the tensors that the launch was made for.
    ///
    /// # Errors
    ///
    /// The errors of [`Group::launch`]. Also if the arguments are not the tensors that the launch was made for: another address or number
    /// of rows.
    pub fn launch(&mut self, arguments: &[Argument<'_>]) -> Result<Report, LaunchError> {
        self.enqueue(None, arguments)?;
        Ok(self.wait()?.expect("a launch is pending"))
    }

    /// Enqueues the kernel on the NPUs once more, after all earlier launches, and returns at once. It copies nothing and waits for nothing.
    /// Work on `streams` is ordered with the launch as in [`Group::enqueue`]. If ranks are processes, all of them must call this the same
    /// number of times.
    ///
    /// A group that runs on the host completes the launch before this returns.
    ///
    /// # Errors
    ///
    /// The errors that [`launch`](Self::launch) finds before the kernel runs; on the host, all errors of a launch.
    pub fn enqueue(&mut self, streams: Option<&Streams>, arguments: &[Argument<'_>]) -> Result<(), LaunchError> {
        self.check(arguments)?;
        check::streams(streams, self.group.ranks(), self.group.joint.npus.is_some())?;
        match &mut self.block {
            Block::OnHost(ranks) => {
                let row = [UncheckedStep { route: self.route.as_deref(), arguments }];
                self.report = Some(self.group.run_row(&self.kernel, &row, Some(ranks))?);
            }
            Block::OnNpus(number) => self.group.enqueue_again(*number, streams)?,
        }
        self.pending += 1;
        Ok(())
    }

    /// Enqueues only the kernel, on streams that are being captured in graphs: no event, no copy, no wait. The kernel then runs each time
    /// the graphs are launched; the program reports the number of these launches to [`replayed`](Self::replayed). Only the graphs' streams
    /// order these launches. The program must keep them from running at the same time as other launches on the same NPUs.
    ///
    /// # Errors
    ///
    /// The errors of [`enqueue`](Self::enqueue). A group that runs on the host can't capture: it has no streams.
    pub fn capture(&mut self, streams: &Streams, arguments: &[Argument<'_>]) -> Result<(), LaunchError> {
        self.check(arguments)?;
        check::streams(Some(streams), self.group.ranks(), self.group.joint.npus.is_some())?;
        match self.block {
            Block::OnHost(_) => Err(LaunchError::Streams),
            Block::OnNpus(number) => self.group.capture(number, streams),
        }
    }

    /// Counts `launches` launches that graphs have made, which this library can't observe; the next [`wait`](Self::wait) includes them.
    /// Before the call, the program must wait for the streams of these graphs.
    ///
    /// # Errors
    ///
    /// If the group is broken, or runs on the host.
    pub fn replayed(&mut self, launches: u32) -> Result<(), LaunchError> {
        match self.block {
            Block::OnHost(_) => return Err(LaunchError::Streams),
            Block::OnNpus(number) => self.group.replayed(number, launches)?,
        }
        self.pending = self.pending.saturating_add(launches);
        Ok(())
    }

    /// Waits for all launches since the last wait, and returns the report of the last one; `None` if there were none. If ranks are
    /// processes, all of them must call this.
    ///
    /// # Errors
    ///
    /// The errors that [`Group::launch`] finds while a kernel runs. On NPUs, invalid ids are reported with their reason only for the last
    /// launch; for earlier ones, only their number is known ([`LaunchError::Unrouted`]).
    pub fn wait(&mut self) -> Result<Option<Report>, LaunchError> {
        if std::mem::take(&mut self.pending) == 0 {
            return Ok(None);
        }
        match self.block {
            Block::OnHost(_) => Ok(self.report.take()),
            Block::OnNpus(number) => self.group.land(number, &[], true).map(Some),
        }
    }

    /// Checks that all tensors have the addresses and row counts that the block was made for.
    fn check(&self, arguments: &[Argument<'_>]) -> Result<(), ArgumentError> {
        let (wanted, got) = (self.places.len(), arguments.len());
        if wanted != got {
            return Err(ArgumentError::Arity { kernel: self.kernel.tables().name, wanted, got });
        }
        match arguments.iter().zip(&self.places).find(|(argument, places)| argument.places() != **places) {
            None => Ok(()),
            Some((argument, _)) => Err(ArgumentError::Moved { tensor: argument.name }),
        }
    }
}

impl Drop for FixedLaunch<'_> {
    fn drop(&mut self) {
        if let Block::OnNpus(number) = self.block {
            self.group.release(number);
        }
    }
}

impl fmt::Debug for FixedLaunch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedLaunch").field("kernel", &self.kernel.tables().name).finish_non_exhaustive()
    }
}
