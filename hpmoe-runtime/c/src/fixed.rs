//! Launches that a caller has fixed, by numbers that are never used again.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hpmoe_runtime::{Argument, FixedLaunch, Streams};

use crate::error::Failure;
use crate::header::{HpmoeFixed, HpmoeGroup, HpmoeTensor};
use crate::kernels::{Kernel, Library};
use crate::launch::{Prepared, Request, agreed, prepare, refused, streams, tensors};
use crate::lent::LaunchMemory;
use crate::{pending, report};

/// The tensors and the streams of a replay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replay {
    pub(crate) ranks: u64,
    pub(crate) tensors: *const HpmoeTensor,
    pub(crate) arguments: u64,
    pub(crate) streams: *const *mut c_void,
}

struct Fixed {
    kernel: &'static Kernel,
    launch: FixedLaunch<'static>,
}

// SAFETY: an argument block has addresses of the caller's memory, which the caller leaves to it until it is freed, by whichever thread.
unsafe impl Send for Fixed {}

struct Kept {
    group: HpmoeGroup,
    fixed: Arc<Mutex<Fixed>>,
}

static FIXED: Mutex<BTreeMap<HpmoeFixed, Kept>> = Mutex::new(BTreeMap::new());

fn living() -> MutexGuard<'static, BTreeMap<HpmoeFixed, Kept>> {
    FIXED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the argument block of a launch on the caller's memory: its number.
///
/// # Safety
///
/// As the header says of `hpmoe_fix`.
pub(crate) unsafe fn fix(library: &'static Library, request: &Request) -> Result<HpmoeFixed, Failure> {
    report::forget();
    // SAFETY: the caller's strings, arrays and memory.
    let Prepared { kernel, group, route, memory, arguments } = unsafe { prepare(library, request) }?;
    // The next replay looks at the memory again.
    let memory = agreed(&group, memory.in_place())?;
    let launch = group.fix_shared(&kernel.compiled, route, &arguments).map_err(|error| refused(&group, &error))?;
    drop(memory);
    let (number, fixed) = (pending::next_number(), Arc::new(Mutex::new(Fixed { kernel, launch })));
    living().insert(number, Kept { group: request.group, fixed });
    Ok(number)
}

/// Puts a launch on the streams once more; on the CPU, it runs to its end.
///
/// # Safety
///
/// As the header says of `hpmoe_replay`.
pub(crate) unsafe fn replay(number: HpmoeFixed, replay: &Replay) -> Result<(), Failure> {
    // SAFETY: as this function asks for.
    unsafe { again(number, replay, |launch, streams, arguments| launch.enqueue(streams, arguments)) }
}

/// Puts a launch on streams that are being captured.
///
/// # Safety
///
/// As the header says of `hpmoe_capture`.
pub(crate) unsafe fn capture(number: HpmoeFixed, replay: &Replay) -> Result<(), Failure> {
    if replay.streams.is_null() {
        return Err(Failure::invalid("`streams` is null: pass the streams that are being captured"));
    }
    let capture = |launch: &mut FixedLaunch<'_>, streams: Option<&Streams>, arguments: &[Argument<'_>]| {
        launch.capture(streams.expect("they are not null"), arguments)
    };
    // SAFETY: as this function asks for.
    unsafe { again(number, replay, capture) }
}

/// Counts launches by graphs.
pub(crate) fn replayed(number: HpmoeFixed, launches: u32) -> Result<(), Failure> {
    let fixed = find(number)?;
    let mut fixed = fixed.lock().unwrap_or_else(PoisonError::into_inner);
    fixed.launch.replayed(launches).map_err(|error| refused(fixed.launch.group(), &error))
}

/// Waits for all launches of that number; `None` where it is none of a fixed launch.
pub(crate) fn wait(number: HpmoeFixed) -> Option<Result<(), Failure>> {
    let fixed = find(number).ok()?;
    let mut fixed = fixed.lock().unwrap_or_else(PoisonError::into_inner);
    report::forget();
    let waited = fixed.launch.wait().map_err(|error| refused(fixed.launch.group(), &error));
    let keep = |last: Option<hpmoe_runtime::Report>| {
        let Some(last) = last else { return };
        let (ranks, route) = (fixed.launch.group().ranks(), fixed.launch.route());
        let received: Option<Vec<usize>> = route.map(|route| ranks.here().map(|rank| route.received(rank)).collect());
        report::keep(&last, &received.unwrap_or_default(), &[]);
    };
    Some(waited.map(keep))
}

/// Frees a fixed launch, once nothing of it runs.
pub(crate) fn free(number: HpmoeFixed) -> Result<(), Failure> {
    let freed = living().remove(&number);
    freed.map(drop).ok_or_else(|| missing(number))
}

/// Frees all fixed launches of a group.
pub(crate) fn leave(group: HpmoeGroup) {
    let mut launches = living();
    let of_group: Vec<HpmoeFixed> =
        launches.iter().filter(|(_, kept)| kept.group == group).map(|(number, _)| *number).collect();
    let left: Vec<Kept> = of_group.iter().filter_map(|number| launches.remove(number)).collect();
    drop(launches);
    drop(left);
}

/// Checks what the caller passes, and launches.
///
/// # Safety
///
/// As the header says of `hpmoe_replay`.
unsafe fn again(
    number: HpmoeFixed,
    replay: &Replay,
    then: impl FnOnce(
        &mut FixedLaunch<'static>,
        Option<&Streams>,
        &[Argument<'_>],
    ) -> Result<(), hpmoe_runtime::LaunchError>,
) -> Result<(), Failure> {
    report::forget();
    let fixed = find(number)?;
    let mut fixed = fixed.lock().unwrap_or_else(PoisonError::into_inner);
    let Fixed { kernel, launch } = &mut *fixed;
    let group = launch.group();
    // SAFETY: the caller's arrays and memory.
    let memory = unsafe {
        tensors(kernel, group, replay.ranks, replay.tensors, replay.arguments)
            .and_then(|tensors| LaunchMemory::new(kernel, group, launch.route(), tensors))
            .and_then(LaunchMemory::in_place)
    };
    // On NPUs, each process launches by itself.
    let memory = if launch.is_on_npus() { memory } else { agreed(group, memory) }?;
    // SAFETY: memory of the caller, who promises what is asked for, as far as it has not been checked; and the caller's streams.
    let (arguments, streams) = unsafe { (memory.arguments(kernel, group), streams(group, replay.streams)) };
    then(launch, streams.as_ref(), &arguments).map_err(|error| refused(launch.group(), &error))
}

fn find(number: HpmoeFixed) -> Result<Arc<Mutex<Fixed>>, Failure> {
    living().get(&number).map(|kept| Arc::clone(&kept.fixed)).ok_or_else(|| missing(number))
}

fn missing(number: HpmoeFixed) -> Failure {
    let why = match number {
        0 => "0 is none",
        number if number <= pending::numbers() => {
            "it has been freed, or its group has, or it is a launch that was not fixed"
        }
        _ => "this library has never made it",
    };
    Failure::invalid(format!("there is no fixed launch {number}: {why}; pass what hpmoe_fix has returned"))
}
