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

/// A launch that has been put on the streams of a group's NPUs. It borrows the tensors that the launch reads and writes. Outputs are
/// complete once the launch has been waited for, by [`wait`](Self::wait) or by dropping the `Pending`. In a group that runs on the host,
/// the launch is already complete.
///
/// Forgetting a `Pending` ([`std::mem::forget`]) does no harm: kernels work on copies of tensors in host memory, which the group keeps
/// until it is dropped, and nothing is written to the tensors themselves.
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
#[must_use = "dropping the result waits for the launch at once"]
#[derive(Debug)]
pub struct Pending<'a> {
    group: Holder<'a>,
    launch: PendingLaunch<'a>,
}

/// The reference that keeps a pending launch's group alive.
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
    /// On NPUs: the number under which the group keeps the launch.
    OnNpus {
        number: u64,
        arguments: Vec<Argument<'a>>,
    },
    /// On the host: the report of the launch, which is complete.
    Over(Box<Report>),
    Waited,
}

impl Pending<'_> {
    /// Waits until the launch has ended, and copies its outputs to their tensors. If ranks are processes, all of them must wait for their
    /// launches in the same order.
    ///
    /// # Errors
    ///
    /// The errors that [`Group::launch`] finds while a kernel runs.
    pub fn wait(mut self) -> Result<Report, LaunchError> {
        self.finish().unwrap_or(Err(LaunchError::Broken))
    }

    /// Leaves the launch to the group, which waits for it when the group is dropped. Tensors in host memory then don't get the outputs of a
    /// launch on NPUs.
    pub fn leave(mut self) {
        self.launch = PendingLaunch::Waited;
    }

    /// Waits for the launch and returns its result; `None` if this was done before.
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
    /// Enqueues a launch on the group's NPUs and returns before the launch has ended. ([`launch`](Self::launch) enqueues in the same way,
    /// and then waits.) Several launches can be pending; they run in the order of these calls. With `streams`, the launch is ordered after
    /// work already enqueued on them and before work enqueued later, so the host need not wait before a framework's tensors
    /// ([`Argument::on_npus`]) are used.
    ///
    /// A group that runs on the host completes the launch before this returns.
    ///
    /// # Errors
    ///
    /// The errors that [`launch`](Self::launch) finds before the kernel runs; on the host, all errors of a launch. Also if a pending launch
    /// uses memory that this launch needs, or if `streams` are passed to a group that runs on the host.
    pub fn enqueue<'a>(
        &'a self,
        kernel: &CompiledKernel,
        streams: Option<&Streams>,
        route: &Route,
        arguments: Vec<Argument<'a>>,
    ) -> Result<Pending<'a>, LaunchError> {
        self.put(Holder::Borrowed(self), kernel, streams, Some(route), arguments)
    }

    /// Like [`enqueue`](Self::enqueue), but with shared ownership of the group instead of a borrow, so that the result has no lifetime.
    /// `route` is `None` if the kernel makes its own.
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

    /// Like [`enqueue`](Self::enqueue), for a kernel that makes its route.
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

    /// Waits for the launches with number `number`, and copies their results. `row` has the tensors of each step.
    pub(super) fn finish(&self, number: u64, row: &[&[Argument<'_>]]) -> Result<Report, LaunchError> {
        self.land(number, row, false)
    }

    /// Like [`finish`](Self::finish). If `again` is set, the resources of the launches are kept, so that they can be enqueued again.
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
