//! The differences between two runs: time, waits and order of the tasks of each kind.

use super::trace::{CoreName, RunTrace, Task, TaskPlace};
use hpmoe_kernels::printable::printable_path;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// The comparison of two runs for one kind of task.
#[derive(Default)]
struct Kind {
    /// For each run: number of tasks, and their total time and wait in µs.
    runs: [Sums; 2],
    /// Number of tasks that only one of the runs has.
    only_in_one: usize,
    /// Number of tasks that run on different cores.
    moved: usize,
    /// Number of tasks with different positions in the order of the tasks that both runs have on the same core.
    reordered: usize,
    /// Start of the first task of this kind, in the first run that has such tasks.
    first: f64,
}

#[derive(Default)]
struct Sums {
    tasks: usize,
    time: f64,
    wait: f64,
}

impl Sums {
    fn mean(&self, sum: f64) -> Option<f64> {
        (self.tasks > 0).then(|| sum / self.tasks as f64)
    }
}

/// The first position in a core's order at which the runs differ.
struct Parting<'a> {
    core: &'a CoreName,
    place: usize,
    tasks: [&'a TaskPlace; 2],
}

/// Compares two traces. Returns the comparison as text.
pub(super) fn compared(old: &Path, new: &Path) -> Result<String, String> {
    let runs = [RunTrace::read(old)?, RunTrace::read(new)?];
    let names = [old, new].map(printable_path);
    if runs[0].ranks != runs[1].ranks {
        let [first, second] = [0, 1].map(|run| format!("`{}` has {} ranks", names[run], runs[run].ranks));
        return Err(format!("{first}, but {second}: compare runs with the same number of ranks"));
    }
    let mut text = String::new();
    for ((name, run), letter) in names.iter().zip(&runs).zip(["A", "B"]) {
        let _ = writeln!(text, "{letter}  {name}: {}, {:.2} µs from its first task to its last", run.about, run.time());
        if run.missing > 0 {
            let _ = writeln!(text, "   {} of its tasks have no time stamp: raise Group::stamp_room", run.missing);
        }
    }
    let (kinds, parting) = kinds(&runs);
    text.push_str(&table(&kinds));
    if let Some(Parting { core, place, tasks: [a, b] }) = parting {
        let told = |task: &TaskPlace| {
            format!("{} (group {}, item {}, column {})", task.name, task.group, task.item, task.column)
        };
        let _ = writeln!(
            text,
            "the order first differs on rank {} {}, at task {place} of the tasks that are in both traces: {} in A, {} in B",
            core.rank,
            core.name,
            told(a),
            told(b)
        );
    }
    Ok(text)
}

/// The kinds of tasks by name, and the earliest place in time at which the order of a core differs.
fn kinds(runs: &[RunTrace; 2]) -> (BTreeMap<String, Kind>, Option<Parting<'_>>) {
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        for (_, task) in run.tasks() {
            let known = kinds.contains_key(&task.place.name);
            let kind = kinds.entry(task.place.name.clone()).or_default();
            let begin = task.begin - task.wait;
            kind.first = if known { kind.first.min(begin) } else { begin };
            let sums = &mut kind.runs[number];
            sums.tasks += 1;
            sums.time += task.time;
            sums.wait += task.wait;
        }
    }
    // Steps that a rank runs twice, as each core does its share of a route, are distinguished by their core.
    let cores = |run: &'_ RunTrace| -> BTreeMap<(u64, TaskPlace), BTreeSet<String>> {
        let mut cores: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for (core, task) in run.tasks() {
            cores.entry((core.rank, task.place.clone())).or_default().insert(core.name.clone());
        }
        cores
    };
    let [a, b] = [cores(&runs[0]), cores(&runs[1])];
    for (key, on) in a.iter().chain(b.iter().filter(|(key, _)| !a.contains_key(*key))) {
        let kind = kinds.get_mut(&key.1.name).expect("every task has a kind");
        match (a.get(key), b.get(key)) {
            (Some(a), Some(b)) => kind.moved += usize::from(a != b),
            _ => kind.only_in_one += on.len(),
        }
    }
    let mut parting: Option<(f64, Parting<'_>)> = None;
    for (core, first) in &runs[0].cores {
        let Some(second) = runs[1].cores.get(core) else { continue };
        let places =
            |tasks: &'_ [Task]| -> BTreeSet<TaskPlace> { tasks.iter().map(|task| task.place.clone()).collect() };
        let both: BTreeSet<TaskPlace> = places(first).intersection(&places(second)).cloned().collect();
        let common = |tasks: &'_ Vec<Task>| -> Vec<usize> {
            (0..tasks.len()).filter(|at| both.contains(&tasks[*at].place)).collect()
        };
        for (place, (a, b)) in common(first).into_iter().zip(common(second)).enumerate() {
            let (a, b) = (&first[a], &second[b]);
            if a.place != b.place {
                kinds.get_mut(&a.place.name).expect("every task has a kind").reordered += 1;
                if parting.as_ref().is_none_or(|(begin, _)| a.begin < *begin) {
                    parting = Some((a.begin, Parting { core, place, tasks: [&a.place, &b.place] }));
                }
            }
        }
    }
    (kinds, parting.map(|(_, parting)| parting))
}

/// A line for each kind, in the order of their first tasks.
fn table(kinds: &BTreeMap<String, Kind>) -> String {
    let mut rows: Vec<(&String, &Kind)> = kinds.iter().collect();
    rows.sort_by(|(_, a), (_, b)| a.first.total_cmp(&b.first));
    let head =
        ["task", "tasks A", "B", "time µs A", "B", "B/A", "wait µs A", "B", "in one only", "other core", "other order"];
    let mut lines = vec![head.map(str::to_owned)];
    for (name, kind) in rows {
        let [a, b] = &kind.runs;
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        let [time_a, time_b] = [a.mean(a.time), b.mean(b.time)];
        let ratio = time_a.zip(time_b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a);
        lines.push([
            name.clone(),
            a.tasks.to_string(),
            b.tasks.to_string(),
            shown(time_a),
            shown(time_b),
            shown(ratio),
            shown(a.mean(a.wait)),
            shown(b.mean(b.wait)),
            kind.only_in_one.to_string(),
            kind.moved.to_string(),
            kind.reordered.to_string(),
        ]);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(text, "{cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    text
}
