//! Groups of every size, with different numbers of threads and different kernels.

use super::layer::{sixteen, small, twelve};
use crate::random::Routing;
use hpmoe_runtime::prelude::*;

/// Zero to 23 tokens, differing between ranks.
fn uneven(ranks: usize) -> Vec<usize> {
    (0..ranks).map(|rank| [5, 0, 23, 1][rank % 4] * usize::from(rank < 12)).collect()
}

#[test]
fn one_to_sixteen_ranks_with_uneven_tokens() {
    for (seed, ranks) in [1, 2, 4, 8, 16].into_iter().enumerate() {
        sixteen::Layer::new(&uneven(ranks), Routing::Uniform, seed as u64).check(&Group::new(ranks).repeat(2));
    }
    for (seed, ranks) in [3, 6, 12].into_iter().enumerate() {
        twelve::Layer::new(&uneven(ranks), Routing::Favourite(7), seed as u64).check(&Group::new(ranks).repeat(2));
    }
}

#[test]
fn nobody_has_a_token() {
    for ranks in [1, 4, 16] {
        let layer = sixteen::Layer::new(&vec![0; ranks], Routing::Uniform, 0);
        let (_, report) = layer.launch(&Group::new(ranks)).unwrap();
        assert_eq!((report.tasks, report.empty_tasks, report.aiv_cores_used), (0, 0, 0));
    }
}

#[test]
fn any_number_of_threads() {
    let layer = small::Layer::new(&[9, 0, 50, 20], Routing::Uniform, 6);
    for threads in [0, 1, 2, 5, 200] {
        layer.check(&Group::new(4).threads(threads));
    }
}

#[test]
fn kernels_take_turns_in_one_group() {
    let group = Group::new(4).repeat(2);
    for seed in 0..3 {
        small::Layer::new(&[20, 3, 0, 64], Routing::Uniform, seed).check(&group);
        sixteen::Layer::new(&[1, 30, 8, 0], Routing::Few, seed).check(&group);
        twelve::Layer::new(&[0, 11, 0, 2], Routing::Uniform, seed).check(&group);
    }
}

#[test]
fn what_does_not_fit_is_refused_before_anything_runs() {
    let refused = |layer: &sixteen::Layer, group: &Group| layer.launch(group).unwrap_err().to_string();
    let group = Group::new(2);
    assert_eq!(
        refused(&sixteen::Layer::new(&[1; 4], Routing::Uniform, 0), &group),
        "the route is for 4 ranks, but the group has 2: make both with the same number"
    );
    assert_eq!(
        refused(&sixteen::Layer::new(&[385, 0], Routing::Uniform, 0), &group),
        "rank 0 has 385 tokens, but deepseek_skewed::forward was built with TOKENS = 384: raise TOKENS or pass fewer tokens"
    );
    let layer = sixteen::Layer::new(&[9, 9], Routing::Few, 0);
    let tight = Group::new(2).capacity_rows(71);
    assert_eq!(
        refused(&layer, &tight),
        "rank 0 would receive 72 rows, but there is room for 71: raise it with Group::capacity_rows(72), which takes 2560 \
         more bytes on each rank, or send fewer tokens"
    );
    assert_eq!(
        refused(&layer, &Group::new(3)),
        "deepseek_skewed::forward has no schedule for 3 ranks: use one of 1, 2, 4, 8, 16, or name 3 in the build script, by `.ranks(3)`"
    );
    // Both groups still work.
    layer.check(&group);
    let tight = tight.capacity_rows(72);
    layer.check(&tight);
    sixteen::Layer::new(&[100, 90], Routing::Few, 1).check(&tight.capacity_rows(4 * 190));
}
