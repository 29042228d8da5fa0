//! A machine that refuses a resource: the launch ends at once on all ranks, and the error names the missing resource.

use super::layer::small::Layer;
use crate::random::Routing;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{InjectedFault, Resource};
use std::time::{Duration, Instant};

const RANKS: usize = 4;

fn layer() -> Layer {
    Layer::new(&[40, 3, 0, 9], Routing::Uniform, 1)
}

/// Launches with the fault on each rank in turn. The other ranks wait for its rows: if nothing stopped them, they would
/// wait until the time limit, and the error would differ.
#[track_caller]
fn is_named(fault: InjectedFault, resource: Resource, texts: [&str; 2]) {
    let layer = layer();
    for rank in (0..RANKS).map(Rank::new) {
        let group = Group::new(RANKS).threads(2).time_limit(Duration::from_secs(300)).fault(rank, fault);
        let start = Instant::now();
        let error = layer.launch(&group).map(|_| ()).unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
        let text = error.to_string();
        let LaunchError::Resource { rank: at, resource: found, .. } = error else { panic!("{text}") };
        assert_eq!((at, found), (rank.id(), resource), "{text}");
        assert!(text.starts_with(&format!("{rank} could not get {} (", texts[0])), "{text}");
        assert!(text.contains(texts[1]) && text.ends_with(", then make a new Group"), "{text}");
        let error = layer.launch(&group).map(|_| ()).unwrap_err();
        assert!(matches!(error, LaunchError::Broken), "{error}");
    }
    // Everything that the failed launches used works again.
    layer.check(&Group::new(RANKS).threads(2));
}

#[test]
fn a_rank_without_a_thread() {
    is_named(
        InjectedFault::RankThread,
        Resource::RankThread,
        ["its thread", "fewer ranks or raise the limit on threads"],
    );
}

#[test]
fn a_rank_without_a_worker_thread() {
    let texts = ["a worker thread", "lower Group::threads or raise the limit on threads"];
    is_named(InjectedFault::WorkerThread(1), Resource::WorkerThread, texts);
}

#[test]
fn a_core_without_a_stack() {
    let texts = ["the stack of a core", "raise the limits on memory maps"];
    for core in [0, 8] {
        is_named(InjectedFault::Stack(core), Resource::Stack, texts);
    }
}

#[test]
fn a_core_without_memory() {
    let texts = ["memory for its cores", "fewer ranks, free memory"];
    for core in [0, 8] {
        is_named(InjectedFault::Core(core), Resource::Memory, texts);
    }
}

#[test]
fn a_call_without_memory() {
    let texts = ["memory for its cores", "fewer ranks, free memory"];
    for core in [0, 4] {
        is_named(InjectedFault::Call(core), Resource::Memory, texts);
    }
}

/// Each core of a rank gives up one of its first waits. Stopped cores leave, the report names the core that gave up,
/// and no core continues without the data that it did not wait for, which would break a rule.
#[test]
fn waits_that_are_given_up() {
    let layer = layer();
    for (rank, first) in (0..RANKS).map(Rank::new).flat_map(|rank| [1, 2, 5, 20].map(|first| (rank, first))) {
        for seed in 0..5 {
            let group = Group::new(RANKS).seed(seed).find_races(true).time_limit(Duration::from_secs(300));
            let ended = layer.launch(&group.fault(rank, InjectedFault::Wait(first)));
            let Err(error) = ended else {
                assert!(first > 1, "{rank} has waits");
                continue; // none of its cores has this many waits
            };
            let LaunchError::Stuck(report) = &error else { panic!("{error}") };
            let gave_up: Vec<_> = report.cores.iter().filter(|core| core.gave_up).collect();
            assert!(!gave_up.is_empty() && gave_up.iter().all(|core| core.rank == rank.id()), "{error}");
        }
    }
}
