//! `hpmoe simulate --trace`: checks whole files against the rules of the Trace Event Format and of its readers.

use crate::{LAYER, SIZE, hpmoe};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A process and a thread.
type Track = (u64, u64);

/// A slice in whole nanoseconds, as in Perfetto: microseconds as a double, times 1000, truncated.
struct Slice<'a> {
    from: i64,
    to: i64,
    event: &'a Value,
}

fn whole(event: &Value, key: &str) -> u64 {
    event[key].as_u64().unwrap_or_else(|| panic!("no whole number `{key}` in {event}"))
}

fn text<'a>(event: &'a Value, key: &str) -> &'a str {
    let text = event[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {event}"));
    assert!(!text.is_empty(), "{event}");
    text
}

fn cut_ns(event: &Value, key: &str) -> i64 {
    let us = event[key].as_f64().unwrap_or_else(|| panic!("no number `{key}` in {event}"));
    assert!(us.is_finite() && us >= 0.0, "`{key}` of {event}");
    (us * 1000.0) as i64
}

fn track(event: &Value) -> Track {
    let track = (whole(event, "pid"), whole(event, "tid"));
    assert!(track.0 > 0 && track.1 > 0, "the idle process, or thread: {event}");
    track
}

/// A parsed and checked trace.
struct Trace<'a> {
    tracks: BTreeMap<Track, Vec<Slice<'a>>>,
    arrows: usize,
}

impl<'a> Trace<'a> {
    fn of(trace: &'a Value) -> Self {
        let events = trace["traceEvents"].as_array().expect("a list of events");
        assert!(matches!(text(trace, "displayTimeUnit"), "ms" | "ns"));
        let named = names(events);
        let mut tracks: BTreeMap<Track, Vec<Slice<'a>>> = BTreeMap::new();
        for event in events.iter().filter(|event| event["ph"] == "X") {
            text(event, "name");
            text(event, "cat");
            assert!(event["args"].is_object(), "{event}");
            let from = cut_ns(event, "ts");
            let slice = Slice { from, to: from + cut_ns(event, "dur"), event };
            tracks.entry(track(event)).or_default().push(slice);
        }
        assert!(tracks.keys().all(|track| named.contains(track)), "a thread without a name");
        for slices in tracks.values_mut() {
            slices.sort_by_key(|slice| (slice.from, slice.to));
            for pair in slices.windows(2) {
                assert!(pair[0].to <= pair[1].from, "{} overlaps {}", pair[0].event, pair[1].event);
            }
        }
        let mut trace = Self { tracks, arrows: 0 };
        trace.arrows = trace.arrows(events);
        trace
    }

    /// Returns the number of arrows. Checks that each has a start and one later end, both inside slices of tasks.
    fn arrows(&self, events: &[Value]) -> usize {
        let mut starts = BTreeMap::new();
        let mut ends = BTreeMap::new();
        for event in events {
            let side = match event["ph"].as_str() {
                Some("s") => &mut starts,
                Some("f") => &mut ends,
                _ => continue,
            };
            let key = (text(event, "cat"), text(event, "name"), whole(event, "id"));
            assert!(side.insert(key, event).is_none(), "twice: {event}");
        }
        assert!(starts.keys().eq(ends.keys()), "arrows without a start or an end");
        for (key, start) in &starts {
            let end = ends[key];
            assert_eq!(text(end, "bp"), "e", "it would belong to the next slice: {end}");
            assert!(cut_ns(start, "ts") < cut_ns(end, "ts"), "{start} leads to {end}");
            let (from, to) = (self.enclosing(start), self.enclosing(end));
            assert!(!std::ptr::eq(from, to) && from["cat"] == "task" && to["cat"] == "task", "{from} leads to {to}");
            // The arrow ends when the wait is over.
            assert!(to["args"]["empty"] == true || cut_ns(to, "ts") == cut_ns(end, "ts"), "{end} is late in {to}");
        }
        starts.len()
    }

    /// The last slice of the event's thread that has begun, which is the one that readers bind an arrow to.
    fn enclosing(&self, event: &Value) -> &'a Value {
        let (at, slices) = (cut_ns(event, "ts"), &self.tracks[&track(event)]);
        let begun = slices.partition_point(|slice| slice.from <= at);
        let slice = &slices[begun.checked_sub(1).unwrap_or_else(|| panic!("nothing has begun at {event}"))];
        assert!(at <= slice.to, "{event} lies after {}", slice.event);
        slice.event
    }

    fn slices(&self, category: &str) -> impl Iterator<Item = &'a Value> {
        let all = self.tracks.values().flatten().map(|slice| slice.event);
        all.filter(move |event| event["cat"] == category)
    }
}

/// The threads with names. Checks that names are unique, that numbers of threads are unique, and that processes have names.
fn names(events: &[Value]) -> BTreeSet<Track> {
    let (mut processes, mut threads) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        match text(event, "ph") {
            "M" => {}
            "X" | "s" | "f" => continue,
            other => panic!("an event of phase {other}: {event}"),
        }
        let track = track(event);
        let twice = match text(event, "name") {
            "process_name" => processes.insert(track.0, text(&event["args"], "name")),
            "thread_name" => threads.insert(track, text(&event["args"], "name")),
            "process_sort_index" | "thread_sort_index" => {
                whole(&event["args"], "sort_index");
                None
            }
            other => panic!("{other} is not metadata: {event}"),
        };
        assert!(twice.is_none(), "named twice: {event}");
    }
    assert!(threads.keys().all(|track| processes.contains_key(&track.0)));
    let numbers: BTreeSet<u64> = threads.keys().map(|track| track.1).collect();
    assert_eq!(numbers.len(), threads.len(), "two threads with one number");
    threads.into_keys().collect()
}

/// The trace of a run, and the number of tasks that the command reports.
fn traced(policy: &str, more: &[&str]) -> (Value, u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let base = ["simulate", LAYER, "--set", SIZE, "--ranks", "2", "--policy", policy, "--json"];
    let traced = ["--trace", path.to_str().unwrap()];
    let output = hpmoe(&[&base[..], &traced, more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tasks = whole(&serde_json::from_slice(&output.stdout).unwrap(), "tasks");
    (serde_json::from_str(&std::fs::read_to_string(path).unwrap()).expect("JSON"), tasks)
}

#[test]
fn a_trace_keeps_the_rules_of_its_format() {
    for (policy, more) in [
        ("ours", ["--routing", "balanced"]),
        ("ours", ["--routing", "zipf:1.2:7"]),
        // Tasks that take next to no time.
        ("ours", ["--constant", "sync.tile_overhead_ns=0"]),
        ("hyperparallel", ["--routing", "zipf:1.2:7"]),
        ("serial", ["--routing", "balanced"]),
    ] {
        let (trace, tasks) = traced(policy, &more);
        let checked = Trace::of(&trace);
        assert_eq!(checked.slices("task").count() as u64, tasks, "{policy}");
        assert!(checked.arrows > 0 && checked.slices("wait").count() > 0, "{policy}");
        // Overhead is not a wait: many tasks find what they need.
        assert!(policy != "ours" || (checked.slices("wait").count() as u64) < tasks);
        // Only cores without a share of a serial operator spend no time at all.
        assert!(policy == "serial" || checked.slices("task").all(|task| cut_ns(task, "dur") > 0), "{policy}");
        let empty = checked.slices("task").filter(|task| task["args"]["empty"] == true).count();
        assert_eq!(empty > 0, policy != "ours", "{policy}");
        let processes: BTreeSet<u64> = checked.tracks.keys().map(|track| track.0).collect();
        assert_eq!(processes, BTreeSet::from([1, 2]));
        assert!(text(&trace["otherData"], "note").contains("simulated"));
    }
}

#[test]
fn each_slice_names_the_call_in_the_users_source() {
    let (trace, _) = traced("ours", &[]);
    let source = std::fs::read_to_string(LAYER).unwrap();
    let checked = Trace::of(&trace);
    for slice in checked.slices("task").chain(checked.slices("wait")) {
        let task = if slice["cat"] == "wait" { text(&slice["args"], "for") } else { text(slice, "name") };
        let (place, task) = (text(&slice["args"], "source"), task.split('→').next().unwrap());
        let (file, line) = place.rsplit_once(':').unwrap();
        assert_eq!(file, LAYER);
        assert!(source.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap().contains(task), "{place} is no {task}");
    }
}
