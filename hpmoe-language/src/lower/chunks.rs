//! The loop over chunks: what may stand inside and outside, and what ends it.

use super::arguments::Place;
use crate::finding::{Errors, Finding};
use crate::graph::{Body, Height, Phase, RowKind, Space, SpaceKind, Task, TaskGraph, Tensor};
use crate::syntax::{Argument, Flow, Kernel, Over, Stmt};
use hpmoe_kernels::op::TaskKind;
use indexmap::IndexMap;
use proc_macro2::Span;
use syn::spanned::Spanned as _;

/// The chunk loop of a taskflow.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    /// Its variable, a route.
    variable: String,
    span: Span,
    /// How many.
    pub(super) count: usize,
}

/// Finds the loop and checks that the taskflow has it around everything. `None` inside where it has none, outside where it is
/// faulty.
pub(super) fn chunks(kernel: &Kernel, flow: &Flow, errors: &mut Errors) -> Option<Option<Chunks>> {
    let before = errors.len();
    let mut found: Option<Chunks> = None;
    for statement in &flow.body {
        let Stmt::For { variable, span, over: Over::Chunks { count }, body } = statement else { continue };
        if let Some(first) = &found {
            let problem = format!("`{variable}` cuts into chunks what `{}` has cut", first.variable);
            refuse(*span, problem, "put all calls into one loop over chunks", errors);
            continue;
        }
        inner(body, errors);
        let value = kernel.constants.evaluate(count, &IndexMap::new(), errors)?;
        if !(1..=MOST_CHUNKS).contains(&value) {
            let problem = format!("{value} chunks: possible are 1 to {MOST_CHUNKS}");
            errors.push(count.span(), Finding::OutOfRange { problem });
        }
        found = Some(Chunks { variable: variable.clone(), span: *span, count: value });
    }
    let Some(chunks) = found else {
        inner(&flow.body, errors);
        return (errors.len() == before).then_some(None);
    };
    let outside = flow.body.iter().filter(|it| !matches!(it, Stmt::For { over: Over::Chunks { .. }, .. }));
    for (span, what) in outside.map(|statement| match statement {
        Stmt::Let(tensor) => (tensor.span, format!("`{}`", tensor.name)),
        Stmt::For { variable, span, .. } => (*span, format!("the loop over `{variable}`")),
        Stmt::Call { task, span, .. } => (*span, format!("the call of `{task}`")),
    }) {
        let problem = format!("{what} stands outside of the loop over chunks `{}`", chunks.variable);
        refuse(span, problem, "a taskflow works on chunks or on all tokens: move it into the loop", errors);
    }
    (errors.len() == before).then_some(Some(chunks))
}

/// Counters and descriptors are per chunk.
const MOST_CHUNKS: usize = 256;

/// Loops over chunks that stand inside of others.
fn inner(statements: &[Stmt], errors: &mut Errors) {
    for statement in statements {
        let Stmt::For { variable, span, over, body } = statement else { continue };
        if let Over::Chunks { .. } = over {
            let problem = format!("the loop over chunks `{variable}` stands inside of another loop");
            refuse(*span, problem, "let it be the outermost loop of the taskflow", errors);
        }
        inner(body, errors);
    }
}

fn refuse(span: Span, problem: String, help: &str, errors: &mut Errors) {
    errors.push(span, Finding::Unsupported { problem, help: help.into() });
}

/// Of a `let` inside of the loop: rows are a chunk's, and matrices don't belong to it.
pub(super) fn local(chunks: &Chunks, tensor: &Tensor, errors: &mut Errors) {
    if tensor.rows == RowKind::Once {
        let problem = format!("`{}` has a row for each token sent once, and chunks send each (token, k)", tensor.name);
        let help = format!(
            "take a tensor of `PerRank::symmetric` and `{0}.sends`, or do without the loop over `{0}`",
            chunks.variable
        );
        refuse(tensor.span, problem, &help, errors);
    }
    if let RowKind::Expert { .. } = tensor.rows {
        let problem = format!("`{}` has a matrix for each expert, and chunks are made of tokens", tensor.name);
        let help = format!("make it before the kernel and pass it, or do without `{}`", chunks.variable);
        refuse(tensor.span, problem, &help, errors);
    }
}

/// Of rows that are given back though no put of the chunk has sent them.
pub(super) fn unsent(chunks: &Chunks, span: Span, errors: &mut Errors) {
    let problem = format!("rows go back that no put of `{}` has sent", chunks.variable);
    refuse(span, problem, "send the tokens in the loop, or do without the loop over chunks", errors);
}

/// What a call does with an argument.
pub(super) struct Use<'a> {
    pub(super) argument: &'a Argument,
    pub(super) place: &'a Place,
    /// It lies on another rank than the one that runs the call.
    pub(super) remote: bool,
    /// What is written is added to what is there.
    pub(super) adds: bool,
}

/// Of an argument of a call: a chunk has its own tokens, and its own rows only in tensors of the loop. To the matrices of experts,
/// which have none, it can only add.
pub(super) fn argument(chunks: &Chunks, graph: &TaskGraph, used: &Use<'_>, errors: &mut Errors) -> Option<()> {
    let Use { argument, place, remote, adds } = *used;
    let tensor = &graph.tensors[place.tensor];
    // What is made in the loop has been refused there.
    if tensor.rows == RowKind::Once && tensor.storage.is_argument() {
        local(chunks, tensor, errors);
        return None;
    }
    if !tensor.storage.is_argument() {
        return Some(());
    }
    let variable = &chunks.variable;
    let (problem, help) = match tensor.rows {
        RowKind::Received => (
            format!("`{}` has the rows of all chunks, and those of `{variable}` lie elsewhere", tensor.name),
            "make a tensor of received rows in the loop: `PerRank::ragged`, or `PerRank::symmetric` for a put",
        ),
        RowKind::Slot if remote => (
            format!("`{}` has the slots of all chunks, and a peer knows only those of `{variable}`", tensor.name),
            "put into slots made in the loop: `PerRank::slots`",
        ),
        RowKind::Expert { .. } if argument.write && adds => return Some(()),
        RowKind::Expert { .. } if argument.write => (
            format!("every chunk `{variable}` writes `{}` again, which has no rows for its tokens", tensor.name),
            "add to it what each chunk finds: `accumulate` instead of `store`, and zeros before the launch",
        ),
        RowKind::Expert { .. } if tensor.writable => (
            format!("`{}` is the sum of what chunks add, and whole only after the last `{variable}`", tensor.name),
            "read it after the launch, or in another taskflow",
        ),
        _ => return Some(()),
    };
    refuse(argument.span, problem, help, errors);
    None
}

/// The phase that tells peers, at the end of a chunk, that the memory of its rows is free.
pub(super) fn free(chunks: &Chunks, graph: &mut TaskGraph) {
    let line = super::tasks::line(chunks.span);
    let task = graph.tasks.push(Task {
        name: "free_chunk".into(),
        label: "free_chunk".into(),
        arguments: Vec::new(),
        kind: TaskKind::Vector,
        params: Vec::new(),
        body: Body::default(),
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
        source: format!("end of `{}`: its rows are read no more", chunks.variable),
        line,
        span: chunks.span,
    });
}
