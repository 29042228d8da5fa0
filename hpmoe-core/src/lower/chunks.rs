//! The loop over chunks: rules for statements inside and outside of it, and the phase that ends it.

use super::arguments::LoweredArgument;
use crate::constant::{CHUNKS_AT_MOST, MOST_CHOSEN};
use crate::finding::{ChunkFault, Errors, Finding, LoopSize, RangeFault};
use crate::graph::{Access, Body, Height, Phase, RowKind, Sizes, Space, SpaceKind, Step, Task, TaskGraph, Tensor};
use crate::ids::Id as _;
use crate::names::ByName;
use crate::syntax::{Argument, Flow, Kernel, Over, Stmt, size_text};
use hpmoe_kernels::RAGGED;
use hpmoe_kernels::op::{Contracted, Device, TaskKind};
use proc_macro2::Span;
use syn::spanned::Spanned as _;

/// The chunk loop of a taskflow.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    /// The loop variable, a route.
    variable: String,
    span: Span,
    /// The number of chunks.
    pub(super) count: usize,
}

/// Finds the loop over chunks and checks that it is around all statements of the taskflow. `None` means that there is a fault,
/// and `Some(None)` that the taskflow has no such loop.
pub(super) fn chunks(kernel: &Kernel, flow: &Flow, errors: &mut Errors) -> Option<Option<Chunks>> {
    let before = errors.len();
    let mut chunk_loop: Option<Chunks> = None;
    for statement in &flow.body {
        let Stmt::For { variable, span, over: Over::Chunks { count }, body } = statement else { continue };
        if let Some(first) = &chunk_loop {
            let fault = ChunkFault::SecondLoop { variable: variable.clone(), first: first.variable.clone() };
            errors.push(*span, Finding::Chunk(fault));
            continue;
        }
        refuse_nested(body, errors);
        let value = kernel.constants.evaluate(count, &ByName::new(), errors)?;
        if !(1..=MOST_CHUNKS).contains(&value) {
            let fault = RangeFault::Loop { size: size_text(count), value, counts: LoopSize::Chunks, most: MOST_CHUNKS };
            errors.push(count.span(), Finding::OutOfRange(fault));
        }
        chunk_loop = Some(Chunks { variable: variable.clone(), span: *span, count: value });
    }
    let Some(chunks) = chunk_loop else {
        refuse_nested(&flow.body, errors);
        return (errors.len() == before).then_some(None);
    };
    for (at, statement) in flow.body.iter().enumerate() {
        let chunk = chunks.variable.clone();
        if let Some(made) = flow.route.as_ref().filter(|made| at < made.after) {
            if at == 0 {
                let makes_ids = flow.params.iter().all(|param| param.name != made.ids);
                let fault = ChunkFault::RouteOfTasks { ids: made.ids.clone(), makes_ids, chunk };
                errors.push(made.span, Finding::Chunk(fault));
            }
            continue;
        }
        let (span, fault) = match statement {
            Stmt::For { over: Over::Chunks { .. }, .. } => continue,
            Stmt::Let(declared) => (declared.span, ChunkFault::TensorOutside { tensor: declared.name.clone(), chunk }),
            Stmt::For { variable, span, .. } => (*span, ChunkFault::LoopOutside { variable: variable.clone(), chunk }),
            Stmt::Call { task, span, .. } => (*span, ChunkFault::CallOutside { task: task.clone(), chunk }),
        };
        errors.push(span, Finding::Chunk(fault));
    }
    (errors.len() == before).then_some(Some(chunks))
}

/// Adds the number of chunks to the sizes: the number in the loop, or one chunk if the build lets launches choose the number.
pub(super) fn cut(sizes: Sizes, kernel: &Kernel, chunks: Option<&Chunks>, errors: &mut Errors) -> Sizes {
    let count = chunks.map_or(1, |chunks| chunks.count);
    let (Some(most), Some(_)) = (at_most(kernel), chunks) else {
        return Sizes { chunks: count, ..sizes };
    };
    if !most.is_power_of_two() || most > MOST_CHOSEN {
        let span = kernel.constants.span(CHUNKS_AT_MOST).unwrap_or(kernel.span);
        errors.push(span, Finding::OutOfRange(RangeFault::Chosen { value: most, most: MOST_CHOSEN }));
        return Sizes { chunks: count, ..sizes };
    }
    Sizes { chunks: 1, chunks_at_most: Some(most).filter(|most| *most > 1), ..sizes }
}

/// The largest number of chunks that launches may choose; `None` if launches don't choose.
fn at_most(kernel: &Kernel) -> Option<usize> {
    kernel.constants.get(CHUNKS_AT_MOST).filter(|most| *most > 0)
}

/// Refuses a kernel without loops over chunks whose build lets launches choose the number.
pub(crate) fn chunks_to_choose(kernel: &Kernel, errors: &mut Errors) {
    let loops = |flow: &Flow| flow.body.iter().any(|stmt| matches!(stmt, Stmt::For { over: Over::Chunks { .. }, .. }));
    if at_most(kernel).is_some() && !kernel.flows.iter().any(loops) {
        errors.push(kernel.span, Finding::Chunk(ChunkFault::ChosenNone));
    }
}

/// Refuses sums over chunks that are impossible if launches choose the number of chunks.
pub(super) fn chosen(chunks: &Chunks, kernel: &Kernel, graph: &TaskGraph, errors: &mut Errors) {
    let Some(most) = at_most(kernel) else { return };
    let chunk = chunks.variable.clone();
    let matrix = |access: &&Access| access.write && matches!(graph.tensors[access.tensor].rows, RowKind::Expert(_));
    let sums = graph.phases.iter().filter_map(|(_, phase)| Some((phase, phase.accesses.iter().find(matrix)?)));
    let mut sums = sums.peekable();
    let Some((_, sum)) = sums.peek() else { return };
    // The reference adds chunk by chunk, and its chunks are the parts by which a kernel adds.
    if chunks.count != most {
        let tensor = graph.tensors[sum.tensor].name.clone();
        let fault = ChunkFault::ChosenSum { tensor, chunk: chunk.clone(), count: chunks.count, most };
        errors.push(chunks.span, Finding::Chunk(fault));
    }
    for (phase, sum) in sums.filter(|(phase, _)| !adds_rows_alone(&graph.tasks[phase.task])) {
        let (task, tensor) = (graph.tasks[phase.task].name.clone(), graph.tensors[sum.tensor].name.clone());
        errors.push(phase.span, Finding::Chunk(ChunkFault::ChosenTerms { task, tensor, chunk: chunk.clone() }));
    }
}

/// Whether each sum that a task adds to a tile is a single product, contracted along all rows of an expert in a chunk. Such a sum can be
/// divided into sums over parts of the rows.
fn adds_rows_alone(task: &Task) -> bool {
    let whole = |step: &Step| {
        let rows =
            matches!(step.operation.device, Device::Matmul { x: Contracted::Rows, w: Contracted::Rows, adds: false });
        rows && task.params[step.operands[0].index()].shape.rows == RAGGED
    };
    let mut sums = task.body.steps.iter().filter(|step| matches!(step.operation.device, Device::Accumulate));
    task.external.is_none() && sums.all(|step| whole(&task.body.steps[step.operands[1].index() - task.params.len()]))
}

/// The maximum number of chunks; each has its own counters and descriptors.
const MOST_CHUNKS: usize = 256;

/// Refuses loops over chunks inside of other loops.
fn refuse_nested(statements: &[Stmt], errors: &mut Errors) {
    for statement in statements {
        let Stmt::For { variable, span, over, body } = statement else { continue };
        if let Over::Chunks { .. } = over {
            let fault = ChunkFault::Nested { variable: variable.clone() };
            errors.push(*span, Finding::Chunk(fault));
        }
        refuse_nested(body, errors);
    }
}

/// Checks a `let` inside the loop: its rows must belong to a chunk. Matrices and once-sent rows don't.
pub(super) fn local(chunks: &Chunks, tensor: &Tensor, errors: &mut Errors) {
    if tensor.rows == RowKind::Once {
        let (tensor_name, chunk) = (tensor.name.clone(), chunks.variable.clone());
        errors.push(tensor.span, Finding::Chunk(ChunkFault::Once { tensor: tensor_name, chunk }));
    }
    if let RowKind::Expert(_) = tensor.rows {
        let (tensor_name, chunk) = (tensor.name.clone(), chunks.variable.clone());
        errors.push(tensor.span, Finding::Chunk(ChunkFault::Experts { tensor: tensor_name, chunk }));
    }
}

/// Refuses to give back rows that no put of the chunk has sent.
pub(super) fn unsent(chunks: &Chunks, span: Span, errors: &mut Errors) {
    errors.push(span, Finding::Chunk(ChunkFault::Unsent { chunk: chunks.variable.clone() }));
}

/// The use of an argument by a call.
pub(super) struct Use<'a> {
    pub(super) argument: &'a Argument,
    pub(super) place: &'a LoweredArgument,
    /// Whether the argument lies on a different rank than the one that runs the call.
    pub(super) remote: bool,
    /// Whether the call adds to the argument rather than overwriting it.
    pub(super) adds: bool,
}

/// Checks an argument of a call in the loop over chunks. A chunk has its own tokens, but rows only in tensors made in the loop; to experts'
/// matrices, it can only add.
pub(super) fn argument(chunks: &Chunks, graph: &TaskGraph, used: &Use<'_>, errors: &mut Errors) -> Option<()> {
    let Use { argument, place, remote, adds } = *used;
    let tensor = &graph.tensors[place.tensor];
    // A tensor of the loop has been refused at its `let`.
    if tensor.rows == RowKind::Once && tensor.storage.is_argument() {
        local(chunks, tensor, errors);
        return None;
    }
    if !tensor.storage.is_argument() {
        return Some(());
    }
    let (name, chunk) = (tensor.name.clone(), chunks.variable.clone());
    let fault = match tensor.rows {
        RowKind::Received => ChunkFault::ReceivedOfAll { tensor: name, chunk },
        RowKind::Slot if remote => ChunkFault::SlotsOfAll { tensor: name, chunk },
        RowKind::Expert(_) if argument.write && adds => return Some(()),
        RowKind::Expert(_) if argument.write => ChunkFault::Overwritten { tensor: name, chunk },
        RowKind::Expert(_) if tensor.writable => ChunkFault::SumRead { tensor: name, chunk },
        _ => return Some(()),
    };
    errors.push(argument.span, Finding::Chunk(fault));
    None
}

/// Adds the phase that signals all ranks, at the end of a chunk, that the memory of its rows is free.
pub(super) fn free(chunks: &Chunks, graph: &mut TaskGraph) {
    let line = super::source_line::line(chunks.span);
    let task = graph.tasks.push(Task {
        name: "free_chunk".into(),
        label: "free_chunk".into(),
        arguments: Vec::new(),
        kind: TaskKind::Vector,
        params: Vec::new(),
        body: Body::default(),
        external: None,
        line,
        span: chunks.span,
    });
    let space = graph.spaces.push(Space { kind: SpaceKind::Chunks, height: Height::Rows(1) });
    graph.phases.push(Phase {
        task,
        space,
        ranges: Vec::new(),
        range_names: Vec::new(),
        accesses: Vec::new(),
        origins: None,
        source: format!("end of `{}`: its rows are no longer read", chunks.variable),
        line,
        span: chunks.span,
    });
}
