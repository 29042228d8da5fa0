//! A launch on memory of the caller.

use std::ffi::{c_char, c_void};

use hpmoe_runtime::prelude::{Group, LaunchError, PerRank, Route};
use hpmoe_runtime::tables::TensorTable;
use hpmoe_runtime::{Argument, RawPart};

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
    pub(crate) stream: *mut c_void,
}

/// Runs a kernel on the caller's memory, and keeps the report.
///
/// # Safety
///
/// As the header says of `hpmoe_launch`.
pub(crate) unsafe fn launch(library: &Library, request: &Request) -> Result<(), Failure> {
    report::forget();
    if !request.stream.is_null() {
        return Err(Failure::invalid("a launch waits until it has ended, and takes no stream: pass null"));
    }
    // SAFETY: the caller's string.
    let kernel = unsafe { library.kernel(request.taskflow) }?;
    let group = groups::find(request.group)?;
    let tables = kernel.compiled.tables();
    // SAFETY: the caller's arrays.
    let (ids, tensors) = agreed(&group, unsafe { arrays(kernel, &group, request) })?;
    let route =
        Route::gather_ids(&*group, tables.experts, tables.top_k, &ids).map_err(|error| refused(&group, &error))?;
    // SAFETY: the caller's memory.
    let mut memory = agreed(&group, unsafe { LaunchMemory::new(kernel, &group, &route, tensors) })?;
    let argument = |(table, raws): (&'static TensorTable, &[RawPart])| {
        let mut raws = raws.iter();
        let parts = PerRank::from_fn(group.ranks(), |_| *raws.next().expect("a part for each rank"));
        // SAFETY: memory of the caller, who promises what is asked for, as far as it has not been checked; or copies of it.
        unsafe { Argument::from_raw(table.name, raw_tensor(table), &parts) }
    };
    let here = group.ranks().here().count();
    let arguments: Vec<Argument<'_>> =
        kernel.arguments().into_iter().zip(memory.raws.chunks_exact(here)).map(argument).collect();
    let report = group.launch(&kernel.compiled, &route, &arguments).map_err(|error| refused(&group, &error))?;
    // SAFETY: the caller's memory.
    memory.copies.iter_mut().for_each(|copy| unsafe { copy.copy_back() });
    report::keep(&report, &group, &route, &memory.copied);
    Ok(())
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

/// The ids, and the parts of all arguments.
///
/// # Safety
///
/// As the header says of `hpmoe_launch`.
unsafe fn arrays<'a>(
    kernel: &Kernel,
    group: &Group,
    request: &Request,
) -> Result<(PerRank<Vec<i32>>, &'a [HpmoeTensor]), Failure> {
    let (here, count) = (group.ranks().here().count(), kernel.arguments().len());
    counted("ranks", "the group runs", here, request.ranks)?;
    counted("arguments", "the taskflow takes", count, request.arguments)?;
    // SAFETY: the caller's arrays, whose lengths have been compared.
    let (ids, tensors) =
        unsafe { (array(request.ids, here, "ids")?, array(request.tensors, here * count, "tensors")?) };
    // SAFETY: the caller's ids.
    Ok((unsafe { route_ids(kernel.compiled.tables(), group, ids) }?, tensors))
}

/// The memory of a launch: the caller's, or copies of it.
struct LaunchMemory {
    /// The parts of the first argument, then those of the second.
    raws: Vec<RawPart>,
    copies: Vec<PartCopy>,
    copied: Vec<Copied>,
    _in_use: InUse,
}

impl LaunchMemory {
    /// Checks the parts, and copies those that can't be used where they lie.
    ///
    /// # Safety
    ///
    /// As the header says of `hpmoe_launch`.
    unsafe fn new(kernel: &Kernel, group: &Group, route: &Route, tensors: &[HpmoeTensor]) -> Result<Self, Failure> {
        let (mut parts, mut raws) = (Vec::with_capacity(tensors.len()), Vec::with_capacity(tensors.len()));
        let mut tensors = tensors.iter();
        for table in kernel.arguments() {
            for rank in group.ranks().here() {
                let tensor = tensors.next().expect("parts have been counted");
                let (part, raw) = part(kernel.compiled.tables(), table, rank, route, tensor)?;
                parts.push(part);
                raws.push(raw);
            }
        }
        let reasons = to_copy(&parts)?;
        let in_use = InUse::begin(&parts)?;
        let mut memory = Self { raws, copies: Vec::new(), copied: Vec::new(), _in_use: in_use };
        for (number, reason) in reasons {
            let part @ Part { tensor, rank, bytes, .. } = parts[number];
            // SAFETY: the caller's memory.
            let mut copy = unsafe { PartCopy::new(part) }?;
            memory.raws[number].address = copy.address();
            memory.copies.push(copy);
            memory.copied.push(Copied { tensor, rank, bytes, reason });
        }
        Ok(memory)
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
