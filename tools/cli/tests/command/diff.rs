//! `hpmoe diff` of two traces.

use super::{LAYER, SIZE, prints, refuses};
use serde_json::{Value, json};
use std::path::Path;

/// Writes the trace of a simulated run.
fn simulate(path: &Path, ranks: &str) -> Value {
    let path = path.to_str().unwrap();
    let base = ["simulate", LAYER, "--set", SIZE, "--ranks", ranks, "--policy", "ours", "--json", "--trace", path];
    let output = super::hpmoe(&base);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The cells of the line that begins with a name.
fn line<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
    line.unwrap_or_else(|| panic!("no {name} in\n{text}")).split_whitespace().collect()
}

#[test]
fn runs_part_where_the_traces_differ() {
    let folder = tempfile::tempdir().unwrap();
    let [simulated, measured] = ["simulated.json", "measured.json"].map(|name| folder.path().join(name));
    let mut trace = simulate(&simulated, "2");
    let compare = || prints(&["diff", simulated.to_str().unwrap(), measured.to_str().unwrap()]);
    std::fs::write(&measured, trace.to_string()).unwrap();
    let same = compare();
    assert!(same.contains("simulated, not measured") && !same.contains("order first differs"), "{same}");
    for task in ["dispatch", "swiglu", "combine"] {
        let cells = line(&same, task);
        assert_eq!((cells[1], cells[5], &cells[8..]), (cells[2], "1.00", &["0", "0", "0"][..]), "{same}");
    }
    // Combines take twice as long and one is missing; two tasks of a core run in the other order; a swiglu runs elsewhere.
    trace["otherData"] =
        json!({"about": "a launch", "note": "measured, not simulated, on A", "tiles_without_stamp": 5});
    let events = trace["traceEvents"].as_array_mut().unwrap();
    let is = |event: &Value, name: &str| event["cat"] == "task" && event["name"] == name;
    let combine = events.iter().position(|event| is(event, "combine")).unwrap();
    events.remove(combine);
    for event in events.iter_mut().filter(|event| is(event, "combine")) {
        event["dur"] = json!((event["dur"].as_f64().unwrap() + 0.001) * 2.0 - 0.001);
    }
    let dispatches: Vec<usize> = (0..events.len()).filter(|&at| is(&events[at], "dispatch")).collect();
    let same_core = |a: usize, b: usize| events[a]["tid"] == events[b]["tid"] && events[a]["args"] != events[b]["args"];
    let pair = dispatches.windows(2).map(|pair| (pair[0], pair[1])).find(|&(a, b)| same_core(a, b)).unwrap();
    let (a, b) = (events[pair.0]["args"].clone(), events[pair.1]["args"].clone());
    (events[pair.0]["args"], events[pair.1]["args"]) = (b, a);
    let swiglu = events.iter().position(|event| is(event, "swiglu")).unwrap();
    let thread = (&events[swiglu]["pid"], &events[swiglu]["tid"]);
    let other =
        events.iter().find(|event| is(event, "swiglu") && event["pid"] == *thread.0 && event["tid"] != *thread.1);
    let other = other.unwrap()["tid"].clone();
    events[swiglu]["tid"] = other;
    std::fs::write(&measured, trace.to_string()).unwrap();
    let text = compare();
    assert!(text.contains("a launch; measured, not simulated, on A, "), "{text}");
    assert!(text.contains("5 of its tasks have no time stamp: raise Group::stamp_room"), "{text}");
    let (combine, dispatch, swiglu) = (line(&text, "combine"), line(&text, "dispatch"), line(&text, "swiglu"));
    assert_eq!((combine[5], &combine[8..]), ("2.00", &["1", "0", "0"][..]), "{text}");
    assert_eq!(&dispatch[8..], ["0", "0", "2"], "{text}");
    assert_eq!((swiglu[5], swiglu[9]), ("1.00", "1"), "{text}");
    assert!(text.contains("the order first differs on rank 0 AIV "), "{text}");
}

/// The trace of a launch. The tests of launches on NPUs compare it with the runtime's output. Its kernel makes its route.
const LAUNCHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command/measured.json");
const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui-tests/device/kernels/stamped.rs");

#[test]
fn a_launch_runs_what_is_simulated_where_and_in_the_order_that_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let [routing, simulated] = ["routing.json", "simulated.json"].map(|name| folder.path().join(name));
    // The ids of that launch: three for each of 13 and of 20 tokens.
    let ids = |rank: usize, token: usize| [0, 1, 2].map(|k| (token * 5 + k * 3 + rank) % 8);
    let of_rank = |rank: usize, tokens: usize| (0..tokens).map(|token| ids(rank, token)).collect::<Vec<_>>();
    std::fs::write(&routing, json!({"topk_ids": [of_rank(0, 13), of_rank(1, 20)]}).to_string()).unwrap();
    let simulated = simulated.to_str().unwrap();
    let cores = ["--constant", "cores.aic=2", "--constant", "cores.aiv=4", "--ranks", "2"];
    let how = ["--policy", "ours", "--json", "--trace", simulated, "--routing", routing.to_str().unwrap()];
    let output = super::hpmoe(&[&["simulate", KERNEL][..], &cores, &how].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = prints(&["diff", simulated, LAUNCHED]);
    assert!(
        text.contains("stamped::forward, 2 ranks; measured, not simulated, on Ascend910_9391 (a stand-in, "),
        "{text}"
    );
    for (task, count) in [("dispatch", "33"), ("project", "32"), ("give_back", "33"), ("combine", "9")] {
        let cells = line(&text, task);
        assert_eq!((cells[1], cells[2], &cells[8..]), (count, count, &["0", "0", "0"][..]), "{text}");
    }
    // In the simulation, a kernel's work before its tasks belongs to no task.
    assert_eq!(&line(&text, "tables")[4..6], ["0", "12"], "{text}");
    assert!(!text.contains("order first differs"), "{text}");
}

#[test]
fn files_that_are_no_traces_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (good, other) = (path("good.json"), path("other.json"));
    let trace = simulate(Path::new(&good), "2");
    let refused = |text: &str| {
        std::fs::write(&other, text).unwrap();
        refuses(&["diff", &good, &other])
    };
    let said = refused("{");
    assert!(said.contains("other.json` is not the trace of a run: EOF") && said.contains("--trace"), "{said}");
    assert!(refused("{}").contains("`otherData.note` does not say whether it was simulated or measured"));
    let without = |change: &dyn Fn(&mut Value)| {
        let mut trace = trace.clone();
        change(&mut trace);
        refused(&trace.to_string())
    };
    assert!(without(&|trace| trace["traceEvents"] = json!(null)).contains("it has no list `traceEvents`"));
    assert!(without(&|trace| trace["traceEvents"] = json!([])).contains("it has no event that is a task"));
    let first_task = |trace: &mut Value, key: &str| {
        let events = trace["traceEvents"].as_array_mut().unwrap();
        let task = events.iter_mut().find(|event| event["cat"] == "task").unwrap();
        task.as_object_mut().unwrap().remove(key);
    };
    assert!(without(&|trace| first_task(trace, "dur")).contains("an event has no number `dur`"));
    assert!(without(&|trace| first_task(trace, "args")).contains("an event has no whole number `group`"));
    simulate(Path::new(&other), "1");
    assert!(refuses(&["diff", &good, &other]).contains("has 2 ranks, but `"));
    assert!(refuses(&["diff", &good, LAYER]).contains("one of the files is a trace (.json) and the other is not"));
    assert!(refuses(&["diff", &good, &good, "--set", SIZE]).contains("--set changes kernels"));
    assert!(refuses(&["diff", &good, &path("missing.json")]).contains("can't read `"));
}
