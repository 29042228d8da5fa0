//! Processes that join with too few file descriptors: they fail at once, and the error names descriptors.

use std::fs::File;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hpmoe_runtime::{Joining, Place, TcpBootstrap};

/// Environment variables of the process with few descriptors: the address to join at, its rank, and whether it has free descriptors.
const ADDRESS: &str = "HPMOE_TEST_ADDRESS";
const RANK: &str = "HPMOE_TEST_RANK";
const FREE: &str = "HPMOE_TEST_FREE";

const RANKS: usize = 40;

/// Maximum time that a process waits for a free descriptor.
const LIMIT: Duration = Duration::from_secs(5);

/// Joins in a process with 16 descriptors, which are free or not; returns what the process prints.
fn join_with(free: bool, rank: usize, address: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 16; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    command.args(["descriptors::too_few_descriptors_are_named_at_once", "--exact", "--nocapture"]);
    command.args(["--test-threads=1"]).env(ADDRESS, address).env(RANK, rank.to_string()).env(FREE, free.to_string());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn too_few_descriptors_are_named_at_once() {
    let of_this_process = |name| std::env::var(name).ok();
    if let (Some(address), Some(rank)) = (of_this_process(ADDRESS), of_this_process(RANK)) {
        let free = of_this_process(FREE).unwrap() == "true";
        let _files: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok().filter(|_| !free)).collect();
        let place = Place::new(rank.parse().unwrap(), RANKS, address);
        return println!("{}", TcpBootstrap::join(&place, &Joining::new()).unwrap_err());
    }
    let took = Instant::now();
    let listener = Joining::new().listen("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let none_left = "takes a file descriptor, and there is none left (Too many open files (os error 24)): raise the limit of the \
                     process (`ulimit -n`), or close files";
    let said = join_with(false, 1, &address);
    assert!(said.contains(&format!("joining rank 0 as rank 1 {none_left}")), "{said}");
    let said = join_with(false, 0, "127.0.0.1:0");
    assert!(said.contains(&format!("listening as rank 0 {none_left}")), "{said}");
    // Rank 0 can listen, but has no room for all ranks.
    drop(listener);
    thread::scope(|scope| {
        let zero = scope.spawn(|| join_with(true, 0, &address));
        let joining = Joining::new().limit(LIMIT);
        for rank in 1..RANKS {
            let (place, joining) = (Place::new(rank, RANKS, &address), joining.clone());
            // They hear that rank 0 is gone.
            scope.spawn(move || TcpBootstrap::join(&place, &joining).unwrap_err());
        }
        let said = zero.join().unwrap();
        assert!(said.contains(&format!("taking the connection of a rank as rank 0 {none_left}")), "{said}");
        assert!(took.elapsed() < LIMIT, "{:?}", took.elapsed());
    });
}
