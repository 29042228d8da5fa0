//! Launches on NPUs, with the stand-in for CANN: from `Group::on_npus` to the bits of the reference.
//!
//! The runtime library is found by the environment, so that each case runs in a process of its own, which is this program again.

#![forbid(unsafe_code)]

#[path = "../../ui-tests/kernels/echo.rs"]
mod echo_file;
#[path = "../../ui-tests/kernels/ffn.rs"]
mod ffn_file;

use echo_file::echo;
use ffn_file::ffn;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{LaunchError, Report};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The case that a process is to run.
const CASE: &str = "HPMOE_TEST_CASE";

/// The log of the library's calls.
struct Run {
    log: String,
}

/// Runs a case in a process of its own, which sees the stand-in.
fn run(case: &str, variables: &[(&str, &str)]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "one_case", "--nocapture"]).env(CASE, case).env("HPMOE_STANDIN_LOG", &log);
    command.env("ASCEND_HOME_PATH", env!("STANDIN")).env_remove("ASCEND_RT_VISIBLE_DEVICES");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{case}: {}\n{said}", output.status);
    Run { log: std::fs::read_to_string(log).unwrap_or_default() }
}

/// Runs a case as several processes, each one rank.
fn run_processes(case: &str, ranks: usize, variables: &[(&str, &str)]) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let start = |rank: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "one_case", "--nocapture"]).env(CASE, case).env("ASCEND_HOME_PATH", env!("STANDIN"));
        let place = [("HPMOE_RANK", rank), ("HPMOE_RANKS", ranks), ("HPMOE_PORT", usize::from(port))];
        command.envs(place.map(|(name, value)| (name, value.to_string()))).envs(variables.iter().copied());
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let processes: Vec<_> = (0..ranks).map(start).collect();
    for (rank, process) in processes.into_iter().enumerate() {
        let output = process.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{case}, rank {rank} of {ranks}: {}\n{said}", output.status);
    }
}

/// What a process does for [`run`].
#[test]
fn one_case() {
    let Ok(case) = std::env::var(CASE) else { return };
    match case.as_str() {
        "bits" => bits(),
        "stuck" => stuck(),
        "not built" => not_built(),
        "failed" => failed(),
        "together" => together(),
        "process" => process(),
        "late process" => late_process(),
        "failed process" => failed_process(),
        "no room" => refused_launch(
            "aclrtMalloc failed with error 207018 (no room in the memory of the NPU: lower Group::capacity_rows",
        ),
        "cores" => refused_launch(
            "ffn::forward was scheduled for 2 matrix and 4 vector cores, but NPU 0 has 1 and 2: build it with .matrix_cores(1)",
        ),
        refused => {
            let error = Group::new(4).on_npus().map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(refused), "{error}");
        }
    }
}

/// A layer with tensors for some ranks.
struct Layer {
    ep: Ranks,
    route: Route,
    x: PerRank<Tensor<bf16, { ffn::HIDDEN }>>,
    weights: PerRank<Tensor<f32, { ffn::TOP_K }>>,
    gate: PerRank<Experts<bf16, { ffn::INTER }, { ffn::HIDDEN }>>,
    up: PerRank<Experts<bf16, { ffn::INTER }, { ffn::HIDDEN }>>,
    down: PerRank<Experts<bf16, { ffn::HIDDEN }, { ffn::INTER }>>,
    y: PerRank<Tensor<bf16, { ffn::HIDDEN }>>,
}

/// Numbers between -1 and 1.
fn number(seed: usize) -> f32 {
    let mixed = (seed as u32).wrapping_mul(2_654_435_761) >> 8;
    mixed as f32 / (1 << 23) as f32 - 1.0
}

fn numbers<T: Element>(count: usize, seed: usize, element: impl Fn(f32) -> T) -> Vec<T> {
    (0..count).map(|at| element(number(at + 7919 * seed))).collect()
}

impl Layer {
    /// All ranks in this process.
    fn new(ranks: usize) -> Self {
        Self::of(&Group::new(ranks))
    }

    /// The parts of the ranks that are here.
    fn of(group: &Group) -> Self {
        let (ep, ranks) = (group.ranks(), group.ranks().count());
        // Rank 1 has a single token; no token goes to the last expert.
        let tokens = |rank: Rank| if rank.id() == 1 { 1 } else { 40 + rank.id() };
        let ids = PerRank::from_fn(ep, |rank| {
            let pair = |token: usize| [token % 3, (token + 1 + token % 2) % 3].map(|expert| expert as i32);
            Tensor::<i32, { ffn::TOP_K }>::from_slice(&(0..tokens(rank)).flat_map(pair).collect::<Vec<_>>())
        });
        let experts = ffn::EXPERTS / ranks;
        let to_bf16 = |number: f32| bf16::from_f32(number);
        let matrix = ffn::INTER * ffn::HIDDEN;
        Self {
            ep,
            route: Route::gather(group, ffn::EXPERTS, &ids).unwrap(),
            x: PerRank::from_fn(ep, |r| Tensor::from_slice(&numbers(tokens(r) * ffn::HIDDEN, r.id(), to_bf16))),
            weights: PerRank::from_fn(ep, |r| Tensor::from_slice(&numbers(tokens(r) * ffn::TOP_K, 10 + r.id(), |n| n))),
            gate: PerRank::from_fn(ep, |r| Experts::from_slice(&numbers(experts * matrix, 20 + r.id(), to_bf16))),
            up: PerRank::from_fn(ep, |r| Experts::from_slice(&numbers(experts * matrix, 30 + r.id(), to_bf16))),
            down: PerRank::from_fn(ep, |r| Experts::from_slice(&numbers(experts * matrix, 40 + r.id(), to_bf16))),
            y: PerRank::from_fn(ep, |r| Tensor::zeros(tokens(r))),
        }
    }

    fn launch(&mut self, group: &Group) -> Result<Report, LaunchError> {
        let Self { route, x, weights, gate, up, down, y, .. } = self;
        ffn::forward::launch(group, route, x, weights, gate, up, down, y)
    }

    fn reference(&self) -> PerRank<Tensor<bf16, { ffn::HIDDEN }>> {
        let mut y = PerRank::from_fn(self.ep, |rank| Tensor::zeros(self.y[rank].row_count()));
        ffn::forward(self.ep, &self.route, &self.x, &self.weights, &self.gate, &self.up, &self.down, &mut y);
        y
    }
}

/// Launch after launch on 1, 2 and 4 NPUs, with a late rank.
fn bits() {
    for ranks in [1, 2, 4] {
        let mut layer = Layer::new(ranks);
        let expected = layer.reference();
        let group = Group::new(ranks).repeat(3).delay(ranks - 1, Duration::from_millis(2)).on_npus().unwrap();
        for _ in 0..2 {
            layer.y = PerRank::from_fn(layer.ep, |rank| Tensor::zeros(layer.y[rank].row_count()));
            let report = layer.launch(&group).unwrap();
            assert!(report.on_npus && report.ranks == ranks && report.launches == 3 && report.tasks > 0, "{report}");
            assert!(report.to_string().ends_with("run on NPUs"), "{report}");
            assert!(layer.y.iter().eq(expected.iter()), "{ranks} ranks");
        }
    }
}

/// The group that this process was started for.
fn joined() -> Group {
    Group::from_launcher().unwrap().expect("a rank of several").time_limit(Duration::from_secs(20)).on_npus().unwrap()
}

/// One rank of many: launch after launch, the last rank late, with the bits of the reference.
fn process() {
    let group = joined().repeat(2);
    let ranks = group.ranks().count();
    let expected = Layer::new(ranks).reference();
    let rank = group.ranks().only().unwrap();
    let group = group.delay(ranks - 1, Duration::from_millis(2));
    let mut layer = Layer::of(&group);
    for _ in 0..2 {
        layer.y = PerRank::from_fn(layer.ep, |rank| Tensor::zeros(layer.y[rank].row_count()));
        let report = layer.launch(&group).unwrap();
        assert!(report.on_npus && report.ranks == ranks, "{report}");
        assert!(layer.y[rank] == expected[rank], "rank {rank} of {ranks}");
    }
}

/// Rank 1 ends while the kernels of the others wait for its own: they are told which one is gone, long before the limit, and what
/// their cores were doing.
fn late_process() {
    // Rank 1 puts its kernel on the stream when it is gone.
    let group = joined().delay(1, Duration::from_secs(1));
    let mut layer = Layer::of(&group);
    layer.launch(&group).unwrap();
    if group.ranks().only().unwrap().id() == 1 {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            std::process::exit(0);
        });
    }
    let started = Instant::now();
    let error = layer.launch(&group).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, LaunchError::Lost { .. }) && text.contains("rank 1"), "{text}");
    assert!(text.contains("waited for"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

/// The NPU of rank 1 fails: all ranks have the error.
fn failed_process() {
    let group = joined().time_limit(Duration::from_millis(500));
    let rank = group.ranks().only().unwrap().id();
    let error = Layer::of(&group).launch(&group).unwrap_err();
    assert_eq!(matches!(error, LaunchError::NpuLaunch { rank: 1, .. }), rank == 1, "{error}");
    assert!(
        error.to_string().contains("rank 1: aclrtSynchronizeStreamWithTimeout failed with error 507015"),
        "{error}"
    );
}

/// No core may wait: the kernel gives up, its cores are told apart, and the group is not used again.
fn stuck() {
    let mut layer = Layer::new(2);
    let group = Group::new(2).time_limit(Duration::from_nanos(40)).on_npus().unwrap();
    let error = layer.launch(&group).unwrap_err();
    assert!(
        matches!(&error, LaunchError::Stuck(report) if report.to_string().contains("gave up waiting for ")),
        "{error}"
    );
    assert!(matches!(layer.launch(&group), Err(LaunchError::Broken)));
}

/// Two groups at a time on the same two NPUs, which have cores for one kernel: their launches come in one order on both.
fn together() {
    let launches = || {
        let group = Group::new(2).repeat(3).time_limit(Duration::from_secs(10)).on_npus().unwrap();
        let mut layer = Layer::of(&group);
        let expected = layer.reference();
        for _ in 0..4 {
            layer.launch(&group).unwrap();
            assert!(layer.y.iter().eq(expected.iter()));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(launches);
        scope.spawn(launches);
    });
}

/// A launch that fails before anything starts.
fn refused_launch(said: &str) {
    let group = Group::new(2).on_npus().unwrap();
    for _ in 0..2 {
        let error = Layer::new(2).launch(&group).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

/// The kernel of rank 1 ends with an exception: its peer gives up, and the error has both.
fn failed() {
    let group = Group::new(2).time_limit(Duration::from_millis(300)).on_npus().unwrap();
    let error = Layer::new(2).launch(&group).unwrap_err();
    assert!(matches!(error, LaunchError::NpuLaunch { rank: 1, .. }), "{error}");
    let text = error.to_string();
    let start = "rank 1: aclrtSynchronizeStreamWithTimeout failed with error 507015 (a core of the NPU ended with an exception: ";
    assert!(text.starts_with(start) && text.contains("CANN says: "), "{text}");
    assert!(text.contains("rank 0 A") && text.contains("gave up waiting for "), "{text}");
    assert!(matches!(Layer::new(2).launch(&group), Err(LaunchError::Broken)));
}

/// A kernel without a device object is refused, and the group stays as it was.
fn not_built() {
    let mut layer = Layer::new(2);
    let group = Group::new(2).on_npus().unwrap();
    let ids = PerRank::from_fn(layer.ep, |_| Tensor::<i32, 2>::from_slice(&[0, 1]));
    let route = Route::new(layer.ep, echo::EXPERTS, &ids).unwrap();
    let x = PerRank::from_fn(layer.ep, |_| Tensor::zeros(1));
    let weights = PerRank::from_fn(layer.ep, |_| Tensor::zeros(1));
    let mut y = PerRank::from_fn(layer.ep, |_| Tensor::zeros(1));
    let error = echo::forward::launch(&group, &route, &x, &weights, &mut y).unwrap_err().to_string();
    assert_eq!(error, "echo::forward was compiled for this machine's CPU alone: build with HPMOE_DEVICE=cann");
    layer.launch(&group).unwrap();
}

#[test]
fn launches_on_npus_give_the_bits_of_the_reference() {
    let Run { log } = run("bits", &[]);
    let calls = |call: &str| log.lines().filter(|line| line.starts_with(call)).count();
    // Twice three launches on each of 1, 2 and 4 NPUs.
    assert_eq!(calls("aclrtLaunchKernelWithHostArgs "), 6 * 7);
    assert_eq!(calls("kernel "), 6 * 7);
    // Each launch but the first on an NPU waits for the one before it.
    assert_eq!((calls("aclrtRecordEvent "), calls("aclrtStreamWaitEvent ")), (6 * 7, 6 * 7 - 4));
    // What was taken is given back, and nothing failed.
    for (taken, given) in [
        ("aclrtMalloc ", "aclrtFree "),
        ("aclrtCreateStream ", "aclrtDestroyStream "),
        ("aclrtBinaryLoadFromData ", "aclrtBinaryUnLoad "),
    ] {
        assert!(calls(taken) > 0 && calls(taken) == calls(given), "{taken}: {} and {}", calls(taken), calls(given));
    }
    // All cores at the same time, for at most twice the limit of a wait and a minute.
    assert_eq!(log.lines().filter(|line| line.ends_with(": 0 2 blocks at once, 180 s")).count(), 6 * 7);
    let failed: Vec<&str> =
        log.lines().filter(|line| !line.contains(": 0") && !line.starts_with("aclrtGetDevice ")).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn processes_with_an_npu_each_give_the_bits_of_the_reference() {
    run_processes("process", 2, &[]);
    run_processes("process", 4, &[]);
}

#[test]
fn a_process_that_ends_or_whose_npu_fails_is_told_on_all_ranks() {
    run_processes("late process", 4, &[]);
    run_processes("failed process", 2, &[("HPMOE_STANDIN_FAULT", "1:507015")]);
}

#[test]
fn a_kernel_that_gives_up_is_told_core_by_core() {
    run("stuck", &[]);
}

#[test]
fn two_groups_share_npus() {
    run("together", &[("HPMOE_STANDIN_CORES", "2")]);
}

#[test]
fn an_npu_that_fails_is_told_with_what_all_cores_did() {
    run("failed", &[("HPMOE_STANDIN_FAULT", "1:507015")]);
}

#[test]
fn an_npu_that_does_not_fit_the_kernel_is_told() {
    run("cores", &[("HPMOE_STANDIN_CORES", "1")]);
    run("no room", &[("HPMOE_STANDIN_MEMORY", "100000")]);
}

#[test]
fn a_kernel_without_a_device_object_is_refused() {
    run("not built", &[]);
}

#[test]
fn what_a_machine_lacks_is_told_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    run(
        "there is no runtime library of CANN (tried `libacl_rt.so`, `libascendcl.so`, `",
        &[("ASCEND_HOME_PATH", folder.path().to_str().unwrap())],
    );
    run(
        "the group has 4 ranks, each of which needs an NPU, but this process sees 2: use fewer ranks, or let it see more by \
         ASCEND_RT_VISIBLE_DEVICES",
        &[("ASCEND_RT_VISIBLE_DEVICES", "4,5")],
    );
    run(
        "the NPU is `Ascend310P3`, but kernels are generated for Ascend910B and Ascend910_93",
        &[("HPMOE_STANDIN_SOC", "Ascend310P3")],
    );
    // An older library lacks calls: any other one does.
    let library = folder.path().join("lib64/libacl_rt.so");
    std::fs::create_dir(library.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(Path::new("libc.so.6"), &library).unwrap();
    let c = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6"];
    if let Some(c) = c.iter().find(|path| Path::new(path).exists()) {
        std::fs::remove_file(&library).unwrap();
        std::os::unix::fs::symlink(c, &library).unwrap();
        run(
            "undefined symbol: aclInit): it is older than CANN 8.5",
            &[("ASCEND_HOME_PATH", folder.path().to_str().unwrap())],
        );
    }
}
