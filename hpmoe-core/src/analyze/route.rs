//! The ids that a kernel makes its route from: they must be complete when the route reads them.

use super::RouteInput;
use super::dependencies::complete;
use super::hazards::accesses;
use super::readiness::Counter;
use super::rectangle::Rectangle;
use crate::finding::{Errors, Finding, RouteFault};
use crate::graph::TaskGraph;
use crate::ids::{Arena, CounterId};
use crate::ids::{Id as _, PhaseId};
use hpmoe_kernels::op::TaskKind;

/// Checks that vector cores write all ids before the route, and that nothing writes them after it.
pub(super) fn ids(graph: &TaskGraph, errors: &mut Errors) {
    let Some(route) = &graph.route else { return };
    let tensor = &graph.tensors[route.ids];
    if !tensor.writable {
        return;
    }
    let (earlier, later): (Vec<_>, Vec<_>) =
        accesses(graph, route.ids, true).partition(|(writer, ..)| route.follows(*writer));
    let name = || tensor.name.clone();
    let Some((_, first, _)) = earlier.first() else {
        let finding = match later.first() {
            Some((_, later, _)) => Finding::ReadTooEarly { tensor: name(), writer: later.span.into() },
            None => Finding::NeverWritten { tensor: name(), declared: tensor.span.into() },
        };
        errors.push(route.span, finding);
        return;
    };
    let written: Vec<_> = earlier.iter().map(|(_, phase, access)| Rectangle::of(access, phase, tensor)).collect();
    if let Some((along, missing)) = Rectangle::whole(tensor).missing(&written) {
        let writer = first.span.into();
        errors.push(route.span, Finding::PartlyWritten { tensor: name(), along, missing, writer });
    }
    for (_, phase, _) in later {
        errors.push(phase.span, Finding::Route(RouteFault::Late { ids: name(), route: route.span.into() }));
    }
    for (_, phase, _) in earlier {
        let task = &graph.tasks[phase.task];
        if task.kind == TaskKind::Matrix {
            let task = task.name.clone();
            errors.push(phase.span, Finding::Route(RouteFault::Matrix { ids: name(), task }));
        }
    }
}

/// The wait of the route for its ids; `None` if the host makes the route, or the ids are the caller's.
pub(super) fn input(graph: &TaskGraph, counters: &mut Arena<CounterId, Counter>) -> Option<RouteInput> {
    let route = graph.route.as_ref()?;
    let end = PhaseId::new(route.before);
    complete(graph, route.ids, end, counters).map(|(signals, wait)| RouteInput { signals, wait })
}
