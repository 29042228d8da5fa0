//! Ranks that are processes, one of which is killed at a random moment: the others end with an error that names it, and
//! nothing is left behind.

use super::processes::{end, start_processes, wait_for};
use super::{Layer, joined};
use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

const LAUNCHED: &str = "a launch ended well";

/// Number of runs in which a process is killed.
const KILLS: u64 = 50;

/// The longest time that the others may take: less than a core's time limit, which is 20 s.
const ENDING: Duration = Duration::from_secs(15);

/// Launches repeatedly, with the last rank late, until something fails.
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
        let variables = [("HPMOE_SYMMETRIC_MEMORY", memory)];
        let mut children = start_processes("launching process", ranks, &variables, |_| Vec::new());
        children.iter_mut().for_each(|child| wait_for(child, LAUNCHED));
        // The moment differs from run to run.
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_micros();
        sleep(Duration::from_millis(u64::from(clock) % 300));
        let victim = (round + u64::from(clock)) as usize % ranks;
        children[victim].kill().unwrap();
        let killed = Instant::now();
        for (rank, child) in children.into_iter().enumerate() {
            let output = end(rank, child, killed, ENDING);
            let (code, said) = (output.status.code(), String::from_utf8_lossy(&output.stderr));
            let told = code == Some(101) && said.contains(&format!("rank {victim} is gone"));
            assert!(rank == victim || told, "{memory}, rank {rank} of {ranks}, rank {victim} killed: {code:?}\n{said}");
        }
        longest = longest.max(killed.elapsed());
    }
    assert_eq!(names("/dev/shm"), shared);
    println!("{KILLS} processes killed: the others ended after at most {longest:?}");
}
