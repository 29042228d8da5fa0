//! An exported schedule, replayed by an interpreter that knows only its schema (`docs/export.md`).

use crate::{LAYER, SIZE, hpmoe, json};
use serde_json::Value;
use std::collections::BTreeMap;

/// The queue of a core, and the position in it.
struct Core {
    rank: u64,
    tasks: Vec<Value>,
    done: usize,
}

struct Replay {
    cores: Vec<Core>,
    /// The value of each counter, by rank and counter.
    counters: BTreeMap<(u64, u64), u64>,
    /// The largest threshold that is awaited, by rank and counter.
    awaited: BTreeMap<(u64, u64), u64>,
}

fn export(more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("schedule.json");
    let path = path.to_str().unwrap();
    let output = hpmoe(&[&["schedule", LAYER, "--set", SIZE, "--export", path], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key} in {value}"))
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {value}"))
}

impl Replay {
    fn new(schedule: &Value) -> Self {
        let core = |queue: &Value| Core { rank: number(queue, "rank"), tasks: list(queue, "tasks").clone(), done: 0 };
        let cores = list(schedule, "queues").iter().map(core).collect();
        Self { cores, counters: BTreeMap::new(), awaited: BTreeMap::new() }
    }

    /// Runs all tasks that can run, starting with the last core, until no core makes progress.
    fn run(&mut self) {
        let mut moved = true;
        while moved {
            moved = false;
            for core in self.cores.iter_mut().rev() {
                while let Some(task) = core.tasks.get(core.done) {
                    let reached = |wait: &Value| {
                        let counter = (core.rank, number(wait, "counter"));
                        self.counters.get(&counter).copied().unwrap_or(0) >= number(wait, "threshold")
                    };
                    if !list(task, "waits").iter().all(reached) {
                        break;
                    }
                    for wait in list(task, "waits") {
                        let most = self.awaited.entry((core.rank, number(wait, "counter"))).or_default();
                        *most = number(wait, "threshold").max(*most);
                    }
                    for signal in list(task, "signals") {
                        let counter = (number(signal, "rank"), number(signal, "counter"));
                        *self.counters.entry(counter).or_default() += number(signal, "amount");
                    }
                    core.done += 1;
                    moved = true;
                }
            }
        }
    }

    /// Number of tasks that never ran.
    fn left(&self) -> usize {
        self.cores.iter().map(|core| core.tasks.len() - core.done).sum()
    }
}

#[test]
fn every_wait_is_reached_and_nothing_stays_behind() {
    for more in [&["--ranks", "4"][..], &["--ranks", "8", "--routing", "zipf:1.2:5"], &["--ranks", "1"]] {
        let schedule = export(more);
        let mut replay = Replay::new(&schedule);
        replay.run();
        assert_eq!(replay.left(), 0, "{more:?}");
        // The highest threshold of each counter is the sum of all of its signals.
        for (counter, most) in &replay.awaited {
            assert_eq!(replay.counters[counter], *most, "{counter:?} with {more:?}");
        }
    }
}

#[test]
fn a_lost_signal_is_noticed() {
    let mut replay = Replay::new(&export(&["--ranks", "4"]));
    let signals = replay.cores.iter_mut().flat_map(|core| &mut core.tasks).map(|task| task["signals"].as_array_mut());
    signals.flatten().find(|signals| !signals.is_empty()).unwrap().clear();
    replay.run();
    assert!(replay.left() > 0);
}

#[test]
fn tasks_are_the_work_of_the_layer() {
    let schedule = export(&["--ranks", "4"]);
    assert_eq!(list(&schedule, "queues").len(), 4 * 72);
    assert_eq!((number(&schedule, "version"), number(&schedule, "ranks")), (3, 4));
    let tasks = || list(&schedule, "queues").iter().flat_map(|queue| list(queue, "tasks"));
    // 4 ranks of 256 tokens with 4 experts each: 6 H I operations a row.
    let flops: u64 = tasks().map(|task| number(task, "flops")).sum();
    assert_eq!(flops, 6 * 1024 * 256 * (4 * 256 * 4));
    for task in tasks() {
        let (rows, columns) = (number(&task["tile"], "rows"), number(&task["tile"], "columns"));
        assert!(rows > 0 && columns > 0 && number(task, "bytes") >= rows * columns, "{task}");
        assert_eq!(number(task, "flops"), 2 * rows * columns * number(&task["tile"], "depth"));
    }
}

/// Open tile sizes have the same values as in `hpmoe simulate` for the same number of ranks.
#[test]
fn open_sizes_suit_the_ranks() {
    const OPEN: [&str; 5] = ["TILE_M", "TILE_N", "PUT", "BLOCK", "COLUMNS"];
    const SIZES: &str = "HIDDEN=1024,INTER=512,EXPERTS=16,TOP_K=4,TOKENS=256";
    let source = std::fs::read_to_string(LAYER).unwrap();
    let opened = source.lines().map(|line| {
        let name = OPEN.iter().find(|name| line.trim_start().starts_with(&format!("pub const {name}: usize = ")));
        name.map_or(line.to_owned(), |name| format!("    pub const {name}: usize = _;"))
    });
    let folder = tempfile::tempdir().unwrap();
    let [file, path] = ["open.rs", "schedule.json"].map(|name| folder.path().join(name));
    std::fs::write(&file, opened.collect::<Vec<_>>().join("\n")).unwrap();
    let [file, path] = [&file, &path].map(|path| path.to_str().unwrap());
    let tasks = |ranks: &str| {
        let common = ["--set", SIZES, "--ranks", ranks];
        assert!(hpmoe(&[&["schedule", file, "--export", path][..], &common].concat()).status.success());
        let exported: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let exported = list(&exported, "queues").iter().map(|queue| list(queue, "tasks").len() as u64).sum::<u64>();
        let simulate = ["simulate", file, "--policy", "ours", "--json"];
        assert_eq!(exported, number(&json(&[&simulate[..], &common].concat()), "tasks"), "{ranks} ranks");
        exported
    };
    // The tiles for two ranks differ from those for eight.
    assert_ne!(tasks("2") / 2, tasks("8") / 8);
}
