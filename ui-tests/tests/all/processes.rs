//! Ranks that are processes: this program again, with one of its tests.

use std::net::TcpListener;
use std::process::Command;

/// Runs an ignored test as each of two ranks, and says which of them succeeded.
pub fn two_ranks(test: &str) -> [bool; 2] {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port();
    let start = |rank: usize| {
        Command::new(std::env::current_exe().expect("the path of this program"))
            .args([test, "--exact", "--ignored"])
            .env("HPMOE_RANK", rank.to_string())
            .env("HPMOE_RANKS", "2")
            .env("HPMOE_PORT", port.to_string())
            .spawn()
            .expect("a process")
    };
    [0, 1].map(start).map(|mut child| child.wait().expect("a process ends").success())
}
