//! A launch on the caller's memory.

use std::ffi::{c_char, c_void};
use std::slice;
use std::sync::Arc;

use hpmoe_runtime::prelude::{Group, LaunchError, PerRank, Route};
use hpmoe_runtime::{Argument, Pending, Streams};

use crate::error::Failure;
use crate::groups;
use crate::header::{HpmoeGroup, HpmoeTensor};
use crate::kernel::Kernel;
use crate::lent::LaunchMemory;
use crate::library::Library;
use crate::parts::{array, route_ids};
use crate::{reference, report};

/// A launch that the caller requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) group: HpmoeGroup,
    pub(crate) taskflow: *const c_char,
    pub(crate) ids: *const HpmoeTensor,
    pub(crate) ranks: u64,
    pub(crate) tensors: *const HpmoeTensor,
    pub(crate) arguments: u64,
    pub(crate) streams: *const *mut c_void,
}

/// A launch whose arguments have been checked.
pub(crate) struct Prepared {
    pub(crate) kernel: &'static Kernel,
    pub(crate) group: Arc<Group>,
    /// The host's route; `None` if the kernel makes its route.
    pub(crate) route: Option<Route>,
    pub(crate) memory: LaunchMemory,
    pub(crate) arguments: Vec<Argument<'static>>,
}

/// A launch that has been started.
pub(crate) struct Started {
    /// Dropped first, because it is the first field: its drop waits for the launch, which uses the other fields.
    pending: Pending<'static>,
    group: Arc<Group>,
    received: Vec<usize>,
    memory: LaunchMemory,
}

// SAFETY: a launch has addresses of the caller's memory, which the caller leaves to it until any thread has waited for it.
unsafe impl Send for Started {}

/// Runs a kernel on the caller's memory, and keeps the report.
///
/// # Safety
///
/// The conditions of `hpmoe_launch` in the header apply.
pub(crate) unsafe fn launch(library: &'static Library, request: &Request) -> Result<(), Failure> {
    // SAFETY: the caller upholds the contract of this function.
    unsafe { start(library, request) }?.finish()
}

/// Starts a launch on the caller's memory. On the CPU, the launch has ended when this returns.
///
/// # Safety
///
/// The conditions of `hpmoe_enqueue` in the header apply.
pub(crate) unsafe fn start(library: &'static Library, request: &Request) -> Result<Started, Failure> {
    report::forget();
    // SAFETY: the caller's strings, arrays and memory.
    let Prepared { kernel, group, route, memory, arguments } = unsafe { prepare(library, request) }?;
    // SAFETY: the caller's array.
    let streams = unsafe { streams(&group, request.streams) };
    let pending = group
        .enqueue_shared(&kernel.compiled, streams.as_ref(), route.as_ref(), arguments)
        .map_err(|error| refused(&group, &error))?;
    let received = route.map(|route| group.ranks().here().map(|rank| route.received(rank)).collect());
    Ok(Started { pending, received: received.unwrap_or_default(), group, memory })
}

/// Runs the reference of a kernel on copies of the caller's memory.
///
/// # Safety
///
/// The conditions of `hpmoe_reference` in the header apply.
pub(crate) unsafe fn reference(library: &'static Library, request: &Request) -> Result<(), Failure> {
    report::forget();
    // SAFETY: the caller's strings, arrays and memory.
    let Prepared { kernel, group, route, mut memory, arguments } = unsafe { prepare(library, request) }?;
    let function = reference::function(&kernel.compiled)?;
    let result = group.reference(&kernel.compiled, function, route.as_ref(), arguments);
    result.map_err(|error| refused(&group, &error))?;
    memory.bring_back();
    Ok(())
}

impl Started {
    /// Waits for the launch, copies results from copies to the caller's memory, and keeps the report.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        report::forget();
        let Self { pending, group, received, mut memory } = self;
        let report = pending.wait().map_err(|error| refused(&group, &error))?;
        memory.bring_back();
        report::keep(&report, &received, &memory.copied);
        Ok(())
    }

    /// Leaves the launch to its group, which waits for it when the group is freed.
    pub(crate) fn leave(self) {
        self.pending.leave();
    }
}

/// Reports to all ranks that this process can't make the launch that they are about to make.
pub(crate) fn refuse(group: HpmoeGroup, message: String) -> Result<(), Failure> {
    report::forget();
    agreed(&*groups::find(group)?, Err(Failure::invalid(message)))
}

pub(crate) fn refused(group: &Group, error: &LaunchError) -> Failure {
    let message = error.to_string();
    if group.is_broken() { Failure::failed(message) } else { Failure::invalid(message) }
}

/// The result of this process's checks. If another rank's process has found an error, the result is an error on all ranks, so that no rank
/// continues and waits for another one.
pub(crate) fn agreed<T>(group: &Group, found: Result<T, Failure>) -> Result<T, Failure> {
    if group.ranks().only().is_none() {
        return found;
    }
    let said = found.as_ref().err().map_or("", Failure::message);
    let all = group.all_gather(said.as_bytes());
    let found = found?;
    let all = all.map_err(|error| refused(group, &error))?;
    match all.iter().position(|said| !said.is_empty()) {
        None => Ok(found),
        Some(rank) => {
            let message = String::from_utf8_lossy(&all[rank]).into_owned();
            Err(Failure::invalid(LaunchError::OtherRank { rank, message }.to_string()))
        }
    }
}

/// Checks the arguments, and makes the route.
///
/// # Safety
///
/// The conditions of `hpmoe_launch` in the header apply.
pub(crate) unsafe fn prepare(library: &'static Library, request: &Request) -> Result<Prepared, Failure> {
    // SAFETY: the caller's string.
    let kernel = unsafe { library.kernel(request.taskflow) }?;
    let group = groups::find(request.group)?;
    let tables = kernel.compiled.tables();
    // SAFETY: the caller's arrays.
    let (ids, tensors) = agreed(&group, unsafe { arrays(kernel, &group, request) })?;
    let gathered = |ids| match group.placement() {
        Some(placement) => Route::gather_placed_ids(&*group, placement, tables.top_k, &ids),
        None => Route::gather_ids(&*group, tables.experts, tables.top_k, &ids),
    };
    let route = ids.map(gathered).transpose().map_err(|error| refused(&group, &error))?;
    // SAFETY: the caller's memory.
    let memory = agreed(&group, unsafe { LaunchMemory::new(kernel, &group, route.as_ref(), tensors) })?;
    // SAFETY: memory of the caller, who guarantees everything that has not been checked.
    let arguments = unsafe { memory.arguments(kernel, &group) };
    Ok(Prepared { kernel, group, route, memory, arguments })
}

/// The ids of each rank, if the host makes the route, and the parts of all arguments.
type Arrays<'a> = (Option<PerRank<Vec<i32>>>, &'a [HpmoeTensor]);

/// Reads the arrays that the caller passed.
///
/// # Safety
///
/// The conditions of `hpmoe_launch` in the header apply.
unsafe fn arrays<'a>(kernel: &Kernel, group: &Group, request: &Request) -> Result<Arrays<'a>, Failure> {
    let tables = kernel.compiled.tables();
    // SAFETY: the caller's array.
    let tensors = unsafe { tensors(kernel, group, request.ranks, request.tensors, request.arguments) }?;
    if tables.route.is_some() {
        return match request.ids.is_null() {
            true => Ok((None, tensors)),
            false => {
                Err(Failure::invalid(format!("{} makes its route itself, and takes no ids: pass null", tables.name)))
            }
        };
    }
    // SAFETY: the caller's array, whose length has been compared.
    let ids = unsafe { array(request.ids, group.ranks().here().count(), "ids")? };
    // SAFETY: the caller's ids.
    Ok((Some(unsafe { route_ids(tables, group, ids) }?), tensors))
}

/// Reads the parts of all arguments.
///
/// # Safety
///
/// The conditions of `hpmoe_launch` in the header apply.
pub(crate) unsafe fn tensors<'a>(
    kernel: &Kernel,
    group: &Group,
    ranks: u64,
    tensors: *const HpmoeTensor,
    arguments: u64,
) -> Result<&'a [HpmoeTensor], Failure> {
    let (here, count) = (group.ranks().here().count(), kernel.arguments().len());
    counted("ranks", "the group runs", here, ranks)?;
    counted("arguments", "the taskflow takes", count, arguments)?;
    // SAFETY: the caller's array, whose length has been compared.
    unsafe { array(tensors, here * count, "tensors") }
}

/// Reads the caller's streams; `None` if the caller passed none.
///
/// # Safety
///
/// The conditions of `hpmoe_launch` in the header apply.
pub(crate) unsafe fn streams(group: &Group, streams: *const *mut c_void) -> Option<Streams> {
    if streams.is_null() {
        return None;
    }
    // SAFETY: the caller's array, with one for each rank here.
    let mut handles = unsafe { slice::from_raw_parts(streams, group.ranks().here().count()) }.iter();
    let handles = PerRank::from_fn(group.ranks(), |_| *handles.next().expect("a stream for each rank"));
    // SAFETY: the caller's streams.
    Some(unsafe { Streams::from_raw(&handles) })
}

fn counted(what: &str, who: &str, wanted: usize, got: u64) -> Result<(), Failure> {
    match got == wanted as u64 {
        true => Ok(()),
        false => {
            Err(Failure::invalid(format!("{who} {wanted} {what}, but the call has {got}: pass parts for {wanted}")))
        }
    }
}
