//! A trace of a run, read from a file written by `hpmoe simulate --trace` or by a launch.

use hpmoe_kernels::printable::printable_path;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A run, read from its trace.
#[derive(Debug)]
pub(super) struct RunTrace {
    /// The program that was run, and whether it was simulated or measured.
    pub(super) about: String,
    /// Number of ranks.
    pub(super) ranks: usize,
    /// Number of tasks that ran but are not in the file.
    pub(super) missing: u64,
    /// The tasks of each core, in the order of the run.
    pub(super) cores: BTreeMap<CoreName, Vec<Task>>,
}

/// A core: its rank, and its name on that rank, such as `AIC 07`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct CoreName {
    pub(super) rank: u64,
    pub(super) name: String,
}

/// A task of a run. Times are in µs.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) place: TaskPlace,
    pub(super) begin: f64,
    pub(super) time: f64,
    pub(super) wait: f64,
}

/// The identity of a task within its rank.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct TaskPlace {
    pub(super) name: String,
    pub(super) group: u64,
    pub(super) item: u64,
    pub(super) column: u64,
}

impl RunTrace {
    /// Reads a file.
    pub(super) fn read(file: &Path) -> Result<Self, String> {
        let refused = |problem: String| {
            let file = printable_path(file);
            format!(
                "`{file}` is not the trace of a run: {problem}; `hpmoe simulate FILE.rs --trace {file}` writes one of a simulated run, and \
                 `Trace::write` one of a launch"
            )
        };
        let text =
            std::fs::read_to_string(file).map_err(|error| format!("can't read `{}`: {error}", printable_path(file)))?;
        let value: Value = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        Self::of(&value).map_err(refused)
    }

    fn of(trace: &Value) -> Result<Self, String> {
        let about = |key: &str| trace["otherData"][key].as_str();
        let note = about("note").filter(|note| note.starts_with("simulated") || note.starts_with("measured"));
        let note = note.ok_or("`otherData.note` does not say whether it was simulated or measured")?;
        let about = format!("{}; {note}", about("about").unwrap_or("a run"));
        let events = trace["traceEvents"].as_array().ok_or("it has no list `traceEvents`")?;
        let mut names = BTreeMap::new();
        let mut cores: BTreeMap<CoreName, Vec<Task>> = BTreeMap::new();
        let mut waits: BTreeMap<(u64, u64), f64> = BTreeMap::new();
        for event in events {
            let whole = |value: &Value, key: &str| {
                value[key].as_u64().ok_or_else(|| format!("an event has no whole number `{key}`: {event}"))
            };
            let number =
                |key: &str| event[key].as_f64().ok_or_else(|| format!("an event has no number `{key}`: {event}"));
            match (event["ph"].as_str(), event["name"].as_str(), event["cat"].as_str()) {
                (Some("M"), Some("thread_name"), _) => {
                    let name =
                        event["args"]["name"].as_str().ok_or_else(|| format!("a thread has no name: {event}"))?;
                    let core = CoreName { rank: whole(event, "pid")?.saturating_sub(1), name: name.to_owned() };
                    cores.entry(core.clone()).or_default();
                    names.insert((whole(event, "pid")?, whole(event, "tid")?), core);
                }
                (Some("X"), _, Some("wait")) => {
                    waits.insert((whole(event, "pid")?, whole(event, "tid")?), number("dur")? + NS);
                }
                (Some("X"), Some(name), Some("task")) => {
                    let thread = (whole(event, "pid")?, whole(event, "tid")?);
                    let core = names.get(&thread).ok_or_else(|| format!("a task's thread has no name: {event}"))?;
                    let index = |key| whole(&event["args"], key);
                    let (group, item, column) = (index("group")?, index("item")?, index("column")?);
                    let place = TaskPlace { name: name.to_owned(), group, item, column };
                    let wait = waits.remove(&thread).unwrap_or(0.0);
                    let task = Task { place, begin: number("ts")?, time: number("dur")? + NS, wait };
                    cores.entry(core.clone()).or_default().push(task);
                }
                _ => {}
            }
        }
        for tasks in cores.values_mut() {
            tasks.sort_by(|a, b| a.begin.total_cmp(&b.begin));
        }
        if cores.values().all(Vec::is_empty) {
            return Err("it has no event that is a task".to_owned());
        }
        let ranks = cores.keys().map(|core| core.rank + 1).max().unwrap_or(0) as usize;
        let missing = trace["otherData"]["tiles_without_stamp"].as_u64().unwrap_or(0);
        Ok(Self { about, ranks, missing, cores })
    }

    /// All tasks, with their cores.
    pub(super) fn tasks(&self) -> impl Iterator<Item = (&CoreName, &Task)> {
        self.cores.iter().flat_map(|(core, tasks)| tasks.iter().map(move |task| (core, task)))
    }

    /// Time from the first task, including its wait, to the end of the last task, in µs.
    pub(super) fn time(&self) -> f64 {
        let begin = self.tasks().map(|(_, task)| task.begin - task.wait).fold(f64::INFINITY, f64::min);
        self.tasks().map(|(_, task)| task.begin + task.time).fold(begin, f64::max) - begin
    }
}

/// By how much slices end early in traces, in µs.
const NS: f64 = 0.001;
