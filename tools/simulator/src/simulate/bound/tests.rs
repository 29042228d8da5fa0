//! Tests that no simulated latency is below its bound.

use super::bound;
use crate::baseline::{Direction, LayerShape, Original, Replay, Serial};
use crate::simulate::{Ours, Routing, RoutingSizes, Time, Workload, simulate};
use hpmoe_core::fixture::{Layer, moe_backward, moe_ffn};
use hpmoe_core::random::Random;
use hpmoe_core::schedule::{CHOICES, Choices, schedule_with};
use hpmoe_core::target::Target;

/// Tolerance for rounding the shares of memories and links to steps, in millionths.
const ROUNDING: u64 = 1_000;

fn assert_no_faster(target: &Target, workload: &dyn Workload, least: Time, about: &str) {
    let run = simulate(target, workload, false).unwrap();
    assert!(run.time.0 + run.time.0 / ROUNDING >= least.0, "{} is faster than {least}: {about}", run.time);
}

/// A random target: L2 holds little, or HBM is slow for all cores or for one core, or links take much of HBM, or tasks cost much.
fn target(random: &mut Random) -> Target {
    let changes = [
        "memory.l2_mib=1",
        "memory.l2_mib=16",
        "memory.hbm_gb_per_s=200",
        "memory.hbm_bytes_per_cycle_core=4",
        "link.put_gb_per_s_per_aiv=100",
        "sync.tile_overhead_ns=5000",
        "cores.aic=24",
    ];
    let mut target = Target::ascend_a3();
    target.set(changes[random.index(changes.len())]).unwrap();
    target
}

fn choices(random: &mut Random) -> Choices {
    let mut choices = Choices::default();
    for choice in &CHOICES {
        if random.index(3) == 0 {
            choices.set(choice.key, choice.tried[random.index(choice.tried.len())]).unwrap();
        }
    }
    choices
}

#[test]
fn no_order_of_a_layer_beats_the_bound_of_another() {
    let mut random = Random(5);
    for _ in 0..24 {
        let mut drawn = |values: &[usize]| values[random.index(values.len())];
        let (experts, ranks) = [(2, 1), (4, 2), (8, 4), (16, 8)][drawn(&[0, 1, 2, 3])];
        let layer = Layer {
            hidden: drawn(&[256, 1024, 2048]),
            inter: drawn(&[128, 384, 1024]),
            experts,
            top_k: drawn(&[1, 2]),
            tokens: drawn(&[1, 40, 300]),
            tile_m: drawn(&[64, 128]),
            tile_n: drawn(&[64, 128]),
            put: 8,
            block: 4,
            columns: 256,
        };
        let checked = if drawn(&[0, 1]) == 0 { moe_ffn(&layer) } else { moe_backward(&layer) };
        let (exponent, seed) = (drawn(&[0, 1, 2]), drawn(&[1, 2, 3, 4]));
        let sizes = RoutingSizes {
            ranks: ranks as u32,
            experts: experts as u32,
            top_k: layer.top_k as u32,
            tokens: layer.tokens as u32,
        };
        let routing = Routing::zipf(sizes, exponent as f64, seed as u64);
        let target = target(&mut random);
        let schedules = [Choices::default(), choices(&mut random), choices(&mut random)];
        let schedules = schedules.map(|choices| (schedule_with(&checked, &target, &choices), choices));
        let workloads: Vec<Ours<'_>> =
            schedules.iter().map(|(schedule, _)| Ours::new(&target, &checked, schedule, &routing).unwrap()).collect();
        let most = workloads.iter().map(|workload| bound(&target, workload).time()).max().unwrap();
        for (workload, (_, choices)) in workloads.iter().zip(&schedules) {
            assert_no_faster(&target, workload, most, &format!("{layer:?} {ranks} {exponent} {seed} `{choices}`"));
        }
    }
}

#[test]
fn nothing_else_beats_its_bound() {
    let mut random = Random(6);
    for _ in 0..12 {
        let mut drawn = |values: &[u32]| values[random.index(values.len())];
        let ranks = drawn(&[2, 4, 8]);
        let shape = LayerShape {
            ranks,
            tokens: drawn(&[1, 130, 512]),
            experts: ranks * drawn(&[1, 3]),
            top_k: drawn(&[1, 2]),
            hidden: drawn(&[256, 1000]),
            intermediate: drawn(&[128, 700]),
        };
        let sizes = RoutingSizes { ranks, experts: shape.experts, top_k: shape.top_k, tokens: shape.tokens };
        let routing = Routing::zipf(sizes, 1.0, u64::from(drawn(&[1, 2, 3])));
        let target = target(&mut random);
        for direction in [Direction::Forward, Direction::Backward] {
            let original = Replay::new(Original::new(shape, direction), routing.clone(), &target);
            let serial = Serial::published(shape, direction, routing.clone(), &target);
            for workload in [&original as &dyn Workload, &serial] {
                assert_no_faster(
                    &target,
                    workload,
                    bound(&target, workload).time(),
                    &format!("{shape:?} {direction:?}"),
                );
            }
        }
    }
}
