//! Launches that are waited for later.

use std::mem::forget;
use std::ops::Deref;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use hpmoe_kernels::Route;

use super::Group;
use super::npus::{self, Flight};
use super::row::UncheckedStep;
use super::state::GroupState;
use crate::backend::npu;
use crate::{Argument, CompiledKernel, LaunchError, Report, Streams, check};

/// A launch that has been put on the streams of a group's NPUs. It borrows the tensors that the launch reads and writes: what is written is there when
/// it has been waited for, by [`wait`](Self::wait) or by dropping it.
///
/// A `Pending` that is forgotten ([`std::mem::forget`]) does no harm: kernels work on copies, which the group keeps until it is dropped, and
/// nothing is written to the tensors.
///
/// ```compile_fail,E0502
/// use hpmoe_runtime::{Argument, CompiledKernel, prelude::*};
///
/// fn too_early(group: &Group, kernel: &CompiledKernel, route: &Route, y: &mut PerRank<Tensor<f32, 16>>) {
///     let pending = group.enqueue(kernel, None, route, vec![Argument::write("y", y)]).unwrap();
///     y.iter().count(); // still borrowed
///     pending.wait().unwrap();
/// }
/// ```
#[must_use = "the launch is waited for at once where its result is dropped"]
#[derive(Debug)]
pub struct Pending<'a> {
    group: Holder<'a>,
    launch: PendingLaunch<'a>,
}

/// What keeps the group of a launch.
#[derive(Debug)]
pub(super) enum Holder<'a> {
    Borrowed(&'a Group),
    Shared(Arc<Group>),
}

impl Deref for Holder<'_> {
    type Target = Group;

    fn deref(&self) -> &Group {
        match self {
            Self::Borrowed(group) => group,
            Self::Shared(group) => group,
        }
    }
}

#[derive(Debug)]
enum PendingLaunch<'a> {
    /// On NPUs, with that number.
    OnNpus {
        number: u64,
        arguments: Vec<Argument<'a>>,
    },
    /// On the host it is over at once.
    Over(Box<Report>),
    Waited,
}

impl Pending<'_> {
    /// Waits until the launch has ended, and brings what it wrote to its tensors. If ranks are processes, all of them wait for their launches in the same order.
    ///
    /// # Errors
    ///
    /// As [`Group::launch`], for what is found while a kernel runs.
    pub fn wait(mut self) -> Result<Report, LaunchError> {
        self.finish().unwrap_or(Err(LaunchError::Broken))
    }

    /// Leaves the launch to the group, which waits for it when it is dropped. What the launch writes is not brought to tensors in the host's memory.
    pub fn leave(mut self) {
        self.launch = PendingLaunch::Waited;
    }

    /// The result, the first time.
    fn finish(&mut self) -> Option<Result<Report, LaunchError>> {
        match std::mem::replace(&mut self.launch, PendingLaunch::Waited) {
            PendingLaunch::OnNpus { number, arguments } => Some(self.group.finish(number, &[&arguments])),
            PendingLaunch::Over(report) => Some(Ok(*report)),
            PendingLaunch::Waited => None,
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        // A failure leaves the group broken: the next launch says so.
        let _ = self.finish();
    }
}

impl Group {
    /// Puts a launch on the streams of the group's NPUs and returns before it has ended: [`launch`](Self::launch) is this and
    /// [`Pending::wait`]. Several launches can be pending; they follow each other in the order of these calls. With `streams`, the launch follows what is on these,
    /// and comes before what is put on them afterwards, so that a framework's tensors ([`Argument::on_npus`]) need no wait of the host.
    ///
    /// A group that runs on the host runs the launch to its end.
    ///
    /// # Errors
    ///
    /// As [`launch`](Self::launch), for what is found before the kernel runs; on the host, all of it. A launch that needs memory which one that is pending uses is refused.
    pub fn enqueue<'a>(
        &'a self,
        kernel: &CompiledKernel,
        streams: Option<&Streams>,
        route: &Route,
        arguments: Vec<Argument<'a>>,
    ) -> Result<Pending<'a>, LaunchError> {
        self.put(Holder::Borrowed(self), kernel, streams, Some(route), arguments)
    }

    /// The same with a share of the group instead of a borrow, so that whoever is given the result can keep it. Without a `route`, the kernel makes
    /// its own.
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_shared(
        self: &Arc<Self>,
        kernel: &CompiledKernel,
        streams: Option<&Streams>,
        route: Option<&Route>,
        arguments: Vec<Argument<'static>>,
    ) -> Result<Pending<'static>, LaunchError> {
        self.put(Holder::Shared(Arc::clone(self)), kernel, streams, route, arguments)
    }

    /// The same for a kernel that makes its route itself.
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_routed<'a>(
        &'a self,
        kernel: &CompiledKernel,
        streams: Option<&Streams>,
        arguments: Vec<Argument<'a>>,
    ) -> Result<Pending<'a>, LaunchError> {
        self.put(Holder::Borrowed(self), kernel, streams, None, arguments)
    }

    fn put<'a>(
        &self,
        holder: Holder<'a>,
        kernel: &CompiledKernel,
        streams: Option<&Streams>,
        route: Option<&Route>,
        arguments: Vec<Argument<'a>>,
    ) -> Result<Pending<'a>, LaunchError> {
        let row = [UncheckedStep { route, arguments: &arguments }];
        let launch = match self.joint.npus {
            None => {
                check::streams(streams, self.ranks(), false)?;
                PendingLaunch::Over(Box::new(self.launch_steps(kernel, &row)?))
            }
            Some(_) => PendingLaunch::OnNpus { number: self.start(kernel, streams, &row)?, arguments },
        };
        Ok(Pending { group: holder, launch })
    }

    /// Waits for launches with a number, with the arguments of their steps.
    pub(super) fn finish(&self, number: u64, row: &[&[Argument<'_>]]) -> Result<Report, LaunchError> {
        self.land(number, row, false)
    }

    /// The same; with `again`, what they use is kept for more launches.
    pub(super) fn land(&self, number: u64, row: &[&[Argument<'_>]], again: bool) -> Result<Report, LaunchError> {
        let mut state = self.joint.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut kept) = state.take() else { return Err(LaunchError::Broken) };
        // Those that are on the streams before and after it are waited for with it.
        let limit: Duration = kept.flights.values().map(Flight::limit).sum();
        let mut flight = kept.flights.remove(&number).expect("a launch is waited for once");
        let session = kept.sessions.get(&flight.kernel()).expect("the memory of a pending launch is kept");
        let landing = npus::finish(&mut flight, row, session, self.joint.member.as_ref(), limit);
        if landing.result.as_ref().err().is_none_or(LaunchError::is_of_ids) {
            if again {
                kept.flights.insert(number, flight);
            }
            *state = GroupState::Sound(kept);
        } else {
            if self.joint.member.is_some() {
                npu::ends_alone();
            }
            if !landing.over {
                forget(flight);
                kept.leak();
            }
        }
        landing.result.map(|report| report.after(self.strangers())).map_err(|error| self.options.cancelled_or(error))
    }
}
