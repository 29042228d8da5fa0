//! From a checked graph to a schedule.

use super::bands::bands;
use super::coming::coming;
use super::cost::Costs;
use super::elide::{Kept, Placed, elide};
use super::joins::joins;
use super::list::list;
use super::roles::roles;
use super::starts::starts;
use super::tiling::Tiling;
use super::{Choices, Cores, Schedule};
use crate::target::Target;
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::graph::SpaceKind;

/// Most ranks that schedules are made for.
pub const MAX_RANKS: u32 = 64;

/// Shares the work among cores and orders it, for every number of ranks that divides the experts, up to [`MAX_RANKS`]: with
/// the default choices, for dies like those of an Ascend A3 with that many cores.
///
/// The choice is a heuristic and always the same for the same graph. Whether it is right is for
/// [`validate`](crate::validate::validate) to say.
#[must_use]
pub fn schedule(checked: &CheckedGraph, cores: Cores) -> Schedule {
    schedule_for(checked, &cores.on(&Target::ascend_a3()))
}

/// The same for the dies of a target.
#[must_use]
pub fn schedule_for(checked: &CheckedGraph, target: &Target) -> Schedule {
    schedule_with(checked, target, &Choices::default())
}

/// The same with choices.
#[must_use]
pub fn schedule_with(checked: &CheckedGraph, target: &Target, choices: &Choices) -> Schedule {
    let cores = Cores { aic: target.cores.aic, aiv: target.cores.aiv };
    let costs = Costs::new(checked.graph(), target);
    let (roles, role_of) = roles(checked.graph(), &costs, cores, choices);
    let band_of = bands(checked, choices);
    let mut orders: Vec<_> = ranks(checked.graph().sizes.experts)
        .map(|ranks| list(checked, &costs, choices, &roles, &role_of, ranks))
        .collect();
    let starts = starts(checked.graph(), &role_of);
    // What is sent for the first of a rank's experts, others wait for: the first by number.
    let sends_once = checked.graph().spaces.iter().any(|(_, space)| space.kind == SpaceKind::SendsOnce);
    let none = || band_of.iter().map(|_| false).collect();
    let mut coming = coming(checked);
    if !orders.iter().any(|order| order.alike) {
        coming = none();
    }
    let tiling = Tiling { role_of: &role_of, band_of: &band_of, coming: &coming, starts: &starts };
    let joins = if choices.join > 0 { joins(checked, &tiling, &mut orders) } else { none() };
    let placed = Placed { tiling, orders: &orders };
    let Kept { waits, signals, elided } = elide(checked, &placed);
    Schedule {
        aic: cores.aic,
        aiv: cores.aiv,
        by_load: choices.by_load > 0 && !sends_once,
        roles,
        role_of,
        band_of,
        coming,
        starts,
        joins,
        waits,
        signals,
        elided,
        orders,
    }
}

/// Numbers of ranks that share the experts evenly.
fn ranks(experts: usize) -> impl Iterator<Item = u32> {
    (1..=MAX_RANKS).filter(move |&ranks| experts.is_multiple_of(ranks as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpmoe_language::fixture::{Layer, moe_ffn};

    #[test]
    fn every_divisor_has_an_order() {
        assert_eq!(ranks(12).collect::<Vec<_>>(), [1, 2, 3, 4, 6, 12]);
        assert_eq!(ranks(256).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32, 64]);
    }

    #[test]
    fn the_same_graph_has_the_same_schedule() {
        let checked = moe_ffn(&Layer::SMALL);
        assert_eq!(schedule(&checked, Cores::ASCEND_A3), schedule(&checked, Cores::ASCEND_A3));
    }
}
