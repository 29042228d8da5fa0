//! The test of an example whose ranks are processes that write each other's memory through an engine, as on several machines: no two
//! processes map the same memory. `oshrun` starts this program once for each rank, with the same test. If the environment has a number of
//! launches, the program acts as a rank and makes these launches.

use super::check_processes::{LAUNCHED, WORK, be_a_rank, outcome};
use super::example::Example;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Number of times that processes are started for a single launch.
const STARTS: usize = 50;

/// Maximum time for the other processes to end after one is killed.
const ENDING: Duration = Duration::from_secs(20);

/// Checks that launches on 2, 4 and 8 processes give the reference's bits, that no start crashes, and that all processes end when one is
/// killed.
pub fn check<E: Example>(layer: &str, module: &str, test: &str) {
    if let Ok(launches) = std::env::var(WORK) {
        return be_a_rank::<E>(layer, launches.parse().expect("a number of launches"));
    }
    let start = |ranks: usize, launches: u32| start(module, test, ranks, launches);
    let ends_well = |ranks, launches, what: String| {
        let (status, text) = outcome(start(ranks, launches));
        assert!(status.success(), "{what} on {ranks} ranks ended with {status}:\n{text}");
        assert_eq!(text.matches(LAUNCHED).count(), ranks, "{what}:\n{text}");
    };
    for ranks in [2, 4, 8] {
        ends_well(ranks, 3, "launches".to_owned());
    }
    for victim in 0..4 {
        let mut child = start(4, u32::MAX);
        let processes = wait_for_launches(&mut child, 4);
        let killed = Instant::now();
        let kill = Command::new("kill").args(["-9", &processes[victim]]).status().expect("kill can be started");
        assert!(kill.success(), "{kill}");
        let (status, text) = outcome(child);
        assert!(!status.success(), "{text}");
        let left = || processes.iter().filter(|process| Path::new("/proc").join(process).exists()).count();
        while left() > 0 && killed.elapsed() < ENDING {
            sleep(Duration::from_millis(20));
        }
        assert!(left() == 0 && killed.elapsed() < ENDING, "{} left after {:?}:\n{text}", left(), killed.elapsed());
    }
    for number in 0..STARTS {
        ends_well([2, 4][number % 2], 1, format!("start {number}"));
    }
}

fn start(module: &str, test: &str, ranks: usize, launches: u32) -> Child {
    let (_, module) = module.split_once("::").expect("a test is in a module of its crate");
    let mut command = Command::new("oshrun");
    command.args(["--allow-run-as-root", "--oversubscribe", "--mca", "sshmem", "mmap", "-np", &ranks.to_string()]);
    command.args(["setarch", "--addr-no-randomize"]).arg(std::env::current_exe().expect("a test knows its program"));
    command.args([&format!("{module}::{test}"), "--exact", "--nocapture", "--ignored", "--test-threads=1"]);
    command.env("HPMOE_ENGINE", "openshmem").env(WORK, launches.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("this test needs oshrun (apt-get install openmpi-bin)")
}

/// Reads the output of the ranks until each has launched once. Returns their process numbers.
fn wait_for_launches(child: &mut Child, ranks: usize) -> Vec<String> {
    let (mut launched, mut processes) = (0, Vec::new());
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut text = String::new();
    while launched < ranks {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("text") > 0, "a rank ended early:\n{text}");
        launched += usize::from(line.contains(LAUNCHED));
        processes.extend(line.trim().strip_prefix("process ").map(str::to_owned));
        text.push_str(&line);
    }
    child.stdout = Some(lines.into_inner());
    assert_eq!(processes.len(), ranks, "{text}");
    processes
}
