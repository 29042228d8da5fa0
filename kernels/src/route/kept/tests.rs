use super::*;
use crate::Tensor;

fn kept() -> (Ranks, Route, PerRank<Routed>) {
    let ep = Ranks::new(2);
    let ids = PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[0, 3, -1, 1, -1, -1]), Tensor::zeros(0)]);
    let route = Route::of::<4>(ep, &ids);
    let mut routed = PerRank::routed(ep, 4, 2, &ids.map(Tensor::row_count));
    route.keep(&mut routed);
    (ep, route, routed)
}

#[test]
fn a_kept_route_equals_the_original() {
    let (ep, route, routed) = kept();
    assert_eq!(Route::of::<4>(ep, &routed), route);
    assert_eq!(format!("{:?}", routed[Rank::new(0)]), "route of rank 0 of 2: 3 tokens, 2 of 4 experts each");
}

#[test]
fn each_rank_knows_the_counts_of_all() {
    let (ep, route, routed) = kept();
    for (rank, source) in ep.into_iter().flat_map(|rank| ep.into_iter().map(move |source| (rank, source))) {
        let rows: Vec<usize> = route.experts().map(|expert| route.pair(source, expert).rows).collect();
        assert_eq!(routed[rank].rows_from(source), Some(rows), "{source} as {rank} knows it");
    }
    assert_eq!(routed[Rank::new(0)].rows_from(Rank::new(0)).unwrap(), [1, 1, 0, 1]);
    assert_eq!(routed[Rank::new(0)].rows_from(Rank::new(2)), None);
    assert_eq!(Routed::with_words(16).rows_from(Rank::new(0)), None);
}

/// Checks that a kernel with group-limited routing takes only a kept route that is in groups.
#[test]
fn a_route_in_groups_is_kept_as_one() {
    let ep = Ranks::new(1);
    let ids = PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[1, 2, 0, 3])]);
    let mut routed = PerRank::routed(ep, 4, 2, &ids.map(Tensor::row_count));
    let kept = |route: Route, routed: &mut PerRank<Routed>| {
        route.keep(routed);
        routed[Rank::new(0)].to_vec()[7]
    };
    assert_eq!(kept(Route::of::<4>(ep, &ids), &mut routed), 0);
    assert_eq!(kept(Route::of::<4>(ep, &ids).in_groups::<2>(), &mut routed), 1);
}

#[test]
fn a_kept_route_of_another_group_is_refused() {
    let (ep, route, routed) = kept();
    let refused = |change: &dyn Fn(&PerRank<Routed>)| {
        let changed = routed.clone();
        change(&changed);
        Route::kept(ep, 4, None, &changed).expect_err("it is not the route").to_string()
    };
    let second = Rank::new(1);
    let set = |word: usize, value: i32| refused(&|routed| routed[second].cells[word].set(value));
    assert!(set(0, 0).contains("`routed` of rank 1 has no route"), "{}", set(0, 0));
    assert!(set(2, 4).contains("is for 4 ranks, not for 2"), "{}", set(2, 4));
    assert!(set(3, 0).contains("is for rank 0, not for 1"), "{}", set(3, 0));
    assert!(set(4, 8).contains("is for 8 experts, not for 4"), "{}", set(4, 8));
    assert!(set(6, 5).contains("words"), "{}", set(6, 5));
    assert!(set(1, 7).contains("a different launch"), "{}", set(1, 7));
    let small = PerRank::from_fn(Ranks::new(1), |_| Routed::with_words(16));
    assert!(matches!(Route::kept(ep, 4, None, &small), Err(RouteError::Ranks { tensors: 1, ranks: 2 })));
    assert_eq!(route.tokens(second), 0);
}

#[test]
#[should_panic(expected = "make it with PerRank::routed for the same tokens")]
fn room_for_other_tokens_is_refused() {
    let (ep, route, _) = kept();
    route.keep(&mut PerRank::routed(ep, 4, 2, &PerRank::from_vec(vec![2, 1])));
}
