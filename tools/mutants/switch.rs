//! The switch for the mutant of an instrumented package. The tool adds this file to the packages that it instruments.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

/// The mutants that have been reached, if `HPMOE_MUTANTS_REACHED` names a file for their numbers.
struct Reached {
    flags: Vec<AtomicBool>,
    file: Mutex<File>,
}

/// The value of the environment variable, read once.
struct Switch {
    mutant: Option<u32>,
    reached: Option<Reached>,
}

/// More mutants than any run has.
const MOST: usize = 1 << 16;

static SWITCH: LazyLock<Switch> = LazyLock::new(|| {
    let number = |value: String| value.parse().expect("HPMOE_MUTANT is a number");
    let open = |path| OpenOptions::new().create(true).append(true).open(path).expect("the file can be written");
    let reached = |path| Reached {
        flags: (0..MOST).map(|_| AtomicBool::new(false)).collect(),
        file: Mutex::new(open(path)),
    };
    Switch {
        mutant: std::env::var("HPMOE_MUTANT").ok().map(number),
        reached: std::env::var_os("HPMOE_MUTANTS_REACHED").map(reached),
    }
});

/// Whether a mutant is on.
pub fn on(number: u32) -> bool {
    let switch = &*SWITCH;
    let is_first = |reached: &&Reached| !reached.flags[number as usize].swap(true, Ordering::Relaxed);
    if let Some(reached) = switch.reached.as_ref().filter(is_first) {
        writeln!(reached.file.lock().expect("no thread panics while it holds the lock"), "{number}").expect("the file can be written");
    }
    switch.mutant == Some(number)
}
