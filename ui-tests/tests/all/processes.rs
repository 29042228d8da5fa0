//! Ranks that are processes: they run this program again, with one of its tests.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Runs an ignored test as each of two ranks, and returns which of them succeeded.
pub fn two_ranks(test: &str) -> [bool; 2] {
    let file = address_file();
    let start = |rank: usize| {
        Command::new(std::env::current_exe().expect("the path of this program"))
            .args([test, "--exact", "--ignored"])
            .env("HPMOE_RANK", rank.to_string())
            .env("HPMOE_RANKS", "2")
            .env("HPMOE_ADDRESS_FILE", &file)
            .spawn()
            .expect("a process")
    };
    [0, 1].map(start).map(|mut child| child.wait().expect("a process ends").success())
}

/// A file with the address of rank 0, which rank 0 removes when all have joined.
fn address_file() -> std::path::PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("hpmoe-ui-tests-{}-{number}", std::process::id()))
}
