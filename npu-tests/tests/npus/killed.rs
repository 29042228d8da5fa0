//! Ranks that are processes, of which one is killed at any moment: the others end with an error that names it, and nothing is left.

use super::{CASE, Layer, joined};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

const LAUNCHED: &str = "a launch ended well";

/// How often a process is killed.
const KILLS: u64 = 50;

/// The longest that the others may take: less than the limit of a core's wait, which is 20 s.
const ENDING: Duration = Duration::from_secs(15);

/// Launches again and again, the last rank late, until something fails.
pub(super) fn launching_process() {
    let group = joined().repeat(2);
    let ranks = group.ranks().count();
    let (expected, rank) = (Layer::new(ranks).reference(), group.ranks().only().unwrap());
    let group = group.delay(ranks - 1, Duration::from_millis(2));
    let mut layer = Layer::of(&group);
    for launch in 0.. {
        layer.y = layer.result();
        layer.launch(&group).unwrap_or_else(|error| panic!("{error}"));
        assert!(layer.y[rank] == expected[rank], "rank {rank} of {ranks}");
        if launch == 0 {
            println!("{LAUNCHED}");
        }
    }
}

fn start(ranks: usize, memory: &str) -> Vec<Child> {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let start = |rank: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "one_case", "--nocapture"]).env(CASE, "launching process");
        command.env("ASCEND_HOME_PATH", env!("STANDIN")).env("HPMOE_SYMMETRIC_MEMORY", memory);
        let place = [("HPMOE_RANK", rank), ("HPMOE_RANKS", ranks), ("HPMOE_PORT", usize::from(port))];
        command.envs(place.map(|(name, value)| (name, value.to_string())));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    (0..ranks).map(start).collect()
}

/// Reads what a rank prints until it has launched once.
fn wait_for_a_launch(child: &mut Child) {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(LAUNCHED) {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "a rank ended early");
    }
    child.stdout = Some(lines.into_inner());
}

/// Waits until a process has ended, and kills one that does not: its status, and what it said.
fn outcome(mut child: Child, rank: usize, killed: Instant) -> (Option<i32>, String) {
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if killed.elapsed() > ENDING => {
                child.kill().unwrap();
                panic!("rank {rank} had not ended {ENDING:?} after one was killed");
            }
            None => sleep(Duration::from_millis(5)),
        }
    };
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (status.code(), said)
}

fn names(folder: &str) -> BTreeSet<String> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
#[ignore = "takes minutes"]
fn fifty_times_a_killed_process_is_told_by_all_others() {
    let shared = names("/dev/shm");
    let mut longest = Duration::ZERO;
    for round in 0..KILLS {
        let (ranks, memory) = ([4, 4, 2, 2][round as usize % 4], ["fabric", "shmem"][round as usize % 2]);
        let mut children = start(ranks, memory);
        children.iter_mut().for_each(wait_for_a_launch);
        // The moment differs from run to run.
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_micros();
        sleep(Duration::from_millis(u64::from(clock) % 300));
        let victim = (round + u64::from(clock)) as usize % ranks;
        children[victim].kill().unwrap();
        let killed = Instant::now();
        for (rank, child) in children.into_iter().enumerate() {
            let (code, said) = outcome(child, rank, killed);
            let told = code == Some(101) && said.contains(&format!("rank {victim} is gone"));
            assert!(rank == victim || told, "{memory}, rank {rank} of {ranks}, rank {victim} killed: {code:?}\n{said}");
        }
        longest = longest.max(killed.elapsed());
    }
    assert_eq!(names("/dev/shm"), shared);
    println!("{KILLS} processes killed: the others ended after at most {longest:?}");
}
