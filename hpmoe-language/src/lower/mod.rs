//! The second stage, from syntax to the task graph: constants resolved, names replaced by ids, loops by iteration spaces.

mod arguments;
mod body;
mod calls;
mod chunks;
mod fits;
mod instances;
mod loops;
mod order;
mod tails;
mod tasks;
mod tensors;

use crate::finding::{Errors, Finding, RangeFault};
use crate::graph::{Sizes, TaskGraph};
use crate::ids::Arena;
use crate::syntax::{Flow, Kernel};

/// The most experts of a group: descriptors number them with 16 bits.
const MOST_EXPERTS: usize = 65_535;

/// Lowers one taskflow of a kernel; `None` if it has faults.
pub(crate) fn lower(kernel: &Kernel, flow: &Flow, errors: &mut Errors) -> Option<TaskGraph> {
    errors.within(Some(&flow.name));
    let chunks = chunks::chunks(kernel, flow, errors);
    errors.within(None);
    let sizes = sizes(kernel, errors);
    let chunks = chunks?;
    let sizes = Sizes { chunks: chunks.as_ref().map_or(1, |chunks| chunks.count), ..sizes? };
    let mut graph = TaskGraph {
        kernel: kernel.name.clone(),
        taskflow: flow.name.clone(),
        sizes,
        constants: kernel.constants.iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        tensors: Arena::new(),
        tasks: Arena::new(),
        spaces: Arena::new(),
        phases: Arena::new(),
        span: flow.span,
    };
    errors.within(Some(&flow.name));
    tensors::parameters(kernel, flow, &mut graph, errors);
    calls::statements(kernel, flow, chunks.as_ref(), &mut graph, errors);
    if let Some(chunks) = chunks.filter(|_| sizes.reuses()) {
        chunks::free(&chunks, &mut graph);
    }
    errors.within(None);
    errors.is_empty().then_some(graph)
}

fn sizes(kernel: &Kernel, errors: &mut Errors) -> Option<Sizes> {
    let mut size = |name: &'static str| {
        let value = kernel.constants.get(name);
        match value {
            None => errors.push(kernel.span, Finding::MissingConstant { name }),
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
    let sizes = Sizes { experts: experts?, top_k: top_k?, tokens: tokens?, chunks: 1 };
    let Sizes { experts, top_k, tokens, .. } = sizes;
    let (name, fault) = if top_k > experts {
        ("TOP_K", RangeFault::TopK { top_k, experts })
    } else if experts > MOST_EXPERTS {
        ("EXPERTS", RangeFault::Experts { experts, most: MOST_EXPERTS })
    } else if tokens.saturating_mul(top_k) > i32::MAX as usize {
        ("TOKENS", RangeFault::Tokens { tokens, top_k })
    } else {
        return Some(sizes);
    };
    errors.push(kernel.constants.span(name).unwrap_or(kernel.span), Finding::OutOfRange(fault));
    None
}
