//! `hpmoe simulate --gantt` and `--trace`.

use crate::{LAYER, SIZE, hpmoe, refuses};
use serde_json::Value;
use std::collections::BTreeMap;

fn number(event: &Value, key: &str) -> f64 {
    event[key].as_f64().unwrap_or_else(|| panic!("no {key} in {event}"))
}

/// The slice of an event's thread that holds it.
fn holds<'a>(slices: &BTreeMap<(u64, u64), Vec<&'a Value>>, event: &Value) -> &'a Value {
    let place = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
    let at = number(event, "ts");
    let mut own = slices[&place].iter().filter(|slice| slice["cat"] == "task");
    own.find(|slice| number(slice, "ts") <= at && at <= number(slice, "ts") + number(slice, "dur")).unwrap()
}

#[test]
fn a_run_is_drawn_and_traced() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (svg, trace) = (path("run.svg"), path("run.json"));
    let output = hpmoe(&[
        "simulate", LAYER, "--set", SIZE, "--ranks", "2", "--policy", "ours", "--json", "--gantt", &svg, "--trace",
        &trace,
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tasks = serde_json::from_slice::<Value>(&output.stdout).unwrap()["tasks"].as_u64().unwrap();
    assert!(std::fs::read_to_string(svg).unwrap().contains("Simulated latency"));

    let trace: Value = serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let mut slices: BTreeMap<(u64, u64), Vec<&Value>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        slices.entry((event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())).or_default().push(event);
    }
    let all = || slices.values().flatten().filter(|slice| slice["cat"] == "task");
    assert_eq!(all().count() as u64, tasks);
    // Each slice names the call in the user's source.
    let source = std::fs::read_to_string(LAYER).unwrap();
    for slice in all() {
        let place = slice["args"]["source"].as_str().unwrap();
        let line: usize = place.rsplit(':').next().unwrap().parse().unwrap();
        let task = slice["name"].as_str().unwrap().split('→').next().unwrap();
        assert!(source.lines().nth(line - 1).unwrap().contains(task), "{place} is no {task}");
    }
    // Arrows lead forward in time, from one slice to another.
    let ends = |phase: &str| -> BTreeMap<u64, &Value> {
        events.iter().filter(|e| e["ph"] == phase).map(|e| (e["id"].as_u64().unwrap(), e)).collect()
    };
    let (starts, finishes) = (ends("s"), ends("f"));
    assert!(!starts.is_empty() && starts.keys().eq(finishes.keys()));
    for (id, start) in starts.iter().take(200) {
        let finish = finishes[id];
        assert!(number(start, "ts") < number(finish, "ts"));
        assert_ne!(holds(&slices, start), holds(&slices, finish));
    }
}

#[test]
fn a_picture_that_can_not_be_written_is_an_error() {
    let refused = refuses(&["simulate", LAYER, "--set", SIZE, "--ranks", "2", "--gantt", "/nowhere/at/all.svg"]);
    assert!(refused.contains("can't write /nowhere/at/all.svg"), "{refused}");
}
