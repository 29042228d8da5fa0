//! Nothing reads the tables of a route before they are there.

use super::Violation;
use crate::schedule::{Order, Schedule};
use hpmoe_language::analyze::CheckedGraph;

/// If the kernel makes its route, the cores of each queue make its tables, or wait for them, before the first entry of the queue: every
/// entry needs them. A core that makes tables waits for nothing but the counts of other ranks, whose cores come to theirs first, too. So
/// no wait of an entry can keep the tables from being made, and an order of all entries remains one.
///
/// If the host makes the route, no core makes another.
pub(super) fn route(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let made = checked.graph().route.is_some();
    for order in &schedule.orders {
        let ranks = order.ranks;
        match &order.routed_at {
            Some(_) if !made => violations.push(Violation::SecondRoute { ranks }),
            Some(at) if at.len() == order.queues.len() => {
                let late = order.queues.iter().filter(|&(part, _)| at[part] > 0);
                violations.extend(late.map(|(part, _)| Violation::Unrouted { ranks, part }));
            }
            None if !made => {}
            _ => violations.extend(unrouted(order)),
        }
    }
}

/// Queues whose cores never make or await the tables.
fn unrouted(order: &Order) -> impl Iterator<Item = Violation> {
    order.queues.ids().map(|part| Violation::Unrouted { ranks: order.ranks, part })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::broken::{broken, broken_of};
    use hpmoe_language::fixture::{Layer, routed};
    use hpmoe_language::ids::PartId;

    #[test]
    fn a_right_schedule_passes() {
        assert_eq!(broken_of(&routed(&Layer::SMALL), route, |_| ()), []);
        assert_eq!(broken(route, |_| ()), []);
    }

    #[test]
    fn an_entry_before_the_tables_is_found() {
        for part in [0, 1, 2].map(PartId) {
            let found = broken_of(&routed(&Layer::SMALL), route, |schedule| {
                schedule.orders[1].routed_at.as_mut().unwrap()[part] = 1;
            });
            assert_eq!(found, [Violation::Unrouted { ranks: 2, part }]);
        }
    }

    #[test]
    fn a_queue_without_the_tables_is_found() {
        let all = [0, 1, 2].map(|part| Violation::Unrouted { ranks: 1, part: PartId(part) });
        let found = broken_of(&routed(&Layer::SMALL), route, |schedule| schedule.orders[0].routed_at = None);
        assert_eq!(found, all);
        let found = broken_of(&routed(&Layer::SMALL), route, |schedule| {
            schedule.orders[0].routed_at = Some([0, 0].into_iter().collect());
        });
        assert_eq!(found, all);
    }

    #[test]
    fn tables_that_the_host_has_made_are_not_made_again() {
        let found = broken(route, |schedule| {
            schedule.orders[0].routed_at = Some([0, 0, 0].into_iter().collect());
        });
        assert_eq!(found, [Violation::SecondRoute { ranks: 1 }]);
    }
}
