//! The second stage, from syntax to the task graph: constants resolved, names replaced by ids, loops by iteration spaces.

mod arguments;
mod body;
mod calls;
mod chunks;
mod cores;
mod external;
mod fits;
mod indices;
mod instances;
mod loops;
mod lowered;
mod order;
mod outer;
mod phase;
mod route;
mod source_line;
mod tails;
mod tasks;
mod tensors;
mod unwritten;
mod writes;

pub(crate) use chunks::chunks_to_choose;

use crate::constant::SPARE;
use crate::finding::{ConstantFault, Errors, Finding, RangeFault};
use crate::graph::{Sizes, TaskGraph};
use crate::ids::Arena;
use crate::syntax::{Flow, Kernel};
use proc_macro2::Span;

/// The maximum number of experts of a group: descriptors number them with 16 bits.
const MOST_EXPERTS: usize = 65_535;

/// Lowers one taskflow of a kernel; `None` if it has faults.
pub(crate) fn lower(kernel: &Kernel, flow: &Flow, errors: &mut Errors) -> Option<TaskGraph> {
    errors.within(Some(&flow.name));
    let chunks = chunks::chunks(kernel, flow, errors);
    errors.within(None);
    let sizes = sizes(kernel, errors);
    let chunks = chunks?;
    let sizes = chunks::cut(sizes?, kernel, chunks.as_ref(), errors);
    let mut graph = TaskGraph {
        kernel: kernel.name.clone(),
        taskflow: flow.name.clone(),
        sizes,
        named_ranks: Vec::new(),
        constants: kernel.constants.iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        tensors: Arena::new(),
        tasks: Arena::new(),
        spaces: Arena::new(),
        phases: Arena::new(),
        route: None,
        span: flow.span,
    };
    errors.within(Some(&flow.name));
    let faulty = tensors::parameters(kernel, flow, &mut graph, errors);
    let lowered = calls::statements(kernel, flow, chunks.as_ref(), faulty, &mut graph, errors);
    if let Some(chunks) = chunks.clone().filter(|_| sizes.may_reuse()) {
        chunks::free(&chunks, &mut graph);
    }
    if let Some(made) = flow.route.as_ref().filter(|made| !lowered.faulty.contains(&made.ids)) {
        graph.route = route::route(kernel, made, &lowered, &mut graph, errors);
    }
    if let Some(chunks) = chunks {
        chunks::chosen(&chunks, kernel, &graph, errors);
    }
    errors.within(None);
    errors.is_empty().then_some(graph)
}

/// The place and the fault of a size constant that every kernel must declare, and that this one doesn't.
fn missing(kernel: &Kernel, name: &'static str) -> (Span, Finding) {
    let of_type = |ty: &str| Finding::Constant(ConstantFault::OfType { name: name.to_owned(), ty: ty.to_owned() });
    match (kernel.constants.span(name), kernel.constants.other(name)) {
        (Some(span), _) => (span, of_type("f32")),
        (None, Some((ty, span))) => (span, of_type(ty)),
        (None, None) => (kernel.span, Finding::MissingConstant { name }),
    }
}

fn sizes(kernel: &Kernel, errors: &mut Errors) -> Option<Sizes> {
    let mut size = |name: &'static str| {
        let value = kernel.constants.get(name);
        match value {
            None => {
                let (place, finding) = missing(kernel, name);
                errors.push(place, finding);
            }
            Some(0) => {
                errors.push(
                    kernel.constants.span(name).unwrap_or(kernel.span),
                    Finding::OutOfRange(RangeFault::Zero { name }),
                );
                return None;
            }
            Some(_) => {}
        }
        value
    };
    let (experts, top_k, tokens) = (size("EXPERTS"), size("TOP_K"), size("TOKENS"));
    let spare = kernel.constants.get(SPARE).unwrap_or(0);
    let sizes = Sizes { experts: experts?, spare, top_k: top_k?, tokens: tokens?, chunks: 1, chunks_at_most: None };
    let Sizes { experts, spare, top_k, tokens, .. } = sizes;
    let (name, fault) = if top_k > experts {
        ("TOP_K", RangeFault::TopK { top_k, experts, most: MOST_EXPERTS })
    } else if experts > MOST_EXPERTS {
        ("EXPERTS", RangeFault::Experts { experts, most: MOST_EXPERTS })
    } else if spare > MOST_EXPERTS {
        (SPARE, RangeFault::Spare { spare, most: MOST_EXPERTS })
    } else if tokens.saturating_mul(top_k) > i32::MAX as usize {
        ("TOKENS", RangeFault::Tokens { tokens, top_k })
    } else {
        return Some(sizes);
    };
    errors.push(kernel.constants.span(name).unwrap_or(kernel.span), Finding::OutOfRange(fault));
    None
}
