//! Launches of a kernel that is written in Rust instead of AscendC: it checks its arguments and writes its records.

use std::slice::from_raw_parts;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::thread::current;
use std::time::Duration;

use hpmoe_runtime::abi::{
    HPMOE_BLOCKS, HPMOE_DONE, HPMOE_GAVE_UP, HPMOE_LINE, HPMOE_ROW_TILES, HpmoeDescriptor, HpmoeExpert, HpmoeLaunch,
    HpmoeRecord, HpmoeSpace,
};
use hpmoe_runtime::op::ElementType;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::tables::{
    CounterTable, ExpertOrders, Grid, KernelTables, PhaseTable, RowKind, ScheduleTable, SpaceTable, Storage,
    TensorTable,
};
use hpmoe_runtime::{Argument, Cancel, CompiledKernel, EntryPoint};

const AIC: usize = 2;
const CORES: usize = 6;

pub(crate) const fn tensor(
    name: &'static str,
    row_kind: RowKind,
    storage: Storage,
    pitch: u32,
    writable: bool,
) -> TensorTable {
    TensorTable { name, element: ElementType::bf16, columns: 16, pitch, row_kind, storage, writable }
}

const fn schedule(ranks: u32) -> ScheduleTable {
    ScheduleTable { ranks, queues: &[(0, 1), (0, 1), (1, 0), (1, 0), (1, 0), (1, 0)], descriptors: &DESCRIPTOR }
}

/// The descriptor of phase 7, which walks the items of space 0 in the order in which their rows arrive.
const DESCRIPTOR: [u8; 64] = {
    let mut bytes = [0; 64];
    bytes[std::mem::offset_of!(HpmoeDescriptor, phase)] = 7;
    bytes[std::mem::offset_of!(HpmoeDescriptor, arrival_turn)] = 1;
    bytes
};

const TENSORS: &[TensorTable] = &[
    tensor("x", RowKind::Token, Storage::Argument(0), 16, false),
    tensor("y", RowKind::Token, Storage::Argument(1), 16, true),
    tensor("recv", RowKind::Received, Storage::Symmetric, 256, true),
    tensor("h", RowKind::Received, Storage::Workspace, 256, true),
];

const SCHEDULES: &[ScheduleTable] = &[schedule(1), schedule(2)];

pub(crate) const fn tables(name: &'static str) -> KernelTables {
    KernelTables {
        name,
        fingerprint: "0",
        file: "src/layer.rs",
        experts: 4,
        spare: 0,
        top_k: 2,
        tokens: 8,
        chunks: 1,
        origins: false,
        route: None,
        whole_slots: None,
        aic: AIC as u32,
        aiv: (CORES - AIC) as u32,
        expert_orders: ExpertOrders::Load,
        time_stamps: false,
        tensors: TENSORS,
        spaces: &[SpaceTable { kind: HPMOE_ROW_TILES, height: 2 }, SpaceTable { kind: HPMOE_BLOCKS, height: 4 }],
        counters: &[CounterTable { name: "recv", grid: Grid::RowTiles { space: 0, columns: 1 } }],
        phases: &[PhaseTable {
            task: "project",
            name: "project",
            source: "project(..)",
            line: 41,
            space: 0,
            starts: &[],
        }],
        externals: &[],
        tolerances: &[],
        schedules: SCHEDULES,
        chosen: &[],
    }
}

/// A kernel with the given entry point and tables.
pub(crate) fn kernel(entry: EntryPoint, tables: KernelTables) -> CompiledKernel {
    // SAFETY: the functions of this file read what the runtime makes of these tables, and nothing else.
    unsafe { CompiledKernel::new(entry, tables) }
}

/// The launch structure and the records of a kernel.
///
/// # Safety
///
/// `launch` is the argument that the runtime passes to a kernel, and all cores of a rank run on one thread.
pub(crate) unsafe fn read<'a>(launch: *mut u8) -> (&'a HpmoeLaunch, &'a mut [HpmoeRecord]) {
    // SAFETY: the runtime wrote the structure, and the records are this rank's alone.
    unsafe {
        let launch = &*launch.cast::<HpmoeLaunch>();
        (launch, std::slice::from_raw_parts_mut(launch.records as *mut HpmoeRecord, CORES))
    }
}

/// The array at an address in the launch structure.
///
/// # Safety
///
/// The runtime has written `address` for `len` elements of this type.
pub(crate) unsafe fn array<'a, T>(address: u64, len: usize) -> &'a [T] {
    // SAFETY: as above.
    unsafe { from_raw_parts(address as *const T, len) }
}

/// The number of the launch. Each core of a real kernel keeps it in a separate word. Here, cores don't know their numbers, so the first
/// word counts the calls of all cores.
///
/// # Safety
///
/// The runtime made the structure, and all cores of the rank run on this thread.
pub(crate) unsafe fn next_number(launch: &HpmoeLaunch) -> i32 {
    // SAFETY: there is a word for each core in the heap.
    let calls = unsafe {
        let heap = array::<u64>(launch.peers, launch.ranks as usize)[launch.rank as usize];
        assert_eq!(array::<i32>(heap + launch.launches, CORES * 128)[128], 0, "the words of cores start as zeros");
        &mut *((heap + launch.launches) as *mut i32)
    };
    *calls += 1;
    (*calls - 1) / CORES as i32 + 1
}

static LAST_LAUNCH: AtomicI32 = AtomicI32::new(0);

/// Checks the launch structure. In the records, each core has run one task less than the launch's number.
unsafe extern "C" fn checking(launch: *mut u8) {
    // SAFETY: the runtime called it with one thread per rank.
    let (launch, records) = unsafe { read(launch) };
    // SAFETY: lengths are those of the tables above.
    unsafe {
        let rank = launch.rank as usize;
        assert_eq!((launch.ranks, launch.local_experts, launch.aic, launch.aiv), (2, 2, 2, 4));
        assert_eq!(launch.tokens, [3, 1][rank]);
        assert_eq!(launch.time_limit, 50_000_000, "one second of the 50 MHz counter");
        let heap = array::<u64>(launch.peers, 2)[rank];
        assert_eq!(heap % u64::from(HPMOE_LINE), 0);
        let tensors = array::<u64>(launch.tensors, 4);
        assert_eq!(array::<u16>(tensors[0], 16)[0], 0x3f80, "x is full of ones");
        assert_eq!(array::<u16>(heap + tensors[2], 1)[0], 0xffff, "memory starts poisoned");
        assert_eq!(array::<u16>(tensors[3], 1)[0], 0xffff, "memory starts poisoned");
        assert_eq!(array::<HpmoeDescriptor>(launch.descriptors, 1)[0].phase, 7);
        assert_eq!(array::<i32>(launch.order, 2), [[0, 5].as_slice(), [0, 1].as_slice()][rank]);
        let experts: Vec<_> = array::<HpmoeExpert>(launch.experts, 2).iter().map(|e| (e.first, e.rows)).collect();
        assert_eq!(experts, [[(0, 3), (3, 2)], [(0, 1), (1, 2)]][rank]);
        let spaces = array::<HpmoeSpace>(launch.spaces, 2);
        assert_eq!(array::<i32>(spaces[0].first_items, 3), [[0, 2, 3], [0, 1, 2]][rank]);
        assert_eq!(array::<i32>(spaces[0].peer_items, 4), [0, 2, 0, 1]);
        // The second tile has one row of rank 1, the first two of rank 0.
        assert_eq!(array::<i32>(spaces[0].arrival_order, 2), [[1, 0], [0, 0]][rank]);
        assert_eq!(array::<u32>(launch.expert_order, 4), [1, 0, 0, 1], "the least loaded expert of each rank first");
        assert_eq!(
            (spaces[1].peer_items, spaces[1].arrival_order, array::<i32>(spaces[1].first_items, 2)),
            (0, 0, &[0, 1][..])
        );
        // Room for 2 ranks * 8 tokens * 2 experts: 16 full row tiles and one short one for each expert.
        assert_eq!(launch.counter_count, 18);
        assert_eq!(array::<i32>(heap + launch.counters, 2 * 18 * 128)[..4], [0; 4]);
        assert_eq!((array::<i32>(heap + launch.ready, 1), array::<i32>(heap + launch.abort, 1)), (&[0][..], &[0][..]));
        *(tensors[1] as *mut u16) = 0x4000;
    }
    // SAFETY: as above.
    let number = unsafe { next_number(launch) };
    LAST_LAUNCH.fetch_max(number, Ordering::Relaxed);
    for record in records {
        *record = HpmoeRecord { state: HPMOE_DONE, tasks: number as u32 - 1, waits: 2, ..*record };
    }
}

/// Each core finds the records of the cores before it, and no records of an earlier launch.
unsafe extern "C" fn counting(launch: *mut u8) {
    // SAFETY: the runtime called it with one thread per rank.
    let (launch, records) = unsafe { read(launch) };
    // SAFETY: as above.
    let number = unsafe { next_number(launch) };
    let told = records.iter().take_while(|record| record.state == HPMOE_DONE).count();
    if told < CORES {
        records[told] = HpmoeRecord { state: HPMOE_DONE, tasks: number as u32, ..records[told] };
    }
}

/// Vector core 1 of rank 1 gives up.
unsafe extern "C" fn stuck(launch: *mut u8) {
    // SAFETY: the runtime called it with one thread per rank.
    let (launch, records) = unsafe { read(launch) };
    for record in &mut *records {
        record.state = HPMOE_DONE;
    }
    if launch.rank == 1 {
        records[AIC + 1] = HpmoeRecord { state: HPMOE_GAVE_UP, index: 3, need: 32, have: 16, ..records[AIC + 1] };
    }
}

/// All cores finish, whichever threads they run on.
unsafe extern "C" fn leaving(launch: *mut u8) {
    // SAFETY: the runtime called it.
    let (_, records) = unsafe { read(launch) };
    for record in records {
        // SAFETY: a word that is only written as a whole while the kernel runs.
        unsafe { AtomicU32::from_ptr(&raw mut record.state) }.store(HPMOE_DONE, Ordering::Relaxed);
    }
}

fn launch(group: &Group, kernel: &CompiledKernel, y: &mut PerRank<Tensor<bf16, 16>>) -> Result<Report, LaunchError> {
    let ids: PerRank<Tensor<i32, 2>> =
        PerRank::from_vec(vec![Tensor::from_slice(&[0, 1, 1, 2, 3, 0]), Tensor::from_slice(&[0, 3])]);
    let route = Route::new(group.ranks(), 4, &ids).unwrap();
    let x = PerRank::from_fn(group.ranks(), |rank| Tensor::<bf16, 16>::from_f32(&vec![1.0; 16 * [3, 1][rank.id()]]));
    group.launch(kernel, &route, &[Argument::read("x", &x), Argument::write("y", y)])
}

fn outputs() -> PerRank<Tensor<bf16, 16>> {
    PerRank::from_vec(vec![Tensor::zeros(3), Tensor::zeros(1)])
}

#[test]
fn a_kernel_finds_everything_and_is_reported() {
    let kernel = kernel(checking, tables("checking"));
    let group = Group::new(2).threads(1).time_limit(Duration::from_secs(1)).delay(1, Duration::from_millis(20));
    let mut y = outputs();
    let first = launch(&group, &kernel, &mut y).unwrap();
    assert_eq!((first.tasks, first.aic_cores_used, first.aiv_cores_used), (0, 0, 0));
    assert!(first.wall >= Duration::from_millis(20));
    assert_eq!((y[Rank::new(0)].to_f32()[0], y[Rank::new(1)].to_f32()[0]), (2.0, 2.0));

    let again = launch(&group.repeat(3), &kernel, &mut y).unwrap();
    assert_eq!(LAST_LAUNCH.load(Ordering::Relaxed), 4, "launches are counted across calls");
    assert_eq!((again.ranks, again.launches, again.tasks, again.waits), (2, 3, 3 * 12, 2 * 12));
    assert_eq!((again.aic_cores_used, again.aiv_cores_used), (2, 4));
    assert_eq!((again.counters, again.descriptor_bytes), (18, 64));
    assert!(again.to_string().contains("not the device's"), "{again}");
}

#[test]
fn a_launch_begins_without_the_records_of_the_one_before() {
    let kernel = kernel(counting, tables("counting"));
    let group = Group::new(2).threads(1).time_limit(Duration::from_secs(1)).repeat(3);
    let report = launch(&group, &kernel, &mut outputs()).unwrap();
    // Each core of both ranks has said in its record which launch it is in: the third.
    assert_eq!((report.launches, report.tasks), (3, 2 * CORES as u64 * 3));
}

#[test]
fn launches_after_the_first_start_no_helpers() {
    let kernel = kernel(leaving, tables("leaving"));
    let group = Group::new(2).threads(3);
    let threads = || (0..4).map(|_| launch(&group, &kernel, &mut outputs()).unwrap().host.threads).collect::<Vec<_>>();
    // Other tests of this process may have left some, or take some meanwhile.
    let tries: Vec<Vec<u64>> = (0..20).map(|_| threads()).collect();
    assert!(tries.iter().any(|threads| threads[1..] == [0, 0, 0]), "{tries:?}");
}

#[test]
fn a_report_says_whether_checks_were_off() {
    let kernel = kernel(leaving, tables("leaving"));
    for checks in [true, false] {
        let report = launch(&Group::new(2).checks(checks), &kernel, &mut outputs()).unwrap();
        let said = report.to_string().contains("checks off: races and stale cache lines were not looked for");
        assert_eq!((report.checks, said), (checks, !checks), "{report}");
    }
    let error = launch(&Group::new(2).checks(false).find_races(true), &kernel, &mut outputs()).unwrap_err();
    assert!(matches!(error, LaunchError::UncheckedRaces), "{error}");
}

#[test]
fn the_thread_that_launches_attends_and_can_cancel() {
    let (cancel, asked) = (Cancel::new(), Arc::new(AtomicU32::new(0)));
    let attend = {
        let (cancel, asked, caller) = (cancel.clone(), Arc::clone(&asked), current().id());
        move || {
            assert_eq!(current().id(), caller);
            if asked.fetch_add(1, Ordering::Relaxed) == 2 {
                cancel.cancel();
            }
        }
    };
    let group = Group::new(2).threads(1).delay(1, Duration::from_secs(600)).cancelled_by(&cancel).attended_by(attend);
    let error = launch(&group, &kernel(leaving, tables("leaving")), &mut outputs()).unwrap_err();
    assert!(matches!(error, LaunchError::Cancelled), "{error}");
    assert!(asked.load(Ordering::Relaxed) >= 3 && group.is_broken());
    let error = launch(&Group::new(2).cancelled_by(&cancel), &kernel(leaving, tables("leaving")), &mut outputs());
    assert!(matches!(error, Err(LaunchError::Cancelled)), "a launch that was cancelled before it began");
}

#[test]
fn a_core_that_gives_up_is_named_and_breaks_the_group() {
    let kernel = kernel(stuck, tables("stuck"));
    let group = Group::new(2).threads(1).time_limit(Duration::from_secs(1));
    let error = launch(&group, &kernel, &mut outputs()).unwrap_err().to_string();
    assert!(
        error.contains(
            "rank 1 AIV 1 gave up waiting for `recv`[3] (has 16, needs 32) in `project` at src/layer.rs:41, row tile 0 \
             of expert 2, column 0: project(..)\n"
        ),
        "{error}"
    );
    assert!(error.contains("rank 0\n    AIC 0–1: done\n    AIV 0–3: done\n"), "{error}");
    let error = launch(&group, &kernel, &mut outputs()).unwrap_err();
    assert!(matches!(error, LaunchError::Broken), "{error}");
}

#[test]
fn arguments_that_do_not_fit_leave_the_group_sound() {
    let group = Group::new(2).threads(1).time_limit(Duration::from_secs(1)).capacity_rows(4);
    let error = launch(&group, &kernel(checking, tables("checking")), &mut outputs()).unwrap_err();
    assert!(
        matches!(error, LaunchError::Capacity { rank: 0, rows: 5, capacity: 4, chunks: None, missing: 1024 }),
        "{error}"
    );
    let error = launch(&group, &kernel(checking, tables("checking")), &mut outputs()).unwrap_err();
    assert!(matches!(error, LaunchError::Capacity { .. }), "{error}");
}

#[test]
fn a_size_that_no_machine_has_is_refused_and_leaves_the_group_sound() {
    let kernel = kernel(checking, tables("checking"));
    let group = Group::new(2).threads(1).time_limit(Duration::from_secs(1)).capacity_rows(1 << 52);
    for _ in 0..2 {
        let error = launch(&group, &kernel, &mut outputs()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "checking needs 4.0 EiB on each of 2 ranks to receive up to 4503599627370496 rows, more than this machine \
             can address: make room for what this route needs with Group::capacity_rows(5)"
        );
    }
    launch(&group.capacity_rows(2 * 8 * 2), &kernel, &mut outputs()).unwrap();
}

#[test]
fn a_kernel_that_does_nothing_is_reported_core_by_core() {
    extern "C" fn nothing(_: *mut u8) {}
    let group = Group::new(2).threads(1).time_limit(Duration::from_secs(1));
    let error = launch(&group, &kernel(nothing, tables("nothing")), &mut outputs()).unwrap_err().to_string();
    assert_eq!(
        error,
        "nothing ended before its cores were done\nevery core, when the launch was given up:\n  ranks 0–1\n    \
         AIC 0–1: did not start\n    AIV 0–3: did not start"
    );
}

#[test]
fn a_broken_rule_comes_back_as_the_host_says_it() {
    let kernel = kernel(checking, KernelTables { aiv: 5, ..tables("uneven") });
    let group = Group::new(2).threads(1);
    let error = launch(&group, &kernel, &mut outputs()).unwrap_err();
    assert!(matches!(error, LaunchError::Rule { source_line: None, .. }), "{error}");
    assert_eq!(error.to_string(), "rank 0: aiv must be a multiple of aic");
}
