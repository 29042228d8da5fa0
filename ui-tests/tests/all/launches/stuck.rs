//! A kernel that makes no progress ends with a report of every core.

use super::layer::small::Layer;
use super::layer::{line_of, with_tables};
use crate::random::Routing;
use crate::small_kernels::ffn;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::tables::ScheduleTable;
use hpmoe_runtime::{Cancel, CompiledKernel, KernelTables, StuckReport};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const AIC: usize = 3;
const AIV: usize = 6;

/// The layer with other queues: `(first, count)` of each core, matrix cores first.
fn with_queues(change: fn(&mut [(u32, u32)])) -> CompiledKernel {
    let schedule = |schedule: &ScheduleTable| {
        let mut queues = schedule.queues.to_vec();
        change(&mut queues);
        ScheduleTable { queues: queues.leak(), ..*schedule }
    };
    let schedules: Vec<ScheduleTable> = ffn::forward::KERNEL.tables().schedules.iter().map(schedule).collect();
    with_tables(KernelTables { schedules: schedules.leak(), ..*ffn::forward::KERNEL.tables() })
}

/// Launches, and returns the report and its text. A hang would be reported as a timeout.
#[track_caller]
fn stuck(layer: &Layer, group: &Group, kernel: &CompiledKernel) -> (StuckReport, String) {
    let start = Instant::now();
    let error = layer.launch_with(group, kernel).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    let text = error.to_string();
    let LaunchError::Stuck(report) = error else { panic!("{text}") };
    assert_eq!(report.cores.len(), layer.case.tokens.len() * (AIC + AIV));
    (report, text)
}

/// One core of each rank runs none of its tiles. The report names the cores that wait for them first, and then all
/// others.
#[track_caller]
fn without_tiles_of(core: usize, kernel: &CompiledKernel, counter: &str, call: &str) {
    let layer = Layer::new(&[40, 3, 0, 9], Routing::Uniform, 1);
    let (report, text) = stuck(&layer, &Group::new(4).time_limit(Duration::from_millis(300)), kernel);
    assert_eq!(report.cores[core].text, "done after 0 tasks", "{text}");
    assert!(report.cores.iter().any(|core| core.gave_up), "{text}");
    let (first, all) = text.split_once("\nevery core, when the launch was given up:\n").unwrap();
    let task = call.split('(').next().unwrap();
    let line = format!(" at kernels/ffn.rs:{}, ", line_of(call));
    for part in [counter, "(has ", ", needs ", &format!(") in `{task}"), &line, ", column ", call] {
        assert!(first.contains(part), "{part}\n{text}");
    }
    assert!(first.lines().count() <= 10 && all.lines().count() <= 4 * 12, "{text}");
}

#[test]
fn a_matrix_core_that_leaves_its_tiles_out() {
    let kernel = with_queues(|queues| queues[2].1 = 0);
    let call = "give_back(&out[e.owner()].rows_of(&s), &mut back[src].scatter(&s))";
    without_tiles_of(2, &kernel, "`out, row tiles of 32`[", call);
}

#[test]
fn a_vector_core_that_leaves_its_tiles_out() {
    let kernel = with_queues(|queues| queues[AIC].1 = 0);
    let call = "project(&recv[r].group(e, m), &gate[r].expert(e).tile(n), &mut g[r].group(e, m).cols(n))";
    without_tiles_of(AIC, &kernel, "`recv, row tiles of 32`[", call);
}

#[test]
fn a_rank_that_comes_too_late() {
    let layer = Layer::new(&[5, 7], Routing::Uniform, 2);
    let group = Group::new(2).time_limit(Duration::from_millis(200)).delay(1, Duration::from_millis(900));
    let (_, text) = stuck(&layer, &group, &ffn::forward::KERNEL);
    let line = line_of("dispatch(&x");
    let wait =
        format!("for rank 1 to start launch 1 (it has started 0) in `dispatch` at kernels/ffn.rs:{line}, piece ");
    assert!(text.split("\nevery core").next().unwrap().contains(&wait), "{text}");
    let error = layer.launch(&group).map(|_| ()).unwrap_err();
    assert!(matches!(error, LaunchError::Broken), "{error}");
}

/// Several cores abort each other at the same time, which is not a race.
#[test]
fn ranks_that_give_up_at_once() {
    let layer = Layer::new(&[40, 30, 20, 10], Routing::Uniform, 3);
    let (began, mut most) = (Instant::now(), 0);
    for seed in 0.. {
        let group = Group::new(4).seed(seed).find_races(true).time_limit(Duration::ZERO);
        let (report, _) = stuck(&layer, &group, &ffn::forward::KERNEL);
        let gave_up: BTreeSet<usize> = report.cores.iter().filter(|core| core.gave_up).map(|core| core.rank).collect();
        most = most.max(gave_up.len());
        // On a busy machine, two ranks rarely run at the same time.
        if (seed >= 40 && most > 1) || began.elapsed() > Duration::from_secs(60) {
            break;
        }
    }
    assert!(most > 1, "no two ranks gave up at once");
}

/// Ctrl-C and the like stop waiting cores within a second, and the launch fails as cancelled.
#[test]
fn a_launch_that_is_cancelled() {
    let layer = Layer::new(&[5, 7], Routing::Uniform, 2);
    let cancel = Cancel::new();
    let group = Group::new(2).delay(1, Duration::from_secs(40)).cancelled_by(&cancel);
    let handle = cancel.clone();
    let cancelled = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        handle.cancel();
        Instant::now()
    });
    let error = layer.launch(&group).map(|_| ()).unwrap_err();
    let late = cancelled.join().unwrap().elapsed();
    assert!(late < Duration::from_secs(1), "it ended {late:?} later");
    assert!(matches!(error, LaunchError::Cancelled), "{error}");
    assert!(matches!(layer.launch(&group).map(|_| ()).unwrap_err(), LaunchError::Broken));
}
