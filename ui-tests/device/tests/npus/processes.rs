//! Ranks that are processes: how they start, and how each of them ended.

use super::CASE;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Runs a case as several processes, one per rank.
pub(super) fn run_processes(case: &str, ranks: usize, variables: &[(&str, &str)]) {
    run_processes_with(case, ranks, variables, |_| Vec::new());
}

/// Like `run_processes`, with environment variables for each rank.
pub(super) fn run_processes_with(
    case: &str,
    ranks: usize,
    variables: &[(&str, &str)],
    of_rank: impl Fn(usize) -> Vec<(&'static str, String)>,
) {
    for (rank, process) in start_processes(case, ranks, variables, of_rank).into_iter().enumerate() {
        let output = process.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{case}, rank {rank} of {ranks}: {}\n{said}", output.status);
    }
}

/// The processes of a case, by rank.
pub(super) fn start_processes(
    case: &str,
    ranks: usize,
    variables: &[(&str, &str)],
    of_rank: impl Fn(usize) -> Vec<(&'static str, String)>,
) -> Vec<Child> {
    let file = address_file();
    let start = |rank: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "one_case", "--nocapture"]).env(CASE, case).env("ASCEND_HOME_PATH", env!("STANDIN"));
        command.env("HPMOE_RANK", rank.to_string()).env("HPMOE_RANKS", ranks.to_string());
        command.env("HPMOE_ADDRESS_FILE", &file).envs(variables.iter().copied());
        command.envs(of_rank(rank));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    (0..ranks).map(start).collect()
}

/// A file with the address of rank 0, which rank 0 removes when all have joined.
fn address_file() -> std::path::PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("hpmoe-device-tests-{}-{number}", std::process::id()))
}

/// Reads the output of a process until a line contains some words.
pub(super) fn wait_for(child: &mut Child, words: &str) {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "a rank ended early");
    }
    child.stdout = Some(lines.into_inner());
}

/// Waits until the process of a rank has ended, and kills it some time after an event if it has not.
pub(super) fn end(rank: usize, mut child: Child, happened: Instant, limit: Duration) -> Output {
    while child.try_wait().unwrap().is_none() {
        if happened.elapsed() > limit {
            child.kill().unwrap();
            let said = child.wait_with_output().unwrap().stderr;
            panic!("rank {rank} had not ended after {limit:?}: {}", String::from_utf8_lossy(&said));
        }
        sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}
