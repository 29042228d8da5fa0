//! Tests that compare both baselines with the work that any policy must do.

use super::Covered;
use crate::baseline::{Direction, LayerShape, Original, Replay, Serial};
use crate::simulate::{CoreKind, Cursor, QueuedTask, Routing, Work, Workload};
use hpmoe_core::target::Target;

const SHAPE: LayerShape = LayerShape { ranks: 4, tokens: 256, experts: 8, top_k: 2, hidden: 512, intermediate: 384 };

/// A routing that favours some experts and leaves one without rows.
fn skewed() -> Routing {
    let mut rows = vec![vec![0; 8]; 4];
    for (source, rows) in rows.iter_mut().enumerate() {
        for (expert, rows) in rows.iter_mut().enumerate() {
            *rows = if expert == 5 { 0 } else { 2 * ((source * 37 + expert * 61) % 100) as u32 };
        }
    }
    Routing::new(&rows, 2).unwrap()
}

/// The work of all tasks of a rank, as (FLOPs, bytes of vector work, bytes sent to other ranks, bytes put within the
/// rank).
fn sum(program: &dyn Workload, rank: u32) -> (f64, u64, u64, u64) {
    let (mut flops, mut vector, mut sent, mut kept) = (0.0, 0, 0, 0);
    for kind in [CoreKind::Aic, CoreKind::Aiv] {
        for core in 0..program.cores(kind) {
            let (mut cursor, mut task) = (Cursor::default(), QueuedTask::default());
            while program.next(rank, kind, core, &mut cursor, &mut task) {
                match task.work {
                    Work::Share(products) => flops += products.flops,
                    Work::Vector { read, written } => vector += read + written,
                    Work::Put { to, bytes } => *if to == rank { &mut kept } else { &mut sent } += bytes,
                    _ => {}
                }
            }
        }
    }
    (flops, vector, sent, kept)
}

#[test]
fn both_policies_cover_the_same_work() {
    let target = Target::ascend_a3();
    for direction in [Direction::Forward, Direction::Backward] {
        let replay = Replay::new(Original::new(SHAPE, direction), skewed(), &target);
        let serial = Serial::published(SHAPE, direction, skewed(), &target);
        for rank in 0..SHAPE.ranks {
            let due = Covered::of(&SHAPE, direction, &skewed(), rank);
            let (flops, vector, sent, kept) = sum(&replay, rank);
            assert!((flops / due.flops as f64 - 1.0).abs() < 1e-5, "{flops} {}", due.flops);
            assert_eq!((vector, sent, kept), (due.vector_bytes, due.sent_bytes, due.kept_bytes));
            // Collectives of the serial policy are tasks of a fixed time.
            let (flops, vector, ..) = sum(&serial, rank);
            assert!((flops / due.flops as f64 - 1.0).abs() < 1e-5, "{flops} {}", due.flops);
            assert_eq!(vector, due.vector_bytes);
        }
    }
}

#[test]
fn every_wait_is_met_by_its_signals() {
    let target = Target::ascend_a3();
    for direction in [Direction::Forward, Direction::Backward] {
        let replay = Replay::new(Original::new(SHAPE, direction), skewed(), &target);
        let serial = Serial::published(SHAPE, direction, skewed(), &target);
        for program in [&replay as &dyn Workload, &serial] {
            let (needs, given) = counters(program);
            for (counter, need) in needs {
                assert_eq!(given.get(&counter), Some(&need), "{}: {counter:?}", program.costs().policy.name());
            }
        }
    }
}

type Totals = std::collections::BTreeMap<(u32, u32), u32>;

/// All thresholds and all signals, by rank and counter.
fn counters(program: &dyn Workload) -> (Totals, Totals) {
    let (mut needs, mut given) = (Totals::new(), Totals::new());
    for rank in 0..program.ranks() {
        for kind in [CoreKind::Aic, CoreKind::Aiv] {
            for core in 0..program.cores(kind) {
                let (mut cursor, mut task) = (Cursor::default(), QueuedTask::default());
                while program.next(rank, kind, core, &mut cursor, &mut task) {
                    for wait in &task.waits {
                        assert!(wait.counter < program.counters(rank));
                        needs.insert((rank, wait.counter), wait.need);
                    }
                    for signal in &task.signals {
                        *given.entry((signal.rank, signal.counter)).or_default() += signal.amount;
                    }
                }
            }
        }
    }
    (needs, given)
}
