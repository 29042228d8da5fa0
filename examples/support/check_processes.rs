//! The test of an example whose ranks are processes: they have the reference's bits, and all end when one of them is killed. The test
//! program starts itself once for each rank, with the same test. If `HPMOE_RANK` is set, the program acts as that rank.

use super::compare::same_bits;
use super::example::{Example, run};
use super::layer::{Layer, bundled};
use super::options::{Options, parse};
use super::team::{end, gather};
use hpmoe_runtime::LaunchError;
use hpmoe_runtime::prelude::*;
use std::io::Read as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

/// Environment variable that makes the test program act as a rank; `check_engine` passes the number of launches in it.
pub(super) const WORK: &str = "HPMOE_TEST_WORK";

/// Maximum time for which a test waits for its processes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Maximum time that a core may wait. A rank that waits for a dead one ends long before.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Checks that launches on 2 and 4 processes give the reference's bits, launch after launch, with one rank late.
pub fn check_bits<E: Example>(layer: &str, module: &str, test: &str) {
    if std::env::var(WORK).is_ok() {
        return be_a_rank::<E>(layer, 3);
    }
    for ranks in [2, 4] {
        for (rank, child) in start(module, test, ranks).into_iter().enumerate() {
            let (status, text) = outcome(child);
            assert!(status.success(), "rank {rank} of {ranks} ended with {status}:\n{text}");
        }
    }
}

/// Kills a process while all processes launch again and again. Checks that the other processes end with an error that names the killed one.
pub fn check_kill<E: Example>(layer: &str, module: &str, test: &str) {
    if std::env::var(WORK).is_ok() {
        return be_a_rank::<E>(layer, u32::MAX);
    }
    for round in 0..3_u32 {
        let ranks = 4;
        let mut children = start(module, test, ranks);
        children.iter_mut().for_each(wait_for_a_launch);
        // The moment of the kill differs from run to run.
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock").subsec_micros();
        sleep(Duration::from_millis(u64::from(clock % 97 + 40 * round)));
        let victim = (round as usize + clock as usize) % ranks;
        children[victim].kill().expect("the test started it");
        let killed = Instant::now();
        for (rank, child) in children.into_iter().enumerate() {
            let (status, text) = outcome(child);
            if rank != victim {
                assert_eq!(
                    status.code(),
                    Some(101),
                    "rank {rank}, with rank {victim} killed, ended with {status}:\n{text}"
                );
                assert!(
                    text.contains(&format!("rank {victim} is gone")),
                    "rank {rank}, with rank {victim} killed:\n{text}"
                );
            }
        }
        assert!(killed.elapsed() < TIME_LIMIT / 2, "the others took {:?} to end", killed.elapsed());
    }
}

/// Checks that the program, run by 2 processes, takes at most `most` bytes of memory in each.
pub fn check_memory<E: Example>(layer: &str, most: u64, module: &str, test: &str) {
    if std::env::var(WORK).is_ok() {
        let folder = std::env::temp_dir().join(format!("hpmoe-{test}-{}", std::process::id()));
        let layer = bundled(layer);
        let [out, data] = [&folder, &layer].map(|path| path.to_str().expect("a name in UTF-8"));
        let options = parse::<Options>(["--out", out, "--data", data]).expect("a command line").expect("not of help");
        let right = run::<E>(&options).unwrap_or_else(|problem| panic!("{problem}"));
        // One of the processes writes pictures.
        if folder.exists() {
            std::fs::remove_dir_all(&folder).expect("the folder of this process");
        }
        let peak = peak_memory();
        println!("peak {peak} bytes");
        assert!(right && peak <= most, "{peak} bytes, where {most} are the most");
        return;
    }
    for (rank, child) in start(module, test, 2).into_iter().enumerate() {
        let (status, text) = outcome(child);
        assert!(status.success(), "rank {rank} ended with {status}:\n{text}");
    }
}

/// The peak resident set size of this process, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells it");
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    1024 * kib.expect("a line of that name").parse::<u64>().expect("a number")
}

/// Launches the example `launches` times as a rank. Panics if a launch fails or has other bits than the reference.
pub(super) fn be_a_rank<E: Example>(layer: &str, launches: u32) {
    let layer = Layer::find_bundled(layer, E::VARIANT).unwrap_or_else(|problem| panic!("{problem}"));
    let group = Group::from_launcher().unwrap_or_else(|error| panic!("{error}")).expect("the test sets the variables");
    let ranks = group.ranks();
    let group = group.threads(1).time_limit(TIME_LIMIT).repeat(2).delay(ranks.count() - 1, Duration::from_millis(2));
    let expected = E::of(&layer, &Group::new(ranks.count())).unwrap().reference();
    let run = || -> Result<(), LaunchError> {
        let example = E::of(&layer, &group).unwrap_or_else(|problem| panic!("{problem}"));
        let (found, report) = example.launch(&group)?;
        assert_eq!((report.ranks, report.empty_tasks), (ranks.count(), 0));
        let all = gather(&group, &found)?;
        assert!(same_bits(&all, &expected), "other bits of the megakernel on {} processes", ranks.count());
        Ok(())
    };
    for launch in 0..launches {
        run().unwrap_or_else(|error| panic!("{error}"));
        if launch == 0 {
            println!("\nprocess {}\n{LAUNCHED}", std::process::id());
        }
    }
}

/// The line that a rank prints after its first launch.
pub(super) const LAUNCHED: &str = "a launch ended well";

fn start(module: &str, test: &str, ranks: usize) -> Vec<Child> {
    let (_, module) = module.split_once("::").expect("a test is in a module of its crate");
    let file = address_file();
    let rank = |rank: usize| {
        let mut command = Command::new(std::env::current_exe().expect("a test knows its program"));
        command.args([&format!("{module}::{test}"), "--exact", "--nocapture", "--test-threads=1"]);
        let place = [("HPMOE_RANK", rank), ("HPMOE_RANKS", ranks), (WORK, 1)];
        command.envs(place.map(|(name, value)| (name, value.to_string()))).env("HPMOE_ADDRESS_FILE", &file);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("a test can start itself")
    };
    (0..ranks).map(rank).collect()
}

/// A new file name, through which ranks learn the address of rank 0. Rank 0 removes the file when all ranks have joined.
fn address_file() -> std::path::PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("hpmoe-examples-{}-{number}", std::process::id()))
}

/// Reads the output of a rank until its first launch has ended.
fn wait_for_a_launch(child: &mut Child) {
    let (mut text, mut byte) = (Vec::new(), [0]);
    let output = child.stdout.as_mut().expect("piped");
    while !text.ends_with(LAUNCHED.as_bytes()) {
        let count = output.read(&mut byte).expect("a pipe can be read");
        assert!(count > 0, "a rank ended early:\n{}", String::from_utf8_lossy(&text));
        text.extend(byte);
    }
}

/// Waits for a rank's process, and returns its exit status and its output.
pub(super) fn outcome(mut child: Child) -> (ExitStatus, String) {
    let status = end(&mut child, Instant::now() + PATIENCE).expect("the test started it");
    let mut text = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
    child.stderr.take().expect("piped").read_to_string(&mut text).expect("text");
    (status.unwrap_or_else(|| panic!("a rank did not end within {PATIENCE:?} and was killed:\n{text}")), text)
}
