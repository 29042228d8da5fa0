//! Changes the result of the analysis and makes a schedule of it. A dependency may be wrong in the same way as the
//! waits and signals made from it, so comparing the two can't find such faults.

use super::blocks::Numbers;
use super::fields::Known;
use super::phases::{need, signal, wait};
use super::subjects::{Subject, made};
use super::tally::{Outcome, Verdict};
use super::values::{id, list, number};
use super::{any, outcome, verdict};
use crate::analyze::{Amount, CheckedGraph, Counter, Cover, Dependency, Grid, Hazard, Index, Need, Reuse, Whose};
use crate::ids::{CounterId, Id as _, PhaseId, SpaceId, TensorId};
use crate::random::Random;
use crate::schedule::{Choices, Cores};
use crate::validate::derive::derive;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Number of changed analyses, unless the environment sets another.
const USUAL: u64 = 200;

/// Changes the analysis of one kernel, and judges the resulting schedule.
fn judged(subjects: &[Subject], change_number: u64) -> Outcome {
    let mut random = Random(!change_number);
    // Without waits, there is nothing to change.
    let subjects: Vec<&Subject> =
        subjects.iter().filter(|subject| subject.wholes[0].waits().next().is_some()).collect();
    let subject = subjects[(change_number % subjects.len() as u64) as usize];
    let known = Known { checked: &subject.checked, whole: &subject.wholes[0] };
    let mut checked = subject.checked.clone();
    let mut changes = Vec::new();
    let wanted = [1, 1, 1, 2, 2, 3][random.index(6)];
    while changes.len() < wanted || is_whole(&checked, &subject.checked) {
        let dependencies = checked.dependencies().to_vec();
        let change = analysis(&mut checked, &known, &mut random);
        if has_counters(&checked) {
            changes.push(change);
        } else {
            *checked.dependencies_mut() = dependencies;
            *checked.route_input_mut() = subject.checked.route_input().cloned();
        }
    }
    let cores = Cores { aic: 1 + random.below(4) as u32, aiv: 2 + random.below(7) as u32 };
    let choices = if random.index(2) == 0 { Choices::default() } else { any(&mut random) };
    // The scheduler may rely on the analysis. If it can't make a schedule, nothing can run.
    let Ok(schedule) = catch_unwind(AssertUnwindSafe(|| made(&checked, cores, &choices))) else {
        return outcome(change_number, &subject.name, &changes, Verdict::Malformed, None);
    };
    let orders_all = |checked: &CheckedGraph| {
        let mut violations = Vec::new();
        derive(checked, &mut violations);
        violations.is_empty()
    };
    let (verdict, failure) = verdict(&checked, &subject.judge, (&schedule, &schedule), &mut random, orders_all);
    outcome(change_number, &subject.name, &changes, verdict, failure)
}

fn is_whole(checked: &CheckedGraph, whole: &CheckedGraph) -> bool {
    checked.dependencies() == whole.dependencies()
        && checked.counters() == whole.counters()
        && checked.reuse() == whole.reuse()
        && checked.route_input() == whole.route_input()
}

/// Whether every named counter exists.
fn has_counters(checked: &CheckedGraph) -> bool {
    let route = checked.route_input().into_iter();
    let of_route = route.flat_map(|input| input.signals.iter().map(|s| s.1.counter).chain([input.wait.counter]));
    let of_dependencies = checked.dependencies().iter().flat_map(|d| [d.signal.counter, d.wait.counter]);
    of_dependencies.chain(of_route).all(|counter| counter.index() < checked.counters().len())
}

/// Changes one thing, and returns a description of the change.
fn analysis(checked: &mut CheckedGraph, known: &Known, random: &mut Random) -> String {
    let phases = known.whole.phases.len();
    let done = match random.index(16) {
        0..3 if checked.reuse().is_some() => {
            if let Some(reuse) = checked.reuse_mut() {
                words(reuse, phases, random);
            }
            "words of chunks".to_owned()
        }
        3 if checked.route_input().is_some() => {
            if let Some(input) = checked.route_input_mut() {
                match random.index(3) {
                    0 => drop(need(&mut input.wait.need, known, random)),
                    1 => drop(input.signals.pop()),
                    _ => input.signals.iter_mut().for_each(|(_, one)| drop(signal(one, known, random))),
                }
            }
            "what a route waits for".to_owned()
        }
        4 if !checked.counters().is_empty() => {
            let [counter, other] = [(); 2].map(|()| CounterId::new(random.index(checked.counters().len())));
            let other = checked.counters()[other];
            change_counter(&mut checked.counters_mut()[counter], other, known, random);
            "what a counter stands for".to_owned()
        }
        5..8 => alike(checked, known, random).to_owned(),
        _ => {
            let others = known.checked.dependencies().to_vec();
            let change = |one: &mut _, random: &mut Random| dependency(one, known, random);
            format!("dependencies{}", list(checked.dependencies_mut(), &others, 4, random, change))
        }
    };
    format!("analysis: {done}")
}

fn words(reuse: &mut Reuse, phases: usize, random: &mut Random) {
    let phase = PhaseId::new(random.index(phases));
    if random.index(8) == 0 {
        reuse.frees = phase;
    } else {
        reuse.waits[phase] = [None, Some(Whose::Own), Some(Whose::Peer)][random.index(3)];
    }
}

fn change_counter(counter: &mut Counter, other: Counter, known: &Known, random: &mut Random) {
    match random.index(4) {
        0 => counter.through ^= true,
        1 => counter.tensor = other.tensor,
        _ => match &mut counter.grid {
            Grid::RowTiles { space, columns } => {
                if random.index(2) == 0 {
                    let spaces = &known.checked.graph().spaces;
                    let alike: Vec<SpaceId> =
                        spaces.ids().filter(|&other| spaces[other].kind == spaces[*space].kind).collect();
                    *space = alike[random.index(alike.len())];
                } else {
                    number(columns, &[1, 2], random);
                    *columns = (*columns).clamp(1, 64);
                }
            }
            Grid::Blocks { height } if random.index(2) == 0 => {
                number(height, &[1, 2, 4, 8], random);
                *height = (*height).clamp(1, 1 << 10);
            }
            grid => *grid = [other.grid, Grid::Experts, Grid::Rank][random.index(3)],
        },
    }
}

fn dependency(dependency: &mut Dependency, known: &Known, random: &mut Random) -> String {
    let phases = known.whole.phases.len();
    let Dependency { before, after, tensor, hazard, cover, signal: signalled, wait: awaited } = dependency;
    let one_of = |len: usize, random: &mut Random| random.index(len.max(1));
    match random.index(13) {
        0 => {
            *before = PhaseId::new(one_of(phases, random));
            ".before".to_owned()
        }
        1 => {
            *after = PhaseId::new(one_of(phases, random));
            ".after".to_owned()
        }
        2 => {
            *tensor = TensorId::new(one_of(known.checked.graph().tensors.len(), random));
            ".tensor".to_owned()
        }
        3 => {
            *hazard = [Hazard::ReadAfterWrite, Hazard::WriteAfterRead, Hazard::WriteAfterWrite][random.index(3)];
            ".hazard".to_owned()
        }
        4 | 5 => {
            *cover = match cover {
                Cover::Counter => {
                    let mut between = PhaseId(0);
                    id(&mut between, phases, random);
                    Cover::Path(vec![*before, PhaseId::new(between.index() % phases), *after])
                }
                Cover::Path(_) => Cover::Counter,
            };
            ".cover".to_owned()
        }
        6..9 => format!(".signal{}", signal(signalled, known, random)),
        _ => format!(".wait{}", wait(awaited, known, random)),
    }
}

/// Changes several dependencies in the same way, so that no two contradict each other.
fn alike(checked: &mut CheckedGraph, known: &Known, random: &mut Random) -> &'static str {
    let all = checked.dependencies().to_vec();
    if all.is_empty() {
        return "nothing";
    }
    let graph = known.checked.graph();
    let chosen = all[random.index(all.len())].clone();
    let counter = chosen.wait.counter;
    let of_counter = move |d: &&mut Dependency| d.wait.counter == counter;
    match random.index(6) {
        // Forgets a writer, and the amount that it adds.
        0..3 => {
            let columns = graph.phases[chosen.before].columns();
            let height = graph.spaces[graph.phases[chosen.before].space].height;
            let times = if chosen.signal.index == Index::Tile { 1 } else { columns };
            let dependencies = checked.dependencies_mut();
            dependencies.retain(|d| (d.before, d.wait.counter) != (chosen.before, counter));
            for Dependency { wait, .. } in dependencies.iter_mut().filter(of_counter) {
                let Need { fixed, per_row, per_slot, pieces } = &mut wait.need;
                match chosen.signal.amount {
                    Amount::Rows if *per_slot >= times => *per_slot -= times,
                    Amount::Rows => *per_row = per_row.saturating_sub(times),
                    Amount::One if *fixed >= times => *fixed -= times,
                    Amount::One => {
                        // One entry per writer.
                        if let Some(at) = pieces.iter().position(|piece| *piece == (height, times)) {
                            pieces.remove(at);
                        }
                    }
                }
            }
            "a writer forgotten"
        }
        3 => {
            checked.dependencies_mut().retain(|d| (d.after, d.tensor) != (chosen.after, chosen.tensor));
            "a reader forgotten"
        }
        4 => {
            let alike: Vec<CounterId> = known
                .checked
                .counters()
                .iter()
                .filter(|(_, other)| other.grid == known.checked.counters()[counter].grid)
                .map(|(id, _)| id)
                .collect();
            let other = alike[random.index(alike.len())];
            for Dependency { signal, wait, .. } in checked.dependencies_mut().iter_mut().filter(of_counter) {
                (signal.counter, wait.counter) = (other, other);
            }
            "a counter for another of its form"
        }
        _ => {
            let (index, remote) = (super::phases::INDICES[random.index(7)], random.index(3) == 0);
            for Dependency { signal, wait, .. } in checked.dependencies_mut().iter_mut().filter(of_counter) {
                (signal.index, wait.index) = (index, index);
                signal.remote ^= remote;
            }
            "the index of a counter"
        }
    }
}

#[test]
fn schedules_of_a_changed_analysis_that_are_accepted_run_right() {
    let numbers = Numbers::new("HPMOE_ANALYSES", USUAL);
    let found = numbers.run(judged);
    let (tally, count) = (&found.tally, numbers.count());
    assert!(found.wrong.is_empty(), "accepted and wrong: {:#?}", found.wrong);
    assert!(tally.total(Verdict::RefusedWrong) * 10 > count, "many are wrong: {}", tally.line());
    assert!(tally.total(Verdict::Right) * 50 > count, "some have no effect: {}", tally.line());
}
