//! Changes fields that belong together: validation would refuse a change of only one of them.

use super::fields::{Known, other_sends};
use super::phases::{INDICES, need};
use crate::analyze::Amount;
use crate::ids::{CounterId, Id, PhaseId};
use crate::random::Random;
use crate::schedule::{Entry, Schedule};

/// Changes several fields consistently, and returns a description of the change.
pub(super) fn together(schedule: &mut Schedule, known: &Known, random: &mut Random) -> String {
    // An earlier change may have removed a phase, or even the only one.
    let phases = schedule.phases.len().min(known.whole.phases.len());
    if phases == 0 {
        return "no phase is left".to_owned();
    }
    let [first, second] = [(); 2].map(|()| PhaseId::new(random.index(phases)));
    let counters = known.checked.counters().len();
    let [counter, other] = [(); 2].map(|()| CounterId::new(random.index(counters.max(1))));
    let done = match random.index(15) {
        0 => each_queue(schedule, "phases exchanged in queues", |queue, _| {
            for entry in queue {
                entry.phase = match entry.phase {
                    phase if phase == first => second,
                    phase if phase == second => first,
                    phase => phase,
                };
            }
        }),
        1 => {
            let by = 1 + random.index(6);
            let later = random.index(2) == 0;
            each_queue(schedule, "a phase moved in queues", |queue, _| moved(queue, first, by, later))
        }
        2 => each_queue(schedule, "experts of a phase in reverse", |queue, _| {
            let places: Vec<usize> = (0..queue.len()).filter(|&place| queue[place].phase == first).collect();
            let entries: Vec<Entry> = places.iter().rev().map(|&place| queue[place]).collect();
            places.iter().zip(entries).for_each(|(&place, entry)| queue[place] = entry);
        }),
        3 => each_queue(schedule, "other peers first", |queue, ranks| {
            for entry in queue.iter_mut().filter(|entry| entry.phase == first) {
                entry.peer_offset = ranks.wrapping_sub(entry.peer_offset) % ranks.max(1);
            }
        }),
        4 => {
            for phase in schedule.phases.ids().collect::<Vec<_>>() {
                schedule.phases[phase].waits.retain(|wait| wait.counter != counter);
                schedule.phases[phase].signals.retain(|signal| signal.counter != counter);
            }
            "a counter dropped"
        }
        5 => {
            let index = INDICES[random.index(INDICES.len())];
            each_use(schedule, counter, |_, place| *place = index);
            "a counter's index"
        }
        6 => {
            each_use(schedule, counter, |id, _| *id = other);
            "a counter for another"
        }
        7 => {
            let mut changed = known.whole.waits().find(|wait| wait.counter == counter).map(|wait| wait.need.clone());
            if let Some(changed) = &mut changed {
                need(changed, known, random);
            }
            for phase in schedule.phases.ids().collect::<Vec<_>>() {
                let uses = schedule.phases[phase].waits.iter_mut().filter(|wait| wait.counter == counter);
                uses.for_each(|wait| wait.need = changed.clone().unwrap_or_default());
            }
            let signals = &mut schedule.phases[first].signals;
            match random.index(3) {
                0 => signals.retain(|signal| signal.counter != counter),
                1 => {
                    let again: Vec<_> = signals.iter().filter(|signal| signal.counter == counter).copied().collect();
                    signals.extend(again);
                }
                _ => signals.iter_mut().filter(|signal| signal.counter == counter).for_each(|signal| {
                    signal.amount = if signal.amount == Amount::One { Amount::Rows } else { Amount::One };
                }),
            }
            "a counter's need and a signal"
        }
        8 => {
            let band = 1 + random.index(4) as u32;
            run_of(schedule, first).into_iter().for_each(|phase| schedule.phases[phase].band = band);
            "the band of joined phases"
        }
        9 => {
            let rotation = random.index(4) as u32;
            run_of(schedule, first).into_iter().for_each(|phase| schedule.phases[phase].rotation = rotation);
            "the rotation of joined phases"
        }
        10 => {
            let preceding = schedule.phases[second].preceding.clone();
            for phase in run_of(schedule, first) {
                schedule.phases[phase].preceding.clone_from(&preceding);
            }
            "what precedes joined phases"
        }
        11 => {
            let by_arrival = random.index(2) == 0;
            schedule.orders.iter_mut().for_each(|order| order.sends = other_sends(order.sends, random));
            run_of(schedule, first).into_iter().for_each(|phase| schedule.phases[phase].by_arrival = by_arrival);
            "the walk of joined phases"
        }
        12 => {
            let role = schedule.phases[second].role;
            run_of(schedule, first).into_iter().for_each(|phase| schedule.phases[phase].role = role);
            for order in &mut schedule.orders {
                let mut entries = Vec::new();
                for part in order.queues.ids().collect::<Vec<_>>() {
                    entries.extend(taken(&mut order.queues[part], |entry| entry.phase == first));
                }
                let part = order.queues.ids().find(|&part| order.queues[part].iter().any(|e| e.phase == second));
                if let Some(part) = part {
                    let place = random.index(order.queues[part].len() + 1);
                    order.queues[part].splice(place..place, entries);
                }
            }
            "a phase on cores of another"
        }
        13 => {
            for order in &mut schedule.orders {
                // An earlier change may have removed a part, or a queue.
                let parts = order.parts.len().min(order.queues.len());
                let Some(part) = order.parts.ids().take(parts).nth(random.index(parts.max(1))) else { continue };
                let mut half = order.parts[part].clone();
                if half.count < 2 {
                    continue;
                }
                half.count /= 2;
                order.parts[part].count -= half.count;
                half.first += order.parts[part].count;
                let to_half = |entry: &Entry| entry.phase == first || entry.expert % 2 == 1;
                let entries = taken(&mut order.queues[part], to_half);
                order.parts.push(half);
                order.queues.push(entries);
            }
            "a part split"
        }
        _ => {
            let uses: Vec<usize> = (0..schedule.phases[first].waits.len()).filter(|_| random.index(2) == 0).collect();
            let waits: Vec<_> = uses.iter().map(|&at| schedule.phases[first].waits[at].clone()).collect();
            schedule.phases[first].waits.retain(|wait| !waits.contains(wait));
            schedule.phases[second].waits.extend(waits);
            "waits of another phase"
        }
    };
    done.to_owned()
}

fn each_queue(
    schedule: &mut Schedule,
    done: &'static str,
    mut change: impl FnMut(&mut Vec<Entry>, u32),
) -> &'static str {
    for order in &mut schedule.orders {
        let parts: Vec<_> = order.queues.ids().collect();
        parts.into_iter().for_each(|part| change(&mut order.queues[part], order.ranks));
    }
    done
}

/// Moves the entries of a phase by `by` positions.
fn moved(queue: &mut Vec<Entry>, phase: PhaseId, by: usize, later: bool) {
    let place = |(place, entry): (usize, Entry)| {
        let place = 2 * place as isize + isize::from(later);
        let by = 2 * by as isize;
        (
            if entry.phase != phase {
                place
            } else if later {
                place + by
            } else {
                place - by
            },
            entry,
        )
    };
    let mut places: Vec<(isize, Entry)> = queue.drain(..).enumerate().map(place).collect();
    places.sort_by_key(|(place, _)| *place);
    queue.extend(places.into_iter().map(|(_, entry)| entry));
}

/// Changes all waits and signals of a counter.
fn each_use(schedule: &mut Schedule, counter: CounterId, change: impl Fn(&mut CounterId, &mut crate::analyze::Index)) {
    for phase in schedule.phases.ids().collect::<Vec<_>>() {
        let fixed = &mut schedule.phases[phase];
        for wait in fixed.waits.iter_mut().filter(|wait| wait.counter == counter) {
            change(&mut wait.counter, &mut wait.index);
        }
        for signal in fixed.signals.iter_mut().filter(|signal| signal.counter == counter) {
            change(&mut signal.counter, &mut signal.index);
        }
    }
}

/// The phases that are walked together with this phase.
fn run_of(schedule: &Schedule, phase: PhaseId) -> Vec<PhaseId> {
    let ids: Vec<PhaseId> = schedule.phases.ids().collect();
    let runs = ids.chunk_by(|_, &next| schedule.phases[next].joins_previous);
    runs.into_iter().find(|run| run.contains(&phase)).map(<[PhaseId]>::to_vec).unwrap_or_default()
}

/// Removes entries from a queue, and returns them.
fn taken(queue: &mut Vec<Entry>, which: impl Fn(&Entry) -> bool) -> Vec<Entry> {
    let (taken, left) = std::mem::take(queue).into_iter().partition(which);
    *queue = left;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};
    use crate::schedule::{Cores, schedule};

    #[test]
    fn a_schedule_that_has_lost_its_phases_stays_as_it_is() {
        let checked = moe_ffn(&Layer::TINY);
        let whole = schedule(&checked, Cores::ASCEND_A3);
        let known = Known { checked: &checked, whole: &whole };
        let empty = Schedule { phases: [].into_iter().collect(), ..whole.clone() };
        let mut random = Random(1);
        for _ in 0..100 {
            let mut changed = empty.clone();
            together(&mut changed, &known, &mut random);
            assert_eq!(changed, empty);
        }
    }
}
