//! Valid schedules run; broken ones are refused, or fail.

use super::*;
use crate::analyze::{CheckedGraph, Dependency, Index};
use crate::fixture::{Layer, chunked, gated, moe_backward, moe_ffn, once, prepared, router, sums, three_puts};
use crate::ids::{Id, PhaseId};
use crate::schedule::{CHOICES, Choices, Cores, Schedule, Sends, schedule, schedule_with};
use crate::target::Target;
use crate::validate::validate;
use proptest::prelude::*;
use std::num::NonZeroU32;

const CORES: Cores = Cores { aic: 3, aiv: 5 };

/// The first gradient has fewer tiles than there are cores, so some cores reach the second one without having waited
/// for rows.
const NARROW: Layer = Layer { inter: 16, ..Layer::TINY };

fn ranks(sizes: &crate::graph::Sizes, random: &mut Random) -> usize {
    let divisors: Vec<usize> = (1..=8).filter(|&ranks| sizes.experts % ranks == 0).collect();
    divisors[random.index(divisors.len())]
}

/// Runs with routings and interleavings from `seeds`, until one fails.
pub(in crate::validate) fn runs(
    checked: &CheckedGraph,
    schedule: &Schedule,
    seeds: std::ops::Range<u64>,
) -> Result<(), Failure> {
    for seed in seeds {
        let mut random = Random(seed);
        let sizes = &checked.graph().sizes;
        let ranks = ranks(sizes, &mut random);
        let routing = RoutedSlots::random(sizes, ranks, &mut random);
        run(checked, schedule, &routing, &mut random)?;
    }
    Ok(())
}

fn layers() -> impl Strategy<Value = Layer> {
    let tiles = (0usize..3, 0usize..3, 1usize..4, prop::sample::select(vec![16usize, 32]));
    let group = (prop::sample::select(vec![4usize, 6, 8]), 1usize..4, 1usize..12);
    let widths = (1usize..4, 1usize..4, prop::sample::select(vec![16usize, 32, 64]));
    (tiles, group, widths).prop_map(|(tiles, group, widths)| Layer {
        put: 1 << tiles.0,
        tile_m: 1 << (tiles.0 + tiles.1),
        block: tiles.2,
        tile_n: tiles.3,
        experts: group.0,
        top_k: group.1,
        tokens: group.2,
        hidden: 16 * widths.0,
        inter: 16 * widths.1,
        columns: widths.2,
    })
}

/// The default choices, or random ones.
fn choices() -> impl Strategy<Value = Choices> {
    let values: Vec<_> = CHOICES.iter().map(|choice| prop::sample::select(choice.tried)).collect();
    let any = values.prop_map(|values| {
        let mut choices = Choices::default();
        for (choice, value) in CHOICES.iter().zip(values) {
            choices.set(choice.key, value).unwrap();
        }
        choices
    });
    prop_oneof![Just(Choices::default()), any]
}

/// The number of cases of each property, unless `PROPTEST_CASES` sets another.
fn cases(usual: u32) -> ProptestConfig {
    let given = std::env::var_os("PROPTEST_CASES");
    given.map_or_else(|| ProptestConfig::with_cases(usual), |_| ProptestConfig::default())
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn every_valid_schedule_runs(layer in layers(), aic in 1u32..5, aiv in 1u32..7, variant in 0usize..11,
                                 choices in choices(), chunks in 2usize..6, seed: u64) {
        let checked = match variant {
            4..7 => chunked(&layer, chunks),
            7..9 => sums(&layer, chunks),
            9.. => router(&layer),
            plain => [moe_ffn, gated, prepared, once][plain](&layer),
        };
        let schedule = schedule_with(&checked, &Cores { aic, aiv }.on(&Target::ascend_a3()), &choices);
        let valid = validate(&checked, schedule);
        let words = |found: Vec<crate::validate::Violation>| found.iter().map(|f| f.text(&checked)).collect::<Vec<_>>();
        let valid = valid.map_err(words).unwrap();
        let seed = seed >> 8;
        prop_assert_eq!(runs(&checked, valid.schedule(), seed..seed + 4), Ok(()));
    }

    /// Every schedule that validation accepts runs, even if the scheduler did not make it.
    #[test]
    fn what_validation_lets_pass_runs(swaps in prop::collection::vec((0usize..3, any::<usize>(), any::<usize>()), 1..3),
                                      seed in 0u64..1 << 40) {
        let checked = moe_ffn(&Layer::TINY);
        let mut schedule = schedule(&checked, CORES);
        for order in &mut schedule.orders {
            for &(role, a, b) in &swaps {
                let queue = &mut order.queues[crate::ids::PartId::new(role)];
                let (a, b) = (a % queue.len(), b % queue.len());
                queue.swap(a, b);
            }
        }
        if let Ok(valid) = validate(&checked, schedule) {
            prop_assert_eq!(runs(&checked, valid.schedule(), seed..seed + 4), Ok(()));
        }
    }
}

/// A schedule that makes or reads tables too early fails in a run.
#[test]
fn a_route_that_is_made_too_early_does_not_run() {
    let checked = router(&Layer::TINY);
    let whole = schedule(&checked, CORES);
    let fails = |schedule: &Schedule| runs(&checked, schedule, 0..64).unwrap_err();
    assert_eq!(runs(&checked, &whole, 0..64), Ok(()));
    let choose = PhaseId::new(2);
    let mut early = whole.clone();
    early.routed_after = None;
    assert_eq!(fails(&early), Failure::TooEarly(choose));
    let mut never = whole.clone();
    never.routed_after.as_mut().unwrap().need.per_row += 1;
    assert_eq!(fails(&never), Failure::Deadlock);
    let mut first = whole.clone();
    let mut last = whole.clone();
    for (order, late) in first.orders.iter_mut().zip(&mut last.orders) {
        let ends: Vec<u32> = order.queues.iter().map(|(_, queue)| queue.len() as u32).collect();
        order.routed_at = Some(ends.iter().map(|_| 0).collect());
        late.routed_at = Some(ends.into_iter().collect());
    }
    assert_eq!(fails(&first), Failure::Deadlock);
    assert!(matches!(fails(&last), Failure::TooEarly(phase) if phase > choose));
}

/// With this many tokens, cores are dedicated to peers, and tiles are walked in arrival order.
#[test]
fn cores_that_serve_peers_alone_run() {
    let layer = Layer { tokens: 64, experts: 4, put: 1, ..Layer::TINY };
    for (checked, choices, even) in [
        (moe_ffn(&layer), "put_cores=6 peer_cores=20", false),
        (moe_ffn(&layer), "put_cores=6 peer_cores=20 by_arrival=always", true),
        (moe_backward(&layer), "put_cores=6 peer_cores=20", true),
    ] {
        let target = Cores { aic: 3, aiv: 8 }.on(&Target::ascend_a3());
        let schedule = schedule_with(&checked, &target, &Choices::read(choices).unwrap());
        let valid = validate(&checked, schedule).unwrap();
        let order = valid.schedule().orders.iter().find(|order| order.ranks == 2).unwrap();
        assert_eq!((order.parts.len(), order.sends.turn().is_some()), (4, even), "{choices}");
        assert_eq!(valid.schedule().phases.iter().any(|(_, phase)| phase.by_arrival), even);
        for seed in 0..20 {
            let mut random = Random(seed);
            let routing = RoutedSlots::random(&checked.graph().sizes, 2, &mut random);
            assert_eq!(run(&checked, valid.schedule(), &routing, &mut random), Ok(()), "{choices}");
        }
    }
}

/// The second put of a piece signals after the third, together with it. The first one needs no signal.
#[test]
fn puts_with_one_fence_signal_after_the_last_of_them() {
    let checked = three_puts();
    let whole = schedule(&checked, CORES);
    let puts = [0, 1, 2].map(PhaseId::new);
    assert_eq!(puts.map(|put| whole.phases[put].joins_previous), [false, true, true]);
    assert_eq!(runs(&checked, &whole, 0..40), Ok(()));
    assert_eq!(puts.map(|put| whole.phases[put].signals.len()), [0, 1, 1]);
    for put in [1, 2].map(PhaseId::new) {
        let mut silent = whole.clone();
        silent.phases[put].signals.clear();
        assert_eq!(runs(&checked, &silent, 0..40), Err(Failure::Deadlock));
    }
}

/// Pieces of one row, so that each peer has many turns, and pieces of more rows.
#[test]
fn peers_that_take_turns_are_served() {
    let layer = Layer { tokens: 24, experts: 4, put: 1, ..Layer::TINY };
    for checked in [moe_ffn(&layer), moe_backward(&layer), chunked(&layer, 2), prepared(&layer)] {
        for turn in [1, 2, 5] {
            let target = Cores { aic: 3, aiv: 5 }.on(&Target::ascend_a3());
            let choices = Choices::read(&format!("turn_rows={turn}")).unwrap();
            let valid = validate(&checked, schedule_with(&checked, &target, &choices)).unwrap();
            let sends = |ranks| valid.schedule().order(ranks).unwrap().sends;
            assert_eq!(
                (sends(1), sends(4)),
                (Sends::PeerAfterPeer, Sends::InTurn { rows: NonZeroU32::new(turn).unwrap() })
            );
            assert_eq!(runs(&checked, valid.schedule(), 0..10), Ok(()), "{turn} rows");
        }
    }
}

/// The deal of products' tiles shifts in each round, by the same number of cores for gate and up.
#[test]
fn tiles_that_move_on_run() {
    for (checked, rotation) in [(moe_ffn(&Layer::TINY), 1), (moe_ffn(&Layer::TINY), 2), (moe_backward(&Layer::TINY), 2)]
    {
        let target = Cores { aic: 3, aiv: 8 }.on(&Target::ascend_a3());
        let choices = Choices::read(&format!("rotation={rotation}")).unwrap();
        let valid = validate(&checked, schedule_with(&checked, &target, &choices)).unwrap();
        assert!(valid.schedule().phases.iter().any(|(_, phase)| phase.rotation == rotation));
        assert_eq!(runs(&checked, valid.schedule(), 0..20), Ok(()), "rotation {rotation}");
    }
}

#[test]
fn other_rotations_make_other_cores() {
    let checked = moe_ffn(&Layer::TINY);
    let whole = schedule(&checked, CORES);
    caught(&checked, &whole, "up's tiles move on, gate's do not", |schedule| {
        schedule.phases[crate::ids::PhaseId(2)].rotation = 1;
        schedule.phases[crate::ids::PhaseId(2)].joins_previous = false;
    });
}

#[test]
fn another_walk_makes_other_cores() {
    let checked = moe_ffn(&Layer::TINY);
    let whole = schedule(&checked, CORES);
    caught(&checked, &whole, "gate's tiles as rows come, up's rank after rank", |schedule| {
        schedule.phases[crate::ids::PhaseId(1)].by_arrival = true;
        schedule.phases[crate::ids::PhaseId(2)].joins_previous = false;
        for order in &mut schedule.orders {
            order.sends = Sends::InTurn { rows: NonZeroU32::MIN };
        }
    });
}

/// Breaks the schedule in one way, which both validation and some run must notice.
fn caught(checked: &CheckedGraph, whole: &Schedule, what: &str, break_it: impl FnOnce(&mut Schedule)) {
    let mut broken = whole.clone();
    break_it(&mut broken);
    assert!(validate(checked, broken.clone()).is_err(), "validation does not see: {what}");
    assert!(runs(checked, &broken, 0..200).is_err(), "no run sees: {what}");
}

#[test]
fn every_wait_is_needed() {
    for checked in [moe_ffn(&Layer::TINY), once(&Layer::TINY), sums(&NARROW, 2)] {
        let whole = schedule(&checked, CORES);
        for (phase, fixed) in whole.phases.iter() {
            for wait in 0..fixed.waits.len() {
                caught(&checked, &whole, &format!("no wait {wait} of phase {}", phase.0), |schedule| {
                    schedule.phases[phase].waits.remove(wait);
                });
            }
        }
    }
}

#[test]
fn every_signal_is_needed() {
    for checked in [moe_ffn(&Layer::TINY), once(&Layer::TINY), sums(&NARROW, 2)] {
        let whole = schedule(&checked, CORES);
        for (phase, fixed) in whole.phases.iter() {
            for signal in 0..fixed.signals.len() {
                caught(&checked, &whole, &format!("no signal {signal} of phase {}", phase.0), |schedule| {
                    schedule.phases[phase].signals.remove(signal);
                });
            }
        }
    }
}

#[test]
fn every_need_is_exact() {
    for checked in [moe_ffn(&Layer::TINY), once(&Layer::TINY), sums(&NARROW, 2)] {
        let whole = schedule(&checked, CORES);
        for (phase, fixed) in whole.phases.iter() {
            for wait in 0..fixed.waits.len() {
                caught(&checked, &whole, &format!("more for wait {wait} of phase {}", phase.0), |schedule| {
                    schedule.phases[phase].waits[wait].need.per_row += 1;
                });
                caught(&checked, &whole, &format!("less for wait {wait} of phase {}", phase.0), |schedule| {
                    let need = &mut schedule.phases[phase].waits[wait].need;
                    match need.pieces.first_mut() {
                        Some(piece) => piece.1 -= 1,
                        None if need.per_slot > 0 => need.per_slot -= 1,
                        None => need.per_row -= 1,
                    }
                });
            }
        }
    }
}

#[test]
fn rows_that_are_sent_once_are_those_of_experts_before_as_well() {
    let checked = once(&Layer::TINY);
    let whole = schedule(&checked, CORES);
    let copy = crate::ids::PhaseId(1);
    caught(&checked, &whole, "a row tile of its own expert alone", |schedule| {
        schedule.phases[copy].waits[0].index = crate::analyze::Index::RowTile;
    });
}

#[test]
fn a_consumer_before_its_producer_never_ends() {
    let checked = moe_ffn(&Layer::TINY);
    let whole = schedule(&checked, CORES);
    caught(&checked, &whole, "down before gate", |schedule| {
        for order in &mut schedule.orders {
            let queue = &mut order.queues[crate::ids::PartId(0)];
            let down = queue.iter().position(|entry| entry.phase.0 == 4).unwrap();
            let entry = queue.remove(down);
            queue.insert(0, entry);
        }
    });
}

#[test]
fn two_phases_in_another_order_speak_for_nobody() {
    let checked = moe_ffn(&Layer::TINY);
    let whole = schedule(&checked, CORES);
    caught(&checked, &whole, "up before gate", |schedule| {
        for order in &mut schedule.orders {
            for entry in &mut order.queues[crate::ids::PartId(0)] {
                entry.phase.0 = [0, 2, 1, 3, 4][entry.phase.0 as usize];
            }
        }
    });
}

#[test]
fn another_band_makes_other_cores() {
    let layer = Layer { inter: 64, ..Layer::TINY };
    let checked = moe_ffn(&layer);
    let whole = schedule(&checked, CORES);
    caught(&checked, &whole, "gate's tiles on different cores than up's", |schedule| {
        schedule.phases[crate::ids::PhaseId(1)].band = 1;
        schedule.phases[crate::ids::PhaseId(2)].joins_previous = false;
    });
}

#[test]
fn an_entry_left_out_is_seen() {
    let checked = moe_ffn(&Layer::TINY);
    let whole = schedule(&checked, CORES);
    caught(&checked, &whole, "no last sum", |schedule| {
        for order in &mut schedule.orders {
            order.queues[crate::ids::PartId(2)].pop();
        }
    });
}

/// Without a wait for a rank's word, some routing and order overwrite rows of a chunk with rows of another.
#[test]
fn memory_taken_early_is_seen() {
    let whole = chunked(&Layer::TINY, 4);
    // Few cores with one queue for all peers: ranks then get ahead of each other more often.
    let together = Choices::read("put_cores=2").unwrap();
    let waits: Vec<_> =
        whole.reuse().unwrap().waits.ids().filter(|&phase| whole.reuse().unwrap().waits[phase].is_some()).collect();
    for phase in waits {
        let mut checked = whole.clone();
        checked.reuse_mut().as_mut().unwrap().waits[phase] = None;
        let schedule = schedule_with(&whole, &CORES.on(&Target::ascend_a3()), &together);
        assert_eq!(runs(&whole, &schedule, 0..40), Ok(()));
        assert!(matches!(runs(&checked, &schedule, 0..400), Err(Failure::TooEarly(_))), "phase {}", phase.index());
    }
}

#[test]
fn chunks_that_add_in_another_order_are_seen() {
    let checked = sums(&Layer::TINY, 3);
    let whole = schedule(&checked, CORES);
    caught(&checked, &whole, "the second chunk's gradient before the first's", |schedule| {
        for order in &mut schedule.orders {
            let experts = checked.graph().sizes.experts as u32 / order.ranks;
            for entry in &mut order.queues[crate::ids::PartId(0)] {
                let chunk = [1, 0, 2][(entry.expert / experts) as usize];
                entry.expert = chunk * experts + entry.expert % experts;
            }
        }
    });
}

/// A peer may add to a counter after this rank has ended, unless some tile waits for it. A rank's own signals may have
/// no wait.
#[test]
fn what_peers_add_is_awaited() {
    let checked = moe_ffn(&Layer::TINY);
    let whole = schedule(&checked, CORES);
    let adds_too = |remote: bool| {
        let unawaited =
            |d: &&Dependency| d.signal.remote == remote && !whole.waits().any(|wait| wait.counter == d.signal.counter);
        let Dependency { before, signal, .. } = checked.dependencies().iter().find(unawaited).unwrap();
        let mut more = whole.clone();
        more.phases[*before].signals.push(*signal);
        runs(&checked, &more, 0..8)
    };
    assert_eq!([adds_too(true), adds_too(false)], [Err(Failure::Inexact), Ok(())]);
}

/// No word overtakes an earlier one: one core writes all words of its rank, in order.
#[test]
fn one_core_has_all_words_of_a_rank() {
    let checked = chunked(&Layer::TINY, 5);
    let together = Choices::read("put_cores=2").unwrap();
    let (graph, made) = (checked.graph(), schedule_with(&checked, &CORES.on(&Target::ascend_a3()), &together));
    let frees = checked.reuse().unwrap().frees;
    let mut shared = 0;
    for order in made.orders.iter().filter(|order| order.ranks <= 4) {
        let routing = RoutedSlots::random(&graph.sizes, order.ranks as usize, &mut Random(1));
        let (items, orders) = (groups::Items::new(graph, &routing), groups::orders(&made, &routing));
        let words_of = |rank: usize, part, core: usize| {
            let count = order.parts[part].count as usize;
            let entries = order.queues[part].iter().filter(|entry| entry.phase == frees);
            let places = (&routing, &items, &orders[..]);
            entries.map(|&entry| groups::tiles_of_core(&checked, &made, places, rank, entry, (core, count)).len()).sum()
        };
        for rank in 0..routing.ranks {
            let cores = order.parts.iter().flat_map(|(part, cores)| (0..cores.count as usize).map(move |c| (part, c)));
            let words: Vec<usize> = cores.map(|(part, core)| words_of(rank, part, core)).filter(|&n| n > 0).collect();
            assert_eq!(words, [3], "rank {rank} of {}", order.ranks);
        }
        let with_words = order.queues.iter().filter(|(_, queue)| queue.iter().any(|entry| entry.phase == frees));
        shared += with_words.filter(|(part, _)| order.parts[*part].count > 1).count();
    }
    assert!(shared > 0, "several cores share a queue with words");
}

/// A wait for a row tile's counter in a phase over whole experts: an expert has many row tiles or none, so the wait selects no single
/// counter. The run reports this instead of panicking.
#[test]
fn a_counter_that_a_tile_has_none_of_is_told() {
    let checked = moe_backward(&Layer::TINY);
    let mut schedule = schedule(&checked, CORES);
    let found = schedule.phases.iter().find_map(|(id, phase)| {
        let at = phase.waits.iter().position(|wait| wait.index == Index::Expert)?;
        Some((id, at))
    });
    let (phase, at) = found.expect("gradients of weights wait for all rows of an expert");
    schedule.phases[phase].waits[at].index = Index::RowTile;
    assert!(validate(&checked, schedule.clone()).is_err());
    assert_eq!(runs(&checked, &schedule, 0..8), Err(Failure::NoCounter(phase)));
}
