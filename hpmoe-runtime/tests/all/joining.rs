//! Processes that are to become a group, of which one ends before all have joined, or finds somebody else where rank 0 should be.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hpmoe_runtime::{Group, Place, TcpBootstrap};

use crate::processes::{Processes, place};

/// Ranks 0 to 2 join; rank 3 never comes. One of the others is killed when it has joined.
fn expect_end(test: &str, killed: usize) {
    let mut processes = Processes::start_test(&format!("joining::{test}"), 4);
    // Rank 0 reads the connections of those that have told who they are.
    (1..3).for_each(|rank| processes.wait_for_thread(0, &format!("reads rank {rank}")));
    processes.signal(killed, libc::SIGKILL);
    let sent = Instant::now();
    for rank in (0..3).filter(|&rank| rank != killed) {
        let (code, text) = processes.end(rank, Duration::from_secs(20));
        assert_eq!(code, Some(101), "rank {rank}:\n{text}");
        assert!(text.contains(&format!("rank {killed} is gone: its connection closed")), "rank {rank}:\n{text}");
    }
    assert!(sent.elapsed() < Duration::from_secs(10), "the others took {:?}", sent.elapsed());
}

fn join_without_the_last() {
    if place().unwrap().rank == 3 {
        return sleep(Duration::from_secs(60));
    }
    panic!("{}", Group::from_launcher().map(|_| ()).unwrap_err());
}

#[test]
fn a_process_that_is_killed_before_all_have_joined_is_told() {
    match place() {
        Some(_) => join_without_the_last(),
        None => expect_end("a_process_that_is_killed_before_all_have_joined_is_told", 1),
    }
}

#[test]
fn rank_0_that_is_killed_before_all_have_joined_is_told() {
    match place() {
        Some(_) => join_without_the_last(),
        None => expect_end("rank_0_that_is_killed_before_all_have_joined_is_told", 0),
    }
}

#[test]
fn a_port_that_others_use_is_told_on_all_ranks() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let said = |rank| {
        let place = Place { rank, ranks: 2, address: address.clone() };
        TcpBootstrap::join(&place, Duration::from_secs(10)).unwrap_err().to_string()
    };
    let error = said(0);
    assert!(error.starts_with(&format!("rank 0 can't listen on {address} (Address already in use")), "{error}");
    assert!(error.ends_with("choose another port by HPMOE_PORT, for all ranks"), "{error}");
    // Another program's server.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = other.accept().unwrap();
            let mut some = [0; 8];
            stream.read_exact(&mut some).unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").unwrap();
        });
        let error = said(1);
        let told =
            format!("what answers rank 1 at {address} is not rank 0 of this group: choose another port by HPMOE_PORT");
        assert!(error.starts_with(&told), "{error}");
    });
}
