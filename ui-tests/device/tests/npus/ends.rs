//! Ranks that are processes, one of which ends or stops at an unexpected moment: no other rank waits longer than its
//! limit.

use super::processes::{end, run_processes, start_processes};
use super::{Layer, joined, shmem};
use hpmoe_runtime::prelude::*;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// When the process of rank 1 ends, in microseconds after it starts to leave.
const MOMENT: &str = "HPMOE_TEST_MOMENT";

/// Sends a process a signal.
fn signal(name: &str, process: u32) {
    let status = Command::new("kill").args([format!("-{name}"), process.to_string()]).status().unwrap();
    assert!(status.success(), "{status}");
}

fn is_rank_1(group: &Group) -> bool {
    group.ranks().only().unwrap().id() == 1
}

/// Rank 1 is killed when all have joined, but before their memory is allocated.
pub(super) fn before_a_launch() {
    let group = joined();
    let mut layer = Layer::of(&group);
    if is_rank_1(&group) {
        signal("KILL", std::process::id());
    }
    let error = layer.launch(&group).unwrap_err().to_string();
    assert!(error.starts_with("rank 1 is gone: its connection closed"), "{error}");
}

/// Rank 1 ends at some moment between its last launch and the end of its group.
pub(super) fn while_it_leaves() {
    let group = joined();
    let mut layer = Layer::of(&group);
    layer.launch(&group).unwrap();
    let moment = std::env::var(MOMENT).unwrap().parse().unwrap();
    group.all_gather(&[]).unwrap();
    if is_rank_1(&group) {
        std::thread::spawn(move || {
            sleep(Duration::from_micros(moment));
            std::process::abort();
        });
    }
    drop(group);
    // It left before that moment.
    if std::env::var("HPMOE_RANK").unwrap() == "1" {
        sleep(Duration::from_secs(60));
    }
}

/// Rank 1 is stopped while its kernel is late and the kernels of the others wait for it.
pub(super) fn stopped() {
    let group = joined().time_limit(Duration::from_millis(800)).delay(1, Duration::from_millis(600));
    let mut layer = Layer::of(&group);
    let processes = group.all_gather(&std::process::id().to_le_bytes()).unwrap();
    if is_rank_1(&group) {
        std::thread::spawn(|| {
            sleep(Duration::from_millis(300));
            signal("STOP", std::process::id());
        });
        // It continues after the others have given it up.
        layer.launch(&group).unwrap_err();
        return;
    }
    let started = Instant::now();
    let error = layer.launch(&group).unwrap_err().to_string();
    signal("CONT", u32::from_le_bytes(processes[1].as_slice().try_into().unwrap()));
    assert!(error.starts_with("rank 0 waited 1.4s for rank 1 to take part in an exchange"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

/// All processes except rank 1's end well within a limit.
fn all_others_end(case: &str, children: Vec<Child>, limit: Duration) {
    let started = Instant::now();
    for (rank, child) in children.into_iter().enumerate() {
        let output = end(rank, child, started, limit);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), rank != 1, "{case}, rank {rank}: {}\n{said}", output.status);
    }
}

#[test]
fn a_process_that_is_killed_before_the_first_launch_is_told() {
    for memory in [&[][..], &[shmem::CHOICE]] {
        let children = start_processes("gone before a launch", 4, memory, |_| Vec::new());
        all_others_end("gone before a launch", children, Duration::from_secs(30));
    }
}

#[test]
fn a_process_that_ends_while_all_leave_holds_nobody_up() {
    for memory in [None, Some(shmem::CHOICE)] {
        for moment in ["0", "300", "3000"] {
            let variables: Vec<_> = memory.into_iter().chain([(MOMENT, moment)]).collect();
            let children = start_processes("gone while it leaves", 2, &variables, |_| Vec::new());
            all_others_end(&format!("gone while it leaves, {variables:?}"), children, Duration::from_secs(30));
        }
    }
}

#[test]
fn a_process_that_stands_still_is_told_within_the_limit() {
    run_processes("stopped process", 2, &[]);
}
