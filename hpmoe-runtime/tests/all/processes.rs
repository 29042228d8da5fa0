//! Groups whose ranks are processes. The test program starts itself once for each rank, with the same test. If `HPMOE_RANK` is set, the
//! process is that rank.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hpmoe_runtime::abi::{HPMOE_ABI, HPMOE_DONE, HpmoeLaunch, HpmoeRecord};
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::tables::{KernelTables, RowKind, Storage, TensorTable};
use hpmoe_runtime::{Argument, Bootstrap as _, CompiledKernel, Joining, Place, Secret, TcpBootstrap};

use tempfile::TempDir;

use crate::launch::{array, kernel, next_number, read, tables, tensor};

/// The processes of a test, which are killed at its end.
pub(crate) struct Processes(Vec<Child>, #[expect(dead_code, reason = "removed with the processes")] TempDir);

impl Processes {
    /// Starts this test once for each rank.
    fn start(test: &str, ranks: usize) -> Self {
        Self::start_test(&format!("processes::{test}"), ranks)
    }

    /// Starts a test of any module once for each rank.
    pub(crate) fn start_test(test: &str, ranks: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let start = |rank: usize| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
            command.env("HPMOE_RANK", rank.to_string()).env("HPMOE_RANKS", ranks.to_string());
            command.env("HPMOE_ADDRESS_FILE", folder.path().join("rank0"));
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        Self((0..ranks).map(start).collect(), folder)
    }

    /// Waits until a rank has printed a line.
    fn wait_for(&mut self, rank: usize, line: &str) {
        let mut lines = BufReader::new(self.0[rank].stdout.take().unwrap()).lines();
        assert!(lines.any(|found| found.unwrap().ends_with(line)), "rank {rank} ended before it printed {line:?}");
    }

    /// Waits until a rank's process has a thread with the given name.
    pub(crate) fn wait_for_thread(&mut self, rank: usize, name: &str) {
        let tasks = format!("/proc/{}/task", self.0[rank].id());
        let is_there = || -> std::io::Result<bool> {
            let mut names = Vec::new();
            for task in std::fs::read_dir(&tasks)? {
                names.push(std::fs::read_to_string(task?.path().join("comm")).unwrap_or_default());
            }
            Ok(names.iter().any(|found| found.trim_end() == name))
        };
        while !is_there().unwrap_or_default() {
            assert!(self.0[rank].try_wait().unwrap().is_none(), "rank {rank} ended before it had a thread {name:?}");
            sleep(Duration::from_millis(2));
        }
    }

    /// Sends a signal to a rank's process.
    pub(crate) fn signal(&self, rank: usize, signal: i32) {
        let id = i32::try_from(self.0[rank].id()).unwrap();
        // SAFETY: the process is this value's child, which has not been waited for, so its process id is still valid.
        assert_eq!(unsafe { libc::kill(id, signal) }, 0, "{}", std::io::Error::last_os_error());
    }

    /// Waits until a rank's process has ended, for at most `limit`. Returns its exit code, and what it wrote to stderr.
    pub(crate) fn end(&mut self, rank: usize, limit: Duration) -> (Option<i32>, String) {
        let deadline = Instant::now() + limit;
        let child = &mut self.0[rank];
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                child.kill().unwrap();
            }
            sleep(Duration::from_millis(2));
        }
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (child.wait().unwrap().code(), text)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Most have ended, which is an error here.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The place of this process if it is a rank.
pub(crate) fn place() -> Option<Place> {
    Place::from_launcher().unwrap()
}

/// Joins the group as the rank that this process is.
fn group() -> Group {
    let group = Group::from_launcher().unwrap().unwrap();
    println!("\njoined");
    group.threads(1).time_limit(Duration::from_secs(20))
}

/// Checks that all processes of a test succeed.
fn all_end_well(test: &str, ranks: usize) {
    let mut processes = Processes::start(test, ranks);
    for rank in 0..ranks {
        let (code, text) = processes.end(rank, Duration::from_secs(60));
        assert_eq!(code, Some(0), "rank {rank}:\n{text}");
    }
}

#[test]
fn ranks_exchange_bytes_and_routes() {
    let Some(Place { rank, .. }) = place() else { return all_end_well("ranks_exchange_bytes_and_routes", 3) };
    let group = group();
    for round in 0..50 {
        // The parts differ in length, the longest does not fit a socket's buffer.
        let part = |rank: usize| vec![rank as u8; (rank * 100_000 * (round % 5)) + round];
        assert_eq!(group.all_gather(&part(rank)).unwrap(), [part(0), part(1), part(2)]);
    }
    let ids = |rank: usize| [vec![0, 1, 2, 3], Vec::new(), vec![5, 0]][rank].clone();
    let own = PerRank::from_fn(group.ranks(), |rank| Tensor::<i32, 2>::from_vec(ids(rank.id())));
    let whole = PerRank::from_fn(Ranks::new(3), |rank| Tensor::<i32, 2>::from_vec(ids(rank.id())));
    assert_eq!(Route::gather(&group, 6, &own).unwrap(), Route::new(Ranks::new(3), 6, &whole).unwrap());
    let error = Route::gather(&group, [6, 9, 6][rank], &own).unwrap_err().to_string();
    assert!(error.contains("rank 1 has 9 experts, but rank 0 has 6") || error.contains("but rank 1 has 9"), "{error}");
}

#[test]
fn an_engine_that_is_not_known_or_cannot_run_is_told() {
    const ENGINE: &str = "HPMOE_ENGINE";
    if std::env::var_os(ENGINE).is_some() {
        return eprintln!("{}", Group::from_launcher().unwrap_err());
    }
    let said = |engine: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["processes::an_engine_that_is_not_known_or_cannot_run_is_told", "--exact", "--nocapture"]);
        let output = command.env(ENGINE, engine).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(
        said("mpi").contains("HPMOE_ENGINE is `mpi`, but should be `openshmem`, or unset for processes of one machine")
    );
    assert!(said("openshmem").contains("start it with `oshrun … setarch --addr-no-randomize PROGRAM`"));
}

#[test]
fn a_process_that_a_signal_ends_is_noticed_within_a_second() {
    let test = "a_process_that_a_signal_ends_is_noticed_within_a_second";
    if let Some(Place { rank, .. }) = place() {
        let group = group();
        // The last rank never comes: it is killed.
        match rank {
            3 => sleep(Duration::from_secs(60)),
            _ => panic!("{}", group.all_gather(&[]).unwrap_err()),
        }
        return;
    }
    // Not SIGINT: whoever runs tests in the background has them ignore it.
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGABRT] {
        let mut processes = Processes::start(test, 4);
        (0..4).for_each(|rank| processes.wait_for(rank, "joined"));
        processes.signal(3, signal);
        let sent = Instant::now();
        for rank in 0..3 {
            let (code, text) = processes.end(rank, Duration::from_secs(10));
            assert_eq!(code, Some(101), "signal {signal}, rank {rank}:\n{text}");
            assert!(text.contains("rank 3 is gone: its connection closed"), "signal {signal}, rank {rank}:\n{text}");
        }
        assert!(sent.elapsed() < Duration::from_secs(2), "signal {signal}: the others took {:?}", sent.elapsed());
        assert_eq!(processes.end(3, Duration::from_secs(10)).0, None, "signal {signal} ends a process");
    }
}

/// The process that starts a rank is ended by a signal that the rank does not get.
#[test]
fn a_rank_ends_with_the_process_that_started_it() {
    const TEST: &str = "processes::a_rank_ends_with_the_process_that_started_it";
    const STARTER: &str = "HPMOE_TEST_STARTER";
    let this_test = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([TEST, "--exact", "--nocapture", "--test-threads=1"]).stdout(Stdio::piped());
        command
    };
    if let Some(place) = place() {
        let joined = TcpBootstrap::join(&place, &Joining::from_environment().unwrap()).unwrap();
        println!("\nrank {}", std::process::id());
        // It asks nothing of rank 0 while it sleeps.
        std::mem::forget(joined);
        return sleep(Duration::from_secs(60));
    }
    if std::env::var_os(STARTER).is_some() {
        let joining = Joining::of_own_processes().unwrap();
        let listener = joining.listen("127.0.0.1:0").unwrap();
        let mut command = this_test();
        joining.pass_to(&mut command, 1, 2, listener.local_addr().unwrap().port()).unwrap();
        let mut rank = command.env_remove(STARTER).stdout(Stdio::inherit()).spawn().unwrap();
        std::mem::forget(TcpBootstrap::host(listener, 2, &joining).unwrap());
        return drop(rank.wait());
    }
    for signal in [libc::SIGHUP, libc::SIGTERM, libc::SIGKILL] {
        let mut command = this_test();
        let starter = command.env(STARTER, "1").stderr(Stdio::piped()).spawn().unwrap();
        let mut processes = Processes(vec![starter], tempfile::tempdir().unwrap());
        let mut lines = BufReader::new(processes.0[0].stdout.take().unwrap()).lines();
        let rank = lines.find_map(|line| line.unwrap().strip_prefix("rank ").map(str::to_owned)).unwrap();
        processes.signal(0, signal);
        let sent = Instant::now();
        let alive = || {
            let state = std::fs::read_to_string(format!("/proc/{rank}/stat")).unwrap_or_default();
            // Nobody may wait for a process whose parent is gone.
            !(state.is_empty() || state.contains(") Z "))
        };
        while alive() {
            assert!(sent.elapsed() < Duration::from_secs(5), "signal {signal} leaves process {rank}");
            sleep(Duration::from_millis(10));
        }
    }
}

/// Rank 1's process stops in the middle of a launch; rank 0's kernel finishes.
unsafe extern "C" fn stalled(launch: *mut u8) {
    static STALLS: Once = Once::new();
    // SAFETY: as for `trading`.
    let (launch, records) = unsafe { read(launch) };
    // Each core comes here.
    if launch.rank == 1 {
        STALLS.call_once(|| {
            println!("\nstalls");
            // SAFETY: a signal to the process itself.
            unsafe { libc::raise(libc::SIGSTOP) };
        });
    }
    finish(launch, records);
}

#[test]
fn a_process_that_stands_still_is_waited_for_as_long_as_the_limit_says() {
    let test = "a_process_that_stands_still_is_waited_for_as_long_as_the_limit_says";
    if place().is_some() {
        let kernel = kernel(stalled, trading_tables("stalled"));
        let group = group().time_limit(Duration::from_millis(500));
        let error = launch_trading(&group, &kernel).unwrap_err();
        assert!(matches!(group.all_gather(&[]), Err(LaunchError::Broken)), "the group goes on");
        panic!("{error}");
    }
    let mut processes = Processes::start(test, 2);
    processes.wait_for(1, "stalls");
    let stands = Instant::now();
    let (code, text) = processes.end(0, Duration::from_secs(20));
    assert_eq!(code, Some(101), "{text}");
    assert!(text.contains("rank 0 waited 500ms for rank 1 to take part in an exchange"), "{text}");
    assert!(stands.elapsed() < Duration::from_secs(5), "rank 0 took {:?}", stands.elapsed());
    // Once it goes on, it finds that it is too late.
    processes.signal(1, libc::SIGCONT);
    let (code, text) = processes.end(1, Duration::from_secs(20));
    assert_eq!(code, Some(101), "{text}");
    assert!(text.contains("rank 0 is gone"), "{text}");
}

#[test]
fn a_rank_that_does_not_come_is_named() {
    let Some(Place { rank, .. }) = place() else { return all_end_well("a_rank_that_does_not_come_is_named", 3) };
    let group = group().time_limit(Duration::from_millis(300));
    if rank == 1 {
        sleep(Duration::from_secs(2));
        return;
    }
    let error = group.all_gather(&[]).unwrap_err().to_string();
    let late = format!("rank {rank} waited 300ms for rank 1 to take part in an exchange: ");
    // Whoever waits less long hears first that another has left.
    assert!(error.starts_with(&late) || error.contains("left the group while others went on"), "{error}");
    assert!(matches!(group.all_gather(&[]), Err(LaunchError::Broken)));
    sleep(Duration::from_secs(1));
}

#[test]
fn a_rank_that_never_starts_is_named() {
    let address = "127.0.0.1:0";
    let joining = Joining::new().limit(Duration::from_millis(50));
    let error = TcpBootstrap::host(TcpListener::bind(address).unwrap(), 3, &joining).unwrap_err();
    assert!(error.to_string().starts_with("of 3 ranks, ranks 1, 2 did not join rank 0 at 127.0.0.1:"), "{error}");
    let listener = TcpListener::bind(address).unwrap();
    let nobody = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = TcpBootstrap::join(&Place::new(1, 3, &nobody), &joining).unwrap_err().to_string();
    assert!(error.starts_with(&format!("rank 1 could not reach rank 0 at {nobody} within 50ms (")), "{error}");
}

#[test]
fn processes_that_do_not_fit_together_all_say_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let joining = Joining::new().limit(Duration::from_secs(10)).secret(Secret::generate().unwrap());
    let errors = std::thread::scope(|scope| {
        let other = |rank, ranks| {
            let (place, joining) = (Place::new(rank, ranks, &address), &joining);
            scope.spawn(move || TcpBootstrap::join(&place, joining).unwrap_err().to_string())
        };
        let others = [other(1, 4)];
        let mut errors = vec![TcpBootstrap::host(listener, 2, &joining).unwrap_err().to_string()];
        errors.extend(others.map(|other| other.join().unwrap()));
        errors
    });
    for error in errors {
        assert!(error.starts_with("rank 1 was started for 4 ranks and rank 0 for 2: start all"), "{error}");
    }
}

/// Without a secret, any process can connect: it gets the reason, and rank 0 continues to wait.
#[test]
fn a_process_of_another_size_without_a_secret_is_refused_alone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let joining = Joining::new().limit(Duration::from_secs(10));
    std::thread::scope(|scope| {
        let join = |ranks| {
            let (place, joining) = (Place::new(1, ranks, &address), &joining);
            scope.spawn(move || TcpBootstrap::join(&place, joining))
        };
        let other = join(4);
        let first = scope.spawn(|| TcpBootstrap::host(listener, 2, &joining).unwrap());
        let error = other.join().unwrap().unwrap_err().to_string();
        assert!(error.starts_with("rank 1 was started for 4 ranks and rank 0 for 2: start all"), "{error}");
        let right = join(2).join().unwrap().unwrap();
        let strangers = first.join().unwrap().strangers();
        assert_eq!((strangers.misplaced, strangers.count(), right.strangers()), (1, 1, strangers));
    });
}

#[test]
fn a_stranger_does_not_disturb() {
    use std::io::Write as _;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut stranger = std::net::TcpStream::connect(&address).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let limit = Duration::from_secs(10);
    let joining = Joining::new().limit(limit);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let joined = TcpBootstrap::join(&Place::new(1, 2, &address), &joining).unwrap();
            joined.all_gather(b"b", limit).unwrap()
        });
        let first = TcpBootstrap::host(listener, 2, &joining).unwrap();
        assert_eq!(first.all_gather(b"a", limit).unwrap(), [b"a", b"b"]);
        assert_eq!(other.join().unwrap(), [b"a", b"b"]);
    });
}

const TENSORS: &[TensorTable] = &[
    tensor("x", RowKind::Token, Storage::Argument(0), 16, false),
    tensor("y", RowKind::Received, Storage::Shared(1), 16, true),
    tensor("recv", RowKind::Received, Storage::Symmetric, 256, true),
];

fn trading_tables(name: &'static str) -> KernelTables {
    KernelTables { tensors: TENSORS, ..tables(name) }
}

/// Each core writes the launch's number to `recv` of both ranks, waits for the other rank's number, and then writes a row to the other
/// rank's `y`.
unsafe extern "C" fn trading(launch: *mut u8) {
    // SAFETY: the runtime called it with one thread per rank; lengths are those of the tables.
    unsafe {
        let (launch, records) = read(launch);
        let (peers, tensors) = (array::<u64>(launch.peers, 2), array::<u64>(launch.tensors, 3));
        let word = |on: usize, of: u32| &*((peers[on] + tensors[2] + 512 * u64::from(of)) as *const AtomicI32);
        let (own, other) = (launch.rank as usize, 1 - launch.rank);
        let number = next_number(launch);
        (0..2).for_each(|peer| word(peer, launch.rank).store(number, Ordering::SeqCst));
        let deadline = Instant::now() + Duration::from_secs(10);
        while word(own, other).load(Ordering::SeqCst) < number {
            assert!(Instant::now() < deadline, "the other rank's word did not come");
        }
        let rows = array::<u64>(tensors[1], 2);
        *(rows[1 - own] as *mut u16) = 0x4000 + launch.rank as u16;
        finish(launch, records);
    }
}

fn finish(launch: &HpmoeLaunch, records: &mut [HpmoeRecord]) {
    for record in records {
        *record = HpmoeRecord { state: HPMOE_DONE, tasks: launch.rank + 1, ..*record };
    }
}

/// Rank 1's process ends in the middle of a launch; rank 0's kernel finishes.
unsafe extern "C" fn deadly(launch: *mut u8) {
    // SAFETY: as above.
    let (launch, records) = unsafe { read(launch) };
    if launch.rank == 1 {
        std::process::abort();
    }
    finish(launch, records);
}

/// Two tokens of rank 0 for both of rank 1's experts, and one of rank 1 for experts of rank 0.
fn launch_trading(group: &Group, kernel: &CompiledKernel) -> Result<(Vec<Vec<u16>>, Report), LaunchError> {
    let ids = |rank: usize| [vec![2, 3, 3, 2], vec![0, 1]][rank].clone();
    let own = PerRank::from_fn(group.ranks(), |rank| Tensor::<i32, 2>::from_vec(ids(rank.id())));
    let route = Route::gather(group, 4, &own)?;
    let x = PerRank::from_fn(group.ranks(), |rank| Tensor::<bf16, 16>::zeros(own[rank].row_count()));
    let mut y = PerRank::symmetric::<bf16, 16>(group.ranks(), &route);
    let report = group.launch(kernel, &route, &[Argument::read("x", &x), Argument::write("y", &mut y)])?;
    Ok((y.iter().map(|part| part.to_vec().iter().map(|x| x.to_bits()).collect()).collect(), report))
}

#[test]
fn kernels_write_the_memory_of_other_processes() {
    let Some(Place { rank, .. }) = place() else {
        return all_end_well("kernels_write_the_memory_of_other_processes", 2);
    };
    let kernel = kernel(trading, trading_tables("trading"));
    let group = group();
    for _ in 0..3 {
        let (y, report) = launch_trading(&group, &kernel).unwrap();
        assert_eq!(y.len(), 1, "the part of this rank");
        assert_eq!((y[0][0], y[0][1]), (0x4000 + 1 - rank as u16, 0xffff), "the other rank wrote one number");
        assert_eq!((report.ranks, report.launches, report.tasks), (2, 1, 6 + 12));
    }
}

#[test]
fn a_difference_is_one_error_on_all_ranks() {
    let Some(Place { rank, .. }) = place() else {
        return all_end_well("a_difference_is_one_error_on_all_ranks", 2);
    };
    let kernel = kernel(trading, trading_tables("trading"));
    let group = group().capacity_rows([32, 16][rank]);
    let error = launch_trading(&group, &kernel).unwrap_err().to_string();
    assert_eq!(
        error,
        "the ranks disagree about capacity (rows): rank 0 has `32`, rank 1 has `16`; start all processes from one build \
         with the same arguments, and make the same calls in the same order"
    );
}

/// Processes with another build or another order of launches have other kernels, constants, fingerprints or numbers of launches.
#[test]
fn whatever_differs_is_told_by_its_name_on_all_ranks() {
    let Some(Place { rank, .. }) = place() else {
        return all_end_well("whatever_differs_is_told_by_its_name_on_all_ranks", 2);
    };
    let plain = || trading_tables("trading");
    let tokens = plain().tokens;
    let told = |tables: KernelTables, group: Group, term: &str, (mine, others): (&str, &str)| {
        let kernel = kernel(trading, if rank == 0 { plain() } else { tables });
        let error = launch_trading(&group, &kernel).unwrap_err().to_string();
        let said = format!("the ranks disagree about {term}: rank 0 has `{mine}`, rank 1 has `{others}`; start all");
        assert!(error.starts_with(&said), "{error}");
    };
    told(trading_tables("other"), group(), "the kernel", ("trading", "other"));
    let more = (&*tokens.to_string(), &*(tokens + 1).to_string());
    told(KernelTables { tokens: tokens + 1, ..plain() }, group(), "TOKENS", more);
    let version = |fingerprint: &str| format!("{fingerprint} (ABI {HPMOE_ABI})");
    let built = (&*version("0"), &*version("1"));
    told(KernelTables { fingerprint: "1", ..plain() }, group(), "the fingerprint", built);
    told(plain(), group().repeat([1, 3][rank]), "launches", ("1 x 1", "3 x 1"));
    told(plain(), group().seed([5, 6][rank]), "seed", ("5", "6"));
}

#[test]
fn an_error_of_one_rank_is_an_error_of_all() {
    let Some(Place { rank, .. }) = place() else {
        return all_end_well("an_error_of_one_rank_is_an_error_of_all", 2);
    };
    let kernel = kernel(trading, trading_tables("trading"));
    let group = group().capacity_rows([32, 1][rank]);
    let error = launch_trading(&group, &kernel).unwrap_err().to_string();
    let own = "rank 1 would receive 4 rows, but there is room for 1: ";
    let told = format!("rank 1 failed with this error: {own}");
    assert!(error.starts_with([told.as_str(), own][rank]), "{error}");
    // Nothing has been launched, so that the group can go on.
    let (y, _) = launch_trading(&group.capacity_rows(32), &kernel).unwrap();
    assert_eq!(y[0][0], 0x4000 + 1 - rank as u16);
}

#[test]
fn a_death_in_a_launch_ends_it_with_a_report() {
    let test = "a_death_in_a_launch_ends_it_with_a_report";
    if place().is_some() {
        let kernel = kernel(deadly, trading_tables("deadly"));
        let error = launch_trading(&group(), &kernel).unwrap_err();
        assert!(matches!(error, LaunchError::Lost { .. }), "{error}");
        panic!("{error}");
    }
    let mut processes = Processes::start(test, 2);
    let (code, text) = processes.end(0, Duration::from_secs(30));
    assert_eq!(code, Some(101), "{text}");
    let report = "rank 1 is gone: its connection closed. Its own output says why\n\
                  deadly ended before its cores were done\nevery core, when the launch was given up:\n  rank 0\n    ";
    assert!(text.contains(report), "{text}");
}

#[test]
fn a_rank_without_a_descriptor_for_the_heap_of_another_is_told_by_all() {
    let Some(Place { rank, .. }) = place() else {
        return all_end_well("a_rank_without_a_descriptor_for_the_heap_of_another_is_told_by_all", 2);
    };
    let kernel = kernel(trading, trading_tables("trading"));
    let group = group();
    let mut files = Vec::new();
    if rank == 1 {
        let few = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
        // SAFETY: a limit of this process, by a value that outlives the call.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &few) }, 0);
        files.extend(std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()));
        // For its own heap.
        files.pop();
    }
    let error = launch_trading(&group, &kernel).unwrap_err().to_string();
    let own = "mapping the heap of rank 0 in rank 1 takes a file descriptor, and there is none left (Too many open files (os error 24)): ";
    let told = format!("rank 1 failed with this error: {own}");
    assert!(error.starts_with(if rank == 1 { own } else { &told }), "{error}");
}

#[test]
fn parts_of_other_ranks_are_refused() {
    let Some(Place { rank, .. }) = place() else { return all_end_well("parts_of_other_ranks_are_refused", 2) };
    let group = group();
    let own = PerRank::from_fn(group.ranks(), |_| Tensor::<i32, 2>::from_slice(&[0, 1]));
    let route = Route::gather(&group, 4, &own).unwrap();
    let x = PerRank::from_vec(vec![Tensor::<bf16, 16>::zeros(1), Tensor::zeros(1)]);
    let mut y = PerRank::symmetric::<bf16, 16>(group.ranks(), &route);
    let kernel = kernel(trading, trading_tables("trading"));
    let error = group.launch(&kernel, &route, &[Argument::read("x", &x), Argument::write("y", &mut y)]).unwrap_err();
    let text = format!("`x` holds the parts of all 2 ranks, but this process runs rank {rank} alone: make it with ");
    assert!(error.to_string().starts_with(&text), "{error}");
}
