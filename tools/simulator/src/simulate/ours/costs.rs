//! The costs of our schedule in addition to its tasks.

use crate::device_routing::{RoutingPrices, RoutingShape};
use crate::simulate::{CoreCosts, Policy, PolicyCosts, Routing};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::cost::ENTRIES_AHEAD;
use hpmoe_core::schedule::Schedule;
use hpmoe_core::target::Target;
use hpmoe_core::time::Time;

/// The costs of our schedule on a target. If a kernel makes its route before anything else, its cores reach their first tasks when the
/// tables are complete. If tasks come before the route, making the route is a separate task (`route.rs`).
pub(super) fn costs(target: &Target, checked: &CheckedGraph, schedule: &Schedule, routing: &Routing) -> PolicyCosts {
    let sync = &target.sync;
    let task = Time::from_ns(sync.task_pickup_ns + sync.tile_overhead_ns);
    let core = CoreCosts { task, empty: task, poll: None, entries_ahead: 0 };
    let tables = checked
        .graph()
        .route
        .as_ref()
        .filter(|route| route.before == 0)
        .map(|_| RoutingShape::new(checked, schedule, routing).time(target, &RoutingPrices::new(target)))
        .unwrap_or_default();
    PolicyCosts {
        policy: Policy::Ours,
        launch: Time::from_us(target.launch.kernel_us) + tables,
        aic: CoreCosts { entries_ahead: ENTRIES_AHEAD, ..core },
        aiv: core,
        entry: Time::from_ns(sync.entry_ns),
        wait: Time::from_ns(sync.wait_ns),
        signal: Time::from_ns(sync.signal_ns),
        put_start: Time::from_ns(sync.put_start_ns),
    }
}
