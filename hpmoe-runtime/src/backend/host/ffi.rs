//! The C interface of the AscendC implementation for CPUs (`launch.h`). Only this module calls it.
#![expect(unsafe_code, reason = "a C interface")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;
use std::ptr::{NonNull, null, null_mut, with_exposed_provenance_mut};
use std::slice;
use std::sync::atomic::AtomicI32;
use std::time::Duration;

use super::{HostStatistics, InjectedFault, MemoryRegion, Outcome, Resource, Write, Writer};
use crate::EntryPoint;

const PRIVATE: u32 = 0;
const SYMMETRIC: u32 = 1;
const OK: i32 = 0;
const BROKEN_RULE: i32 = 1;
const NO_MEMORY: i32 = 3;
const NO_STACK: i32 = 4;
const NO_THREAD: i32 = 5;
const AIV: u32 = 1;
const PUT: u32 = 0;
const ADD: u32 = 1;
const WRITTEN: i32 = 0;

#[repr(C)]
struct HostRegion {
    base: *mut c_void,
    bytes: u64,
    rank: u32,
    kind: u32,
    writable: u32,
    self_validating: u32,
    name: *const c_char,
}

#[repr(C)]
struct HostPeers {
    /// Pointer to a `&dyn Writer`.
    context: *const c_void,
    write: extern "C" fn(*const c_void, u32, *mut c_void, *const c_void, u32, u32) -> i32,
}

#[repr(C)]
pub(super) struct HostOptions {
    rank: u32,
    aic: u32,
    aiv: u32,
    threads: u32,
    alone_us: u32,
    seed: u64,
    regions: *const HostRegion,
    region_count: u64,
    stop: *mut i32,
    races: *mut c_void,
    peers: *const HostPeers,
    fault: u32,
    fault_at: u32,
    unchecked: u32,
    reserved: u32,
    attend: Option<extern "C" fn(*const c_void) -> i32>,
    attended: *const c_void,
}

#[repr(C)]
pub(super) struct HostResult {
    code: i32,
    core_kind: u32,
    core_index: u32,
    reserved: u32,
    message: [c_char; 1024],
    statistics: HostStatistics,
}

/// The floating-point state of a thread.
#[repr(C)]
#[derive(Debug)]
struct HostArithmetic {
    state: [u64; 8],
}

unsafe extern "C" {
    fn hpmoe_host_arithmetic_begin(before: *mut HostArithmetic);
    fn hpmoe_host_arithmetic_end(before: *const HostArithmetic);
    fn hpmoe_host_races_new(ranks: u32, cores: u32) -> *mut c_void;
    fn hpmoe_host_races_free(races: *mut c_void);
    fn hpmoe_host_run(entry: EntryPoint, launch: *mut u8, options: *const HostOptions, result: *mut HostResult) -> i32;
}

/// The floating-point state that kernels and references need: round to nearest, with subnormal numbers. A value of this type sets the state
/// for the thread that creates it. Dropping the value on that thread restores the previous state, which a program in another language may
/// have changed.
#[derive(Debug)]
pub struct StandardArithmetic {
    before: HostArithmetic,
    /// Prevents a move to another thread, which has a floating-point state of its own.
    _of_thread: PhantomData<*const ()>,
}

impl StandardArithmetic {
    /// Sets the state of the calling thread.
    #[must_use]
    pub fn begin() -> Self {
        let mut before = HostArithmetic { state: [0; 8] };
        // SAFETY: the call writes to the structure that it is given.
        unsafe { hpmoe_host_arithmetic_begin(&raw mut before) };
        Self { before, _of_thread: PhantomData }
    }
}

impl Drop for StandardArithmetic {
    fn drop(&mut self) {
        // SAFETY: the structure was written by `hpmoe_host_arithmetic_begin`.
        unsafe { hpmoe_host_arithmetic_end(&raw const self.before) }
    }
}

/// The state of the search for races in global memory: all cores of the ranks that run together, over all their launches.
pub(crate) struct Races(NonNull<c_void>);

// SAFETY: the search has its own locks; the ranks that it is made for run on threads.
unsafe impl Sync for Races {}

impl Races {
    /// Starts a search for `ranks` ranks with `cores` cores each. `None` if there is not enough memory.
    pub(crate) fn new(ranks: u32, cores: u32) -> Option<Self> {
        // SAFETY: the call takes two numbers, and lets no exception out.
        NonNull::new(unsafe { hpmoe_host_races_new(ranks, cores) }).map(Self)
    }
}

impl Drop for Races {
    fn drop(&mut self) {
        // SAFETY: made by `hpmoe_host_races_new`; a run that it was given borrows it, so all have returned.
        unsafe { hpmoe_host_races_free(self.0.as_ptr()) }
    }
}

/// `hpmoe_host_run` of this program, or of a library that has its own implementation.
pub(super) type HostRun = unsafe extern "C" fn(
    entry: EntryPoint,
    launch: *mut u8,
    options: *const HostOptions,
    result: *mut HostResult,
) -> i32;

/// One launch on one rank.
pub(crate) struct RankRun<'a> {
    pub(crate) entry: EntryPoint,
    /// Address of the launch structure.
    pub(crate) launch: u64,
    pub(crate) rank: u32,
    pub(crate) aic: u32,
    pub(crate) aiv: u32,
    /// Number of threads that share the cores.
    pub(crate) threads: u32,
    /// The time for which the calling thread runs the cores without other threads.
    pub(crate) alone: Duration,
    /// Seed of the random order of all operations whose order flags leave open.
    pub(crate) seed: u64,
    pub(crate) regions: &'a [MemoryRegion],
    /// The search for races, shared by all ranks of the launch. Only this program's implementation of AscendC takes part in it.
    pub(crate) races: Option<&'a Races>,
    /// Writer for memory of other ranks; `None` if it is mapped into this process.
    pub(crate) writer: Option<&'a dyn Writer>,
    /// Whether the run searches for races, and draws at random the order of everything that the kernel leaves open.
    pub(crate) checks: bool,
    /// The calling thread calls this periodically; the run ends once it returns true.
    pub(crate) is_over: Option<&'a (dyn Fn() -> bool + 'a)>,
    /// The failure that a test makes happen.
    pub(crate) fault: Option<InjectedFault>,
}

impl RankRun<'_> {
    /// Runs a kernel on all cores of one rank and returns when all have left. `stop` is shared by the ranks that run
    /// together: the first one that breaks a rule sets it, and all end.
    pub(crate) fn run(&self, stop: &AtomicI32) -> Outcome {
        self.run_by(hpmoe_host_run, stop)
    }

    /// Like [`run`](Self::run), with `host_run`: the implementation of AscendC that the kernel was linked with.
    pub(super) fn run_by(&self, host_run: HostRun, stop: &AtomicI32) -> Outcome {
        let names: Vec<CString> = self.regions.iter().map(|r| CString::new(r.name).unwrap_or_default()).collect();
        let regions: Vec<HostRegion> = self.regions.iter().zip(&names).map(|(r, name)| region(r, name)).collect();
        let (fault, fault_at) = fault(self.fault);
        let peers = self.writer.as_ref().map(|writer| HostPeers { context: (&raw const *writer).cast(), write });
        let options = HostOptions {
            rank: self.rank,
            aic: self.aic,
            aiv: self.aiv,
            threads: self.threads,
            alone_us: u32::try_from(self.alone.as_micros()).unwrap_or(u32::MAX),
            seed: self.seed,
            regions: regions.as_ptr(),
            region_count: regions.len() as u64,
            stop: stop.as_ptr(),
            races: self.races.map_or(null_mut(), |races| races.0.as_ptr()),
            peers: peers.as_ref().map_or(null(), |peers| peers),
            fault,
            fault_at,
            unchecked: u32::from(!self.checks),
            reserved: 0,
            attend: self.is_over.map(|_| attend as extern "C" fn(*const c_void) -> i32),
            attended: self.is_over.as_ref().map_or(null(), |is_over| (&raw const *is_over).cast()),
        };
        let mut result = HostResult {
            code: OK,
            core_kind: 0,
            core_index: 0,
            reserved: 0,
            message: [0; 1024],
            statistics: HostStatistics::default(),
        };
        // SAFETY: `options` and what it points to live until the call returns, and so does all memory in `regions`: it
        // belongs to arenas and borrowed arguments that outlive the run, and no Rust code reads or writes it meanwhile. The
        // callee keeps the kernel's accesses inside the regions and lets no exception out. `entry` was compiled for the launch
        // structure at this address, as `CompiledKernel::new` demands.
        unsafe {
            let launch = with_exposed_provenance_mut(self.launch as usize);
            host_run(self.entry, launch, &raw const options, &raw mut result);
        }
        match result.code {
            OK => Outcome::Left(result.statistics),
            BROKEN_RULE => Outcome::BrokenRule { message: message(&result), core: core(&result, self.aic) },
            NO_MEMORY => Outcome::Lacking { resource: Resource::Memory, cause: message(&result) },
            NO_STACK => Outcome::Lacking { resource: Resource::Stack, cause: message(&result) },
            NO_THREAD => Outcome::Lacking { resource: Resource::WorkerThread, cause: message(&result) },
            _ => Outcome::Stopped,
        }
    }
}

/// Returns 1 if the run is to end, by calling the `is_over` function that `is_over` points to.
extern "C" fn attend(is_over: *const c_void) -> i32 {
    // SAFETY: the context is that of `RankRun::run_by`, which lives until the run has ended.
    let is_over = unsafe { *is_over.cast::<&dyn Fn() -> bool>() };
    i32::from(is_over())
}

/// Passes a write to the [`Writer`] of a run.
extern "C" fn write(
    writer: *const c_void,
    rank: u32,
    to: *mut c_void,
    from: *const c_void,
    bytes: u32,
    how: u32,
) -> i32 {
    let how = match how {
        PUT => Write::Put,
        ADD => Write::Add,
        _ => panic!("kernels add no floats to memory that others add to"),
    };
    // SAFETY: the context is that of `RankRun::run_by`, which lives until the run has ended, and so do the bytes until this call returns.
    let (writer, from) =
        unsafe { (*writer.cast::<&dyn Writer>(), slice::from_raw_parts(from.cast::<u8>(), bytes as usize)) };
    writer.write(rank as usize, to.expose_provenance() as u64, from, how);
    WRITTEN
}

/// Number of the failure in the C interface, and the number of the thread, core or waits that it concerns.
const fn fault(fault: Option<InjectedFault>) -> (u32, u32) {
    match fault {
        None | Some(InjectedFault::RankThread) => (0, 0),
        Some(InjectedFault::WorkerThread(thread)) => (1, thread),
        Some(InjectedFault::Core(core)) => (2, core),
        Some(InjectedFault::Stack(core)) => (3, core),
        Some(InjectedFault::Call(core)) => (4, core),
        Some(InjectedFault::Wait(first)) => (5, first),
    }
}

fn region(region: &MemoryRegion, name: &CStr) -> HostRegion {
    HostRegion {
        base: with_exposed_provenance_mut(region.address as usize),
        bytes: region.bytes as u64,
        rank: region.rank,
        kind: if region.symmetric { SYMMETRIC } else { PRIVATE },
        writable: u32::from(region.writable),
        self_validating: u32::from(region.self_validating),
        name: if name.is_empty() { null() } else { name.as_ptr() },
    }
}

/// The text of the result's message, up to its first zero byte.
fn message(result: &HostResult) -> String {
    // A character of C has a sign on x86-64, and none on AArch64.
    let text: Vec<u8> = result.message.iter().map(|c| c.to_ne_bytes()[0]).take_while(|c| *c != 0).collect();
    String::from_utf8_lossy(&text).into_owned()
}

/// Number of the core that the result names, among all cores of its rank: matrix cores first.
fn core(result: &HostResult, aic: u32) -> usize {
    let first = if result.core_kind == AIV { aic } else { 0 };
    (first + result.core_index) as usize
}
