//! Changes of one field of a schedule.
//!
//! Every type is destructured without `..`, so that a new field is a compile error until it is changed here, too.

use super::phases::phase;
use super::values::{arena, id, list, number};
use crate::analyze::CheckedGraph;
use crate::ids::PhaseId;
use crate::random::Random;
use crate::schedule::{CoreKind, Elision, Entry, Implied, Order, Role, Schedule, Sends};
use hpmoe_kernels::route::ExpertOrders;
use std::num::NonZeroU32;

/// The schedule before any change, and its graph.
pub(super) struct Known<'a> {
    pub(super) checked: &'a CheckedGraph,
    pub(super) whole: &'a Schedule,
}

/// Changes one field, and returns its name.
pub(super) fn field(schedule: &mut Schedule, known: &Known, random: &mut Random) -> String {
    let Schedule { aic, aiv, expert_orders, roles, phases, elided, routed_after, orders, chosen: _ } = schedule;
    match random.index(32) {
        0 => {
            number(aic, &[*aiv], random);
            "aic".to_owned()
        }
        1 => {
            number(aiv, &[*aic], random);
            "aiv".to_owned()
        }
        2 => {
            let all = [
                ExpertOrders::Number,
                ExpertOrders::Load,
                ExpertOrders::LoadFrom(2),
                ExpertOrders::LightestFirstFrom(1),
                ExpertOrders::LightestFirstFrom(u32::MAX),
            ];
            let others: Vec<ExpertOrders> = all.into_iter().filter(|other| other != expert_orders).collect();
            *expert_orders = others[random.index(others.len())];
            "order of experts".to_owned()
        }
        3 => {
            let others: Vec<Role> = known.whole.roles.iter().map(|(_, role)| role.clone()).collect();
            format!("roles{}", arena(roles, |roles| list(roles, &others, 8, random, role)))
        }
        4 => {
            let done = list(elided, &known.whole.elided, 3, random, |one, random| elision(one, known, random));
            format!("elided{done}")
        }
        5 if routed_after.is_some() => {
            let others: Vec<_> = known.whole.waits().cloned().collect();
            match random.index(3) {
                0 => *routed_after = None,
                1 => *routed_after = Some(others[random.index(others.len())].clone()),
                _ => routed_after.iter_mut().for_each(|wait| number(&mut wait.need.per_row, &[1, 2], random)),
            }
            "routed_after".to_owned()
        }
        5..18 => {
            let others: Vec<_> = known.whole.phases.iter().map(|(_, phase)| phase.clone()).collect();
            let change = |one: &mut _, random: &mut Random| phase(one, known, random);
            format!("phases{}", arena(phases, |phases| list(phases, &others, 16, random, change)))
        }
        _ => {
            let change = |one: &mut _, random: &mut Random| order(one, known, random);
            format!("orders{}", list(orders, &known.whole.orders, 32, random, change))
        }
    }
}

fn role(role: &mut Role, random: &mut Random) -> String {
    let Role { name, kind, first, count } = role;
    let field = match random.index(4) {
        0 => {
            *name = "other";
            ".name"
        }
        1 => {
            *kind = match kind {
                CoreKind::Aic => CoreKind::Aiv,
                CoreKind::Aiv => CoreKind::Aic,
            };
            ".kind"
        }
        2 => {
            number(first, &[*count], random);
            ".first"
        }
        _ => {
            number(count, &[*first], random);
            ".count"
        }
    };
    field.to_owned()
}

fn elision(elision: &mut Elision, known: &Known, random: &mut Random) -> String {
    let Elision { dependency, implied } = elision;
    if random.index(2) == 0 {
        *dependency = random.index(known.checked.dependencies().len() + 1);
        return ".dependency".to_owned();
    }
    let mut phase = PhaseId(0);
    id(&mut phase, known.whole.phases.len(), random);
    match implied {
        Implied::Path(phases) => {
            list(phases, &[phase], 2, random, |place, _| {
                *place = phase;
                String::new()
            });
        }
        Implied::QueueOrder { earlier, later } => *[earlier, later][random.index(2)] = phase,
        Implied::SameCore => *implied = Implied::AlreadyAwaited { by: phase },
        Implied::AlreadyAwaited { by } => *by = phase,
    }
    ".implied".to_owned()
}

/// A different division of sends among cores, or turns of a different size.
pub(super) fn other_sends(sends: Sends, random: &mut Random) -> Sends {
    let rows =
        [1, 2, 8, 16, 128, u32::MAX].map(NonZeroU32::new)[random.index(6)].expect("no number in the list is zero");
    let all = [Sends::PeerAfterPeer, Sends::InTurn { rows }];
    let others: Vec<Sends> = all.into_iter().filter(|&other| other != sends).collect();
    others[random.index(others.len())]
}

fn order(order: &mut Order, known: &Known, random: &mut Random) -> String {
    let Order { ranks, parts, queues, sends, routed_at } = order;
    if let (Some(at), 0) = (&mut *routed_at, random.index(16)) {
        let change = |one: &mut u32, random: &mut Random| {
            number(one, &[], random);
            String::new()
        };
        return format!(".routed_at{}", arena(at, |at| list(at, &[0], 4, random, change)));
    }
    match random.index(16) {
        0 => {
            number(ranks, &[1, 2, 4], random);
            ".ranks".to_owned()
        }
        1 => {
            *sends = other_sends(*sends, random);
            ".sends".to_owned()
        }
        2 => {
            let others: Vec<Role> = parts.iter().map(|(_, part)| part.clone()).collect();
            format!(".parts{}", arena(parts, |parts| list(parts, &others, 4, random, role)))
        }
        3 => format!(".queues{}", arena(queues, |queues| list(queues, &[], 1, random, |_, _| String::new()))),
        4 => {
            arena(queues, |queues| {
                let [from, to] = [(); 2].map(|()| random.index(queues.len()));
                if !queues[from].is_empty() {
                    let entry = random.index(queues[from].len());
                    let entry = queues[from].remove(entry);
                    let place = random.index(queues[to].len() + 1);
                    queues[to].insert(place, entry);
                }
                String::new()
            });
            ".queues.entries.elsewhere".to_owned()
        }
        _ => {
            let done = arena(queues, |queues| {
                let at = random.index(queues.len());
                let others: Vec<Entry> = queues.iter().flatten().copied().collect();
                entries(&mut queues[at], &others, known, random)
            });
            format!(".queues.entries{done}")
        }
    }
}

/// Changes the order of entries, or a field of one entry.
fn entries(queue: &mut Vec<Entry>, others: &[Entry], known: &Known, random: &mut Random) -> String {
    let len = queue.len();
    if len > 1 && random.index(4) > 0 {
        let (first, second) = (random.index(len), random.index(len));
        let (first, second) = (first.min(second), first.max(second));
        let done = match random.index(5) {
            0..2 => {
                queue.swap(first.min(len - 2), first.min(len - 2) + 1);
                ".next"
            }
            2 => {
                queue[first..=second].rotate_left(1);
                ".later"
            }
            3 => {
                queue[first..=second].rotate_right(1);
                ".earlier"
            }
            _ => {
                queue[first..=second].reverse();
                ".reversed"
            }
        };
        return done.to_owned();
    }
    list(queue, others, 2, random, |entry, random| {
        let Entry { phase, expert, peer_offset } = entry;
        let name = match random.index(3) {
            0 => {
                id(phase, known.whole.phases.len(), random);
                ".phase"
            }
            1 => {
                number(expert, &[*peer_offset], random);
                ".expert"
            }
            _ => {
                number(peer_offset, &[*expert], random);
                ".peer_offset"
            }
        };
        name.to_owned()
    })
}
