//! Launches follow one another without a barrier, in memory that earlier ones have used.

use super::layer::small::{Layer, Output, kernel};
use crate::random::Routing;
use hpmoe_runtime::prelude::*;
use std::time::Duration;

const MANY: [usize; 4] = [64, 17, 40, 33];
const FEW: [usize; 4] = [3, 0, 1, 30];

/// Other tokens, weights and placement in each launch: alternately many, few and no tokens.
fn layers(seed: u64) -> Vec<Layer> {
    let of =
        |(at, (tokens, routing)): (usize, (&[usize; 4], Routing))| Layer::new(tokens, routing, seed ^ (at as u64) << 8);
    [
        (&MANY, Routing::Uniform),
        (&FEW, Routing::Favourite(2)),
        (&MANY, Routing::Favourite(1)),
        (&[0; 4], Routing::Uniform),
        (&MANY, Routing::Few),
        (&FEW, Routing::Uniform),
        (&[0, 0, 5, 0], Routing::Uniform),
        (&MANY, Routing::Uniform),
    ]
    .into_iter()
    .enumerate()
    .map(of)
    .collect()
}

/// All layers in one row of launches, repeated `times` times; each has the bits of its reference.
#[track_caller]
fn check_row(group: &Group, layers: &[Layer], times: u32) {
    let mut outputs: Vec<Output> = layers.iter().map(Layer::zeros).collect();
    let arguments: Vec<_> = layers.iter().zip(&mut outputs).map(|(layer, y)| layer.arguments(y)).collect();
    let row: Vec<_> = layers.iter().zip(&arguments).map(|(layer, one)| (&layer.route, &one[..])).collect();
    let report = group.launch_row(&kernel::forward::KERNEL, &row).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.launches, times * layers.len() as u32);
    for (at, (layer, y)) in layers.iter().zip(&outputs).enumerate() {
        assert!(*y == layer.reference(), "launch {at} of the row: {:?}", layer.case);
    }
}

#[test]
fn each_has_its_own_results_whoever_is_late() {
    for late in 0..4 {
        let seed = 77 + late as u64;
        let group = Group::new(4)
            .seed(seed)
            .delay(late, Duration::from_millis(4))
            .delay((late + 1) % 4, Duration::from_millis(1));
        check_row(&group, &layers(seed), 1);
    }
}

#[test]
fn the_row_can_be_repeated_and_the_group_used_again() {
    let group = Group::new(4).seed(5).delay(2, Duration::from_millis(3)).repeat(3);
    check_row(&group, &layers(1)[..5], 3);
    let group = group.repeat(1).delay(2, Duration::ZERO).delay(0, Duration::from_millis(3));
    check_row(&group, &layers(2)[..3], 1);
}

#[test]
fn the_same_launch_again_and_again() {
    let layer = Layer::new(&MANY, Routing::Uniform, 3);
    for late in 0..4 {
        layer.check(&Group::new(4).seed(late as u64).repeat(7).delay(late, Duration::from_millis(5)));
    }
}

#[test]
fn a_group_keeps_nothing_from_call_to_call() {
    let group = Group::new(4);
    for layer in layers(9).iter().chain(&layers(10)) {
        layer.check(&group);
    }
}
