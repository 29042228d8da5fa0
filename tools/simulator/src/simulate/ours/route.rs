//! The making of a route after the tasks that make its ids: steps that cores do between tasks.

use super::counters::CounterLayout;
use super::layout::Layout;
use crate::device_routing::{RoutingPrices, RoutingShape};
use crate::simulate::{Ahead, CounterSignal, CounterWait, Cursor, QueuedTask, Routing, Time, Work};
use hpmoe_core::analyze::{CheckedGraph, Wait};
use hpmoe_core::ids::PartId;
use hpmoe_core::schedule::{CoreKind, Order, Schedule};
use hpmoe_core::target::Target;

/// The steps of making a route, for kernels with tasks before the route.
#[derive(Clone, Debug)]
pub(super) struct RouteSteps {
    /// Source line of the call that makes the route.
    pub(super) line: usize,
    /// The wait for the ids; `None` if the caller provides them.
    ids: Option<Wait>,
    /// Time until a vector core has sent its counts, and the time from then until it has made its tables.
    stages: [Time; 2],
    aiv: u32,
}

/// A core that has arrived at the route.
pub(super) struct RouteCore {
    pub(super) rank: u32,
    pub(super) kind: CoreKind,
    pub(super) number: u32,
    pub(super) part: PartId,
}

impl RouteSteps {
    /// The steps of a kernel's route; `None` if the host makes the route, or if the kernel makes it before anything else.
    pub(super) fn new(target: &Target, checked: &CheckedGraph, schedule: &Schedule, routing: &Routing) -> Option<Self> {
        let made = checked.graph().route.as_ref().filter(|made| made.before > 0)?;
        let stages = RoutingShape::new(checked, schedule, routing).stages(target, &RoutingPrices::new(target));
        Some(Self { line: made.line, ids: schedule.routed_after.clone(), stages, aiv: schedule.aiv })
    }

    /// Writes a core's next step of making the route to `task`. Returns false if the core has not reached the route, or has finished it. A
    /// vector core sends its counts and then makes its tables. Then every core waits for all tables.
    pub(super) fn next(
        &self,
        order: &Order,
        (counters, layout): (&CounterLayout, &Layout),
        core: &RouteCore,
        cursor: &mut Cursor,
        task: &mut QueuedTask,
    ) -> bool {
        let at = order.routed_at.as_ref().map(|at| at[core.part]);
        let first = if core.kind == CoreKind::Aiv { 0 } else { 2 };
        let step = cursor.route.max(first);
        if at != Some(cursor.entry) || cursor.tile != 0 || step > 2 {
            return false;
        }
        cursor.route = step + 1;
        let told = counters.of_route(core.rank);
        let made = told + 1;
        (task.group, task.item, task.column, task.awaits_ready) = (0, 0, 0, None);
        task.entries += u32::from(step == first);
        task.waits.clear();
        task.signals.clear();
        task.work = Work::Empty;
        (task.ahead, task.shares_next_fence) = (Ahead::default(), false);
        match step {
            0 => {
                task.work = Work::Fixed { time: self.stages[0] };
                task.waits.extend(self.ids.iter().map(|wait| counters.ids(layout, core.rank, wait)));
                // All cores of a rank arrive at the route at about the same time, so one core stands for all.
                let told = |rank| CounterSignal { rank, counter: counters.of_route(rank), amount: 1 };
                task.signals.extend((0..layout.ranks).filter(|_| core.number == 0).map(told));
            }
            1 => {
                task.work = Work::Fixed { time: self.stages[1] };
                task.waits.push(CounterWait { counter: told, need: layout.ranks });
                task.signals.push(CounterSignal { rank: core.rank, counter: made, amount: 1 });
            }
            _ => task.waits.push(CounterWait { counter: made, need: self.aiv }),
        }
        true
    }
}
