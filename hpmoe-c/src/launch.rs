//! A launch on memory of the caller.

use std::ffi::{c_char, c_void};
use std::slice;
use std::sync::Arc;

use hpmoe_runtime::prelude::{Group, LaunchError, PerRank, Route};
use hpmoe_runtime::tables::TensorTable;
use hpmoe_runtime::{Argument, Pending, RawPart, Streams};

use crate::error::Failure;
use crate::groups;
use crate::header::{HpmoeGroup, HpmoeTensor};
use crate::kernels::{Kernel, Library};
use crate::memory::{Copied, InUse, Part, PartCopy, to_copy};
use crate::parts::{array, part, raw_tensor, route_ids};
use crate::report;

/// What the caller wants to launch.
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

/// What a launch is made of, once the caller's parts are known to fit.
struct Prepared {
    kernel: &'static Kernel,
    group: Arc<Group>,
    /// `None` where the kernel makes it.
    route: Option<Route>,
    memory: LaunchMemory,
    arguments: Vec<Argument<'static>>,
}

/// A launch that has been started.
pub(crate) struct Started {
    /// Before what it uses: it is waited for when it is dropped.
    pending: Pending<'static>,
    group: Arc<Group>,
    received: Vec<usize>,
    memory: LaunchMemory,
}

/// Runs a kernel on the caller's memory, and keeps the report.
///
/// # Safety
///
/// As the header says of `hpmoe_launch`.
pub(crate) unsafe fn launch(library: &'static Library, request: &Request) -> Result<(), Failure> {
    // SAFETY: as this function asks for.
    unsafe { start(library, request) }?.finish()
}

/// Starts a kernel on the caller's memory; on the CPU, it runs to its end.
///
/// # Safety
///
/// As the header says of `hpmoe_enqueue`.
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
/// As the header says of `hpmoe_reference`.
pub(crate) unsafe fn reference(library: &'static Library, request: &Request) -> Result<(), Failure> {
    report::forget();
    // SAFETY: the caller's strings, arrays and memory.
    let Prepared { kernel, group, route, mut memory, arguments } = unsafe { prepare(library, request) }?;
    let result = group.reference(&kernel.compiled, route.as_ref(), arguments);
    result.map_err(|error| refused(&group, &error))?;
    memory.bring_back();
    Ok(())
}

impl Started {
    /// Waits for the launch, brings what was written to copies to the caller's memory, and keeps the report.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        report::forget();
        let Self { pending, group, received, mut memory } = self;
        let report = pending.wait().map_err(|error| refused(&group, &error))?;
        memory.bring_back();
        report::keep(&report, &received, &memory.copied);
        Ok(())
    }

    /// Leaves the launch to its group.
    pub(crate) fn leave(self) {
        self.pending.leave();
    }
}

/// Tells all ranks that this process can't make the launch that they are about to make.
pub(crate) fn refuse(group: HpmoeGroup, message: String) -> Result<(), Failure> {
    report::forget();
    agreed(&*groups::find(group)?, Err(Failure::invalid(message)))
}

fn refused(group: &Group, error: &LaunchError) -> Failure {
    let message = error.to_string();
    if group.is_broken() { Failure::failed(message) } else { Failure::invalid(message) }
}

/// What this process has found, unless another rank's process has found something that does not fit: then no rank goes on, and none
/// waits for another.
fn agreed<T>(group: &Group, found: Result<T, Failure>) -> Result<T, Failure> {
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

/// Checks what the caller passes, and makes the route.
///
/// # Safety
///
/// As the header says of `hpmoe_launch`.
unsafe fn prepare(library: &'static Library, request: &Request) -> Result<Prepared, Failure> {
    // SAFETY: the caller's string.
    let kernel = unsafe { library.kernel(request.taskflow) }?;
    let group = groups::find(request.group)?;
    let tables = kernel.compiled.tables();
    // SAFETY: the caller's arrays.
    let (ids, tensors) = agreed(&group, unsafe { arrays(kernel, &group, request) })?;
    let gathered = |ids| Route::gather_ids(&*group, tables.experts, tables.top_k, &ids);
    let route = ids.map(gathered).transpose().map_err(|error| refused(&group, &error))?;
    // SAFETY: the caller's memory.
    let memory = agreed(&group, unsafe { LaunchMemory::new(kernel, &group, route.as_ref(), tensors) })?;
    let argument = |(table, parts): (&'static TensorTable, &[LaunchPart])| {
        let mut raws = parts.iter().map(|part| part.raw);
        let raws = PerRank::from_fn(group.ranks(), |_| raws.next().expect("a part for each rank"));
        let make = if parts.iter().any(|part| part.on_npu) { Argument::on_npus } else { Argument::from_raw };
        // SAFETY: memory of the caller, who promises what is asked for, as far as it has not been checked; or copies of it.
        unsafe { make(table.name, raw_tensor(table), &raws) }
    };
    let here = group.ranks().here().count();
    let arguments = kernel.arguments().into_iter().zip(memory.parts.chunks_exact(here)).map(argument).collect();
    Ok(Prepared { kernel, group, route, memory, arguments })
}

/// The ids of taskflows whose route the host makes, and the parts of all arguments.
type Arrays<'a> = (Option<PerRank<Vec<i32>>>, &'a [HpmoeTensor]);

/// The caller's arrays.
///
/// # Safety
///
/// As the header says of `hpmoe_launch`.
unsafe fn arrays<'a>(kernel: &Kernel, group: &Group, request: &Request) -> Result<Arrays<'a>, Failure> {
    let (here, count) = (group.ranks().here().count(), kernel.arguments().len());
    counted("ranks", "the group runs", here, request.ranks)?;
    counted("arguments", "the taskflow takes", count, request.arguments)?;
    let tables = kernel.compiled.tables();
    // SAFETY: the caller's array, whose length has been compared.
    let tensors = unsafe { array(request.tensors, here * count, "tensors")? };
    if tables.route.is_some() {
        return match request.ids.is_null() {
            true => Ok((None, tensors)),
            false => {
                Err(Failure::invalid(format!("{} makes its route itself, and takes no ids: pass null", tables.name)))
            }
        };
    }
    // SAFETY: the caller's array, whose length has been compared.
    let ids = unsafe { array(request.ids, here, "ids")? };
    // SAFETY: the caller's ids.
    Ok((Some(unsafe { route_ids(tables, group, ids) }?), tensors))
}

/// The caller's streams, if there are some.
///
/// # Safety
///
/// As the header says of `hpmoe_launch`.
unsafe fn streams(group: &Group, streams: *const *mut c_void) -> Option<Streams> {
    if streams.is_null() {
        return None;
    }
    // SAFETY: the caller's array, with one for each rank here.
    let mut handles = unsafe { slice::from_raw_parts(streams, group.ranks().here().count()) }.iter();
    let handles = PerRank::from_fn(group.ranks(), |_| *handles.next().expect("a stream for each rank"));
    // SAFETY: the caller's streams.
    Some(unsafe { Streams::from_raw(&handles) })
}

/// The memory of a launch: the caller's, or copies of it.
struct LaunchMemory {
    /// Those of the first argument, then those of the second.
    parts: Vec<LaunchPart>,
    copies: Vec<PartCopy>,
    copied: Vec<Copied>,
    _in_use: InUse,
}

/// One rank's part of an argument.
struct LaunchPart {
    raw: RawPart,
    on_npu: bool,
}

impl LaunchMemory {
    /// Checks the parts, and copies those that can't be used where they lie.
    ///
    /// # Safety
    ///
    /// As the header says of `hpmoe_launch`.
    unsafe fn new(
        kernel: &Kernel,
        group: &Group,
        route: Option<&Route>,
        tensors: &[HpmoeTensor],
    ) -> Result<Self, Failure> {
        let (mut parts, mut launched) = (Vec::with_capacity(tensors.len()), Vec::with_capacity(tensors.len()));
        let mut tensors = tensors.iter();
        for table in kernel.arguments() {
            for rank in group.ranks().here() {
                let tensor = tensors.next().expect("parts have been counted");
                let (part, raw) = part(kernel.compiled.tables(), table, rank, route, tensor)?;
                launched.push(LaunchPart { raw, on_npu: part.on_npu });
                parts.push(part);
            }
        }
        for parts in parts.chunks_exact(group.ranks().here().count()) {
            in_one_memory(parts)?;
        }
        let reasons = to_copy(&parts)?;
        let in_use = InUse::begin(&parts)?;
        let mut memory = Self { parts: launched, copies: Vec::new(), copied: Vec::new(), _in_use: in_use };
        for (number, reason) in reasons {
            let part @ Part { tensor, rank, bytes, .. } = parts[number];
            // SAFETY: the caller's memory.
            let mut copy = unsafe { PartCopy::new(part) }?;
            memory.parts[number].raw.address = copy.address();
            memory.copies.push(copy);
            memory.copied.push(Copied { tensor, rank, bytes, reason });
        }
        Ok(memory)
    }

    /// Brings what was written to copies to the caller's memory.
    fn bring_back(&mut self) {
        // SAFETY: the caller's memory, which stays until the launch has been waited for.
        self.copies.iter_mut().for_each(|copy| unsafe { copy.copy_back() });
    }
}

/// Refuses an argument of which some parts lie in the memory of NPUs and others in this machine's. Parts without bytes lie anywhere.
fn in_one_memory(parts: &[Part]) -> Result<(), Failure> {
    let mut filled = parts.iter().filter(|part| part.bytes > 0);
    let Some(first) = filled.next() else { return Ok(()) };
    match filled.find(|part| part.on_npu != first.on_npu) {
        None => Ok(()),
        Some(other) => {
            let (on, off) = if first.on_npu { (first, other) } else { (other, first) };
            Err(Failure::invalid(format!(
                "{} lies in the memory of an NPU, and that of rank {} in this machine's: pass all parts of an argument in one kind of memory",
                on.name(),
                off.rank
            )))
        }
    }
}

fn counted(what: &str, who: &str, wanted: usize, got: u64) -> Result<(), Failure> {
    match got == wanted as u64 {
        true => Ok(()),
        false => {
            Err(Failure::invalid(format!("{who} {wanted} {what}, but the call has {got}: pass parts for {wanted}")))
        }
    }
}
