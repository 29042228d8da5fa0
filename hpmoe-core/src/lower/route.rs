//! Checks the route that a taskflow makes: whether its kernel can make it.

use super::lowered::Lowered;
use super::source_line;
use super::unwritten::reads_unwritten;
use crate::finding::{Errors, Finding, NameKind, RouteFault};
use crate::graph::{
    MOST_PAIRS, MOST_ROUTE_CHUNKS, MOST_ROUTE_SPACES, MadeRoute, RowKind, Rows, Sizes, SpaceKind, TaskGraph, Tensor,
};
use crate::ids::TensorId;
use crate::names::{ByName, nearest};
use crate::syntax::{self, Kernel};
use hpmoe_kernels::op::{ElementType, TaskKind};
use proc_macro2::Span;

/// Resolves the statement that makes the route of a taskflow with this graph; `None` if it has faults. Ids that
/// the taskflow makes are stored without gaps, like the caller's.
pub(super) fn route(
    kernel: &Kernel,
    made: &syntax::MadeRoute,
    lowered: &Lowered,
    graph: &mut TaskGraph,
    errors: &mut Errors,
) -> Option<MadeRoute> {
    let before = errors.len();
    let ids = ids(made, graph, errors)?;
    graph.tensors[ids].pitch = graph.tensors[ids].columns;
    let graph = &*graph;
    let Some(tokens) = tokens(ids, graph) else {
        if lowered.faulty.is_empty() {
            errors.push(made.span, Finding::Route(RouteFault::WithoutTokens { taskflow: graph.taskflow.clone() }));
        }
        return None;
    };
    let experts = kernel.constants.evaluate(&made.experts, &ByName::new(), errors)?;
    let mut refuse = |fault| errors.push(made.span, Finding::Route(fault));
    if experts != graph.sizes.experts {
        refuse(RouteFault::Experts { value: experts, experts: graph.sizes.experts });
    }
    let (experts, chunks, spaces) = (graph.sizes.experts, graph.sizes.most_chunks(), graph.spaces.len());
    if chunks > MOST_ROUTE_CHUNKS {
        refuse(RouteFault::Chunks { chunks, most: MOST_ROUTE_CHUNKS });
    } else if experts.saturating_mul(chunks) > MOST_PAIRS {
        refuse(RouteFault::Pairs { experts, chunks, chosen: graph.sizes.chunks_at_most.is_some(), most: MOST_PAIRS });
    }
    if spaces > MOST_ROUTE_SPACES {
        refuse(RouteFault::Spaces { spaces, most: MOST_ROUTE_SPACES });
    }
    for (_, tensor) in graph.tensors.iter().filter(|(_, tensor)| tensor.rows == RowKind::Once) {
        errors.push(tensor.span, Finding::Route(RouteFault::Once { tensor: tensor.name.clone() }));
    }
    for (_, phase) in graph.phases.iter().take(lowered.before) {
        let slots = phase.accesses.iter().find(|access| access.region.rows == Rows::BlockSlots && !access.write);
        if let Some(access) = slots {
            let tensor = graph.tensors[access.tensor].name.clone();
            errors.push(phase.span, Finding::Route(RouteFault::Slots { tensor }));
        }
    }
    let unwritten = reads_unwritten(graph);
    for (_, phase) in graph.phases.iter() {
        let gives_back =
            graph.tasks[phase.task].kind == TaskKind::Put && graph.spaces[phase.space].kind == SpaceKind::Arrivals;
        if gives_back && phase.origins.is_none() && !lowered.incomplete && !unwritten {
            errors.push(phase.span, Finding::Route(RouteFault::Unsent));
        }
    }
    let keeps = keeps(made, ids, graph, errors);
    let groups = groups(kernel, made, graph, errors);
    (errors.len() == before).then(|| MadeRoute {
        ids,
        groups,
        keeps,
        tokens,
        before: lowered.before,
        source: made.source.clone(),
        line: source_line::line(made.span),
        span: made.span,
    })
}

/// The number of expert groups; `None` if routing is not group-limited, or if there is a fault.
fn groups(kernel: &Kernel, made: &syntax::MadeRoute, graph: &TaskGraph, errors: &mut Errors) -> Option<usize> {
    let groups = kernel.constants.evaluate(made.groups.as_ref()?, &ByName::new(), errors)?;
    let Sizes { experts, top_k, .. } = graph.sizes;
    let fit = groups > 0 && experts % groups == 0 && top_k % groups == 0;
    if !fit {
        errors.push(made.span, Finding::Route(RouteFault::Groups { groups, experts, top_k }));
    }
    fit.then_some(groups)
}

/// The tensor that keeps the route; `None` if none does, or there is a fault.
fn keeps(made: &syntax::MadeRoute, ids: TensorId, graph: &TaskGraph, errors: &mut Errors) -> Option<TensorId> {
    let of_kept = graph.tensors[ids].rows == RowKind::Routed;
    let (name, span) = made.keeps.as_ref()?;
    let tensor = graph.tensors.position(|tensor| tensor.name == *name);
    let fits = |id: &TensorId| graph.tensors[*id].rows == RowKind::Routed && graph.tensors[*id].writable;
    let fault = match tensor.filter(fits) {
        Some(_) if of_kept => RouteFault::KeptAgain { name: name.clone() },
        Some(tensor) => return Some(tensor),
        None => RouteFault::Keeps { name: name.clone() },
    };
    errors.push(*span, Finding::Route(fault));
    None
}

/// Whether a tensor has a row for each token; if not, reports the fault at `at`.
pub(super) fn has_tokens(name: &str, at: Span, graph: &TaskGraph, errors: &mut Errors) -> bool {
    let Some(tensor) = graph.tensors.position(|tensor| tensor.name == name) else {
        let nearest = nearest(name, graph.tensors.iter().map(|(_, tensor)| tensor.name.as_str()));
        errors.push(at, Finding::Unknown { kind: NameKind::Tensor, name: name.to_owned(), nearest });
        return false;
    };
    let has = graph.tensors[tensor].rows == RowKind::Token;
    if !has {
        errors.push(at, Finding::Route(RouteFault::NoTokens { name: name.to_owned() }));
    }
    has
}

/// A parameter with a row for each token, preferably the ids. `None` if there is none; then only a kept route tells the number of tokens.
fn tokens(ids: TensorId, graph: &TaskGraph) -> Option<TensorId> {
    let is_input = |id: &TensorId| {
        let tensor = &graph.tensors[*id];
        tensor.rows == RowKind::Token && tensor.storage.is_argument()
    };
    [ids].into_iter().chain(graph.tensors.ids()).find(is_input)
}

/// The tensor of ids, or the kept route, from which the route is made; `None` if there is a fault.
fn ids(made: &syntax::MadeRoute, graph: &TaskGraph, errors: &mut Errors) -> Option<TensorId> {
    let Some(ids) = graph.tensors.position(|tensor| tensor.name == made.ids) else {
        let nearest = nearest(&made.ids, graph.tensors.iter().map(|(_, tensor)| tensor.name.as_str()));
        errors.push(made.span, Finding::Unknown { kind: NameKind::Tensor, name: made.ids.clone(), nearest });
        return None;
    };
    if graph.tensors[ids].storage.is_argument() == made.by_reference {
        let (name, by_reference) = (made.ids.clone(), made.by_reference);
        errors.push(made.span, Finding::Route(RouteFault::Reference { name, by_reference }));
        return None;
    }
    if graph.tensors[ids].rows == RowKind::Routed {
        if graph.tensors[ids].writable {
            errors.push(made.span, Finding::Route(RouteFault::KeptHere { name: made.ids.clone() }));
            return None;
        }
        return Some(ids);
    }
    let top_k = graph.sizes.top_k;
    let Tensor { element, columns, rows, .. } = graph.tensors[ids];
    let shaped = element == ElementType::i32 && columns as usize == top_k && rows == RowKind::Token;
    if shaped {
        return Some(ids);
    }
    errors.push(made.span, Finding::Route(RouteFault::Ids { name: made.ids.clone(), top_k }));
    None
}
