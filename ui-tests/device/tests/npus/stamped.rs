//! Kernels that record time stamps: the trace of a launch, on the host and on NPUs.

use super::stamped_file::stamped;
use super::{joined, number};
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{LaunchError, Report, Trace};
use std::collections::BTreeMap;

const TOKENS: [usize; 2] = [13, 20];

/// Runs the layer on two ranks, and checks the bits of local ranks.
fn launch(group: &Group) -> Result<Report, LaunchError> {
    let ep = group.ranks();
    let numbers = |count: usize, seed: usize| -> Vec<f32> { (0..count).map(|i| number(seed + 97 * i)).collect() };
    let rows = |rank: Rank| TOKENS[rank.id()];
    let tensors = |ep: Ranks| {
        let x = PerRank::from_fn(ep, |r| {
            Tensor::<bf16, { stamped::HIDDEN }>::from_f32(&numbers(rows(r) * stamped::HIDDEN, r.id()))
        });
        let ids = PerRank::from_fn(ep, |r| {
            let ids = (0..rows(r)).flat_map(|token| [0, 1, 2].map(|k| ((token * 5 + k * 3 + r.id()) % 8) as i32));
            Tensor::<i32, { stamped::TOP_K }>::from_vec(ids.collect())
        });
        let weights = PerRank::from_fn(ep, |r| {
            Tensor::<f32, { stamped::TOP_K }>::from_vec(numbers(rows(r) * stamped::TOP_K, 7 + r.id()))
        });
        let w = PerRank::from_fn(ep, |r| {
            let count = stamped::EXPERTS / 2 * stamped::HIDDEN * stamped::HIDDEN;
            let values = numbers(count, 11 + r.id()).into_iter().map(bf16::from_f32).collect();
            Experts::<bf16, { stamped::HIDDEN }, { stamped::HIDDEN }>::from_vec(values)
        });
        let y = PerRank::from_fn(ep, |r| Tensor::<bf16, { stamped::HIDDEN }>::zeros(rows(r)));
        (x, ids, weights, w, y)
    };
    let (x, ids, weights, w, mut expected) = tensors(Ranks::new(2));
    stamped::forward(Ranks::new(2), &x, &ids, &weights, &w, &mut expected);
    let (x, ids, weights, w, mut y) = tensors(ep);
    let report = stamped::forward::launch(group, &x, &ids, &weights, &w, &mut y)?;
    assert!(ep.into_iter().all(|rank| ep.only().is_some_and(|only| only != rank) || y[rank] == expected[rank]));
    Ok(report)
}

/// Number of tiles of each task, by rank and core.
fn counts(trace: &Trace) -> BTreeMap<(usize, &'static str, usize, &'static str), usize> {
    let mut counts = BTreeMap::new();
    for (rank, cores) in trace.ranks.iter().map(|rank| &rank.cores).enumerate() {
        for core in cores {
            for tile in &core.tiles {
                *counts.entry((rank, core.kind, core.number, tile.task)).or_default() += 1;
            }
        }
    }
    counts
}

/// Every tile has a stamp. Stamps of a core don't overlap, and lie between the core's begin and end.
fn check(report: &Report) -> &Trace {
    let trace = report.trace.as_ref().expect("the kernel keeps time stamps");
    let all: usize = counts(trace).values().sum();
    // Each core also has a tile for the route, which is not a task.
    assert_eq!((all as u64, trace.lost()), (report.tasks + 2 * 6, (0, 0)), "{report}");
    for core in trace.ranks.iter().flat_map(|rank| &rank.cores) {
        let mut now = core.begun_ns;
        for tile in &core.tiles {
            assert!(tile.came_ns >= now && (0..=tile.lasted_ns).contains(&tile.waited_ns), "{core:?}");
            now = tile.came_ns + tile.lasted_ns;
        }
        assert!(now <= core.ended_ns && core.begun_ns >= 0, "{core:?}");
    }
    // All ranks run on this machine, which has one clock.
    for clock in trace.ranks.iter().map(|rank| rank.clock.expect("ranks have compared their clocks")) {
        assert!(clock.ahead.abs() <= clock.within, "{clock:?}");
    }
    trace
}

/// The trace as a file.
fn written(trace: &Trace) -> serde_json::Value {
    let mut text = Vec::new();
    trace.write(&mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

pub(super) fn on_the_host() {
    let group = Group::new(2).repeat(2);
    let report = launch(&group).unwrap();
    let trace = check(&report);
    let file = written(trace);
    let note = file["otherData"]["note"].as_str().unwrap();
    assert_eq!(note, "measured, not simulated, on this machine's CPU, whose times mean nothing for an NPU");
    let slices = file["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "task").count();
    assert_eq!(slices, counts(trace).values().sum::<usize>());
    // Tiles without room for a stamp are counted, and change nothing else.
    let scarce = launch(&Group::new(2).stamp_room(3)).unwrap();
    let short = scarce.trace.as_ref().unwrap();
    let kept: usize = counts(short).values().sum();
    assert_eq!(kept + short.lost().0, slices);
    assert!(short.ranks[0].cores.iter().all(|core| core.tiles.len() <= 4) && short.ranks[0].cores[0].tiles.len() == 4);
    assert!(short.lost().0 > 0 && scarce.to_string().contains("had no room for theirs: raise Group::stamp_room"));
    assert_eq!(written(short)["otherData"]["tiles_without_stamp"], short.lost().0);
}

pub(super) fn on_npus() {
    let host = launch(&Group::new(2)).unwrap();
    let report = launch(&Group::new(2).repeat(2).on_npus().unwrap()).unwrap();
    let trace = check(&report);
    assert_eq!(counts(trace), counts(host.trace.as_ref().unwrap()));
    let file = written(trace);
    check_kept(&file);
    let note = file["otherData"]["note"].to_string();
    assert!(
        note.contains("measured, not simulated, on Ascend910_9391 (a stand-in, whose times mean nothing)"),
        "{note}"
    );
}

/// The trace that the tests of `hpmoe diff` read.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/cli/tests/command/measured.json");

/// The contents of a file without times: the tasks of all cores in order, and the names of all its data.
fn without_times(file: &serde_json::Value) -> (Vec<serde_json::Value>, Vec<&String>) {
    let events = file["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "task");
    let task = |event: &serde_json::Value| ["pid", "tid", "name", "args"].map(|key| event[key].clone()).into();
    (events.map(task).collect(), file["otherData"].as_object().unwrap().keys().collect())
}

/// A launch writes the file that the tests of `hpmoe diff` read.
fn check_kept(file: &serde_json::Value) {
    if std::env::var_os("HPMOE_BLESS").is_some() {
        std::fs::write(KEPT, file.to_string() + "\n").unwrap();
    }
    let kept = serde_json::from_str(&std::fs::read_to_string(KEPT).unwrap()).unwrap();
    let same = without_times(&kept) == without_times(file);
    assert!(same, "{KEPT} is another trace: HPMOE_BLESS=1 cargo test -p hpmoe-device-tests --test npus time_stamps");
}

/// One rank of two.
pub(super) fn process() {
    let group = joined();
    let report = launch(&group).unwrap();
    let trace = check(&report);
    // Every process has the trace of all ranks.
    assert_eq!((trace.ranks.len(), trace.ranks[1].cores.len()), (2, 6));
    let own = group.all_gather(format!("{:?}", trace.ranks).as_bytes()).unwrap();
    assert!(own[0] == own[1]);
}
