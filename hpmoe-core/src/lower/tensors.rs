//! Tensors of a taskflow: parameters, `let`s, and the (token, k) of received rows.

use crate::finding::{CallFault, Errors, Finding, RangeFault};
use crate::graph::{RowKind, Storage, TaskGraph, Tensor, pitch};
use crate::ids::TensorId;
use crate::names::ByName;
use crate::syntax::{Flow, Kernel, Let, TensorKind, size_text};
use hpmoe_kernels::op::ElementType;
use proc_macro2::Span;
use syn::Expr;

/// The maximum number of columns of a tensor, and of rows of a matrix: row pitches are 32-bit numbers of bytes.
pub(super) const MOST_COLUMNS: usize = 1 << 24;

/// Adds the parameters of a taskflow to its graph; returns the names of those that have faults.
pub(super) fn parameters(kernel: &Kernel, flow: &Flow, graph: &mut TaskGraph, errors: &mut Errors) -> Vec<String> {
    let mut faulty = Vec::new();
    for param in &flow.params {
        let draft = Draft { name: &param.name, element: param.element, storage: Storage::Argument, span: param.span };
        if add(kernel, draft, &param.kind, &param.columns, param.write, graph, errors).is_none() {
            faulty.push(param.name.clone());
        }
    }
    faulty
}

/// Adds a `let` tensor; `None` if it has faults.
pub(super) fn local(kernel: &Kernel, declared: &Let, graph: &mut TaskGraph, errors: &mut Errors) -> Option<TensorId> {
    let storage = match declared.kind {
        TensorKind::Ragged | TensorKind::Tokens | TensorKind::Experts { .. } => Storage::Workspace,
        _ => Storage::Symmetric,
    };
    let draft = Draft { name: &declared.name, element: declared.element, storage, span: declared.span };
    add(kernel, draft, &declared.kind, &declared.columns, true, graph, errors)
}

/// The tensor that holds the (token, k) of received rows; the first put that needs it adds it.
pub(super) fn origins(graph: &mut TaskGraph, span: Span) -> TensorId {
    const NAME: &str = "(token, k)";
    graph.tensors.position(|tensor| tensor.name == NAME).unwrap_or_else(|| {
        graph.tensors.push(Tensor {
            name: NAME.to_owned(),
            element: ElementType::i32,
            columns: 1,
            pitch: 1,
            rows: RowKind::Received,
            storage: Storage::Symmetric,
            writable: true,
            span,
        })
    })
}

struct Draft<'a> {
    name: &'a str,
    element: ElementType,
    storage: Storage,
    span: Span,
}

fn add(
    kernel: &Kernel,
    draft: Draft<'_>,
    kind: &TensorKind,
    columns: &Expr,
    writable: bool,
    graph: &mut TaskGraph,
    errors: &mut Errors,
) -> Option<TensorId> {
    let mut count = |expr: &Expr, fault: fn(String, String, usize) -> RangeFault| {
        let value = kernel.constants.evaluate(expr, &ByName::new(), errors)?;
        if value == 0 || value > MOST_COLUMNS {
            errors.push(draft.span, Finding::OutOfRange(fault(draft.name.to_owned(), size_text(expr), value)));
            return None;
        }
        u32::try_from(value).ok()
    };
    let bad_rows = |tensor, size, value| RangeFault::TensorRows { tensor, size, value, most: MOST_COLUMNS };
    let columns =
        count(columns, |tensor, size, value| RangeFault::TensorColumns { tensor, size, value, most: MOST_COLUMNS })?;
    let row_kind = match kind {
        TensorKind::Tokens => RowKind::Token,
        TensorKind::Slots => RowKind::Slot,
        TensorKind::Routed => RowKind::Routed,
        TensorKind::Symmetric | TensorKind::Ragged => RowKind::Received,
        TensorKind::Once => RowKind::Once,
        TensorKind::Experts { rows } => RowKind::Expert(count(rows, bad_rows)?),
        TensorKind::Matrix { rows } => RowKind::Matrix(count(rows, bad_rows)?),
    };
    if let (RowKind::Matrix(_), true) = (row_kind, writable) {
        let finding = Finding::Call(CallFault::WrittenMatrix { tensor: draft.name.to_owned() });
        errors.push(draft.span, finding);
    }
    if graph.tensors.position(|tensor| tensor.name == draft.name).is_some() {
        errors.push(draft.span, Finding::Call(CallFault::DeclaredTwice { tensor: draft.name.to_owned() }));
        return None;
    }
    Some(graph.tensors.push(Tensor {
        name: draft.name.to_owned(),
        element: draft.element,
        columns,
        pitch: pitch(draft.element, columns, draft.storage),
        rows: row_kind,
        storage: draft.storage,
        writable,
        span: draft.span,
    }))
}
