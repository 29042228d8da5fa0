//! Instances of task functions: parameters and body with const arguments filled in.

use super::source_line::line;
use super::tensors::MOST_COLUMNS;
use super::writes::writes;
use super::{body, external};
use crate::finding::{BodyFault, Errors, Finding, NotAStore, RangeFault};
use crate::graph::{Body, Param, Task};
use crate::ids::{Id as _, ValueId};
use crate::names::ByName;
use crate::syntax::{BodyExpr, BodyStmt, Kernel, TaskFn, size_text};
use hpmoe_kernels::RAGGED;
use hpmoe_kernels::op::{OperandKind, Shape};
use hpmoe_kernels::ops;
use syn::Expr;

/// Creates the instance of a function with these const arguments; `None` if it has faults.
pub(super) fn instance(
    kernel: &Kernel,
    function: &TaskFn,
    arguments: &ByName<usize>,
    errors: &mut Errors,
) -> Option<Task> {
    let before = errors.len();
    let params: Vec<Param> =
        function.params.iter().filter_map(|param| parameter(kernel, param, arguments, errors)).collect();
    if errors.len() > before {
        return None;
    }
    let steps = body::steps(kernel, function, &params, arguments, errors)?;
    for (index, param) in params.iter().enumerate() {
        let written = steps.iter().any(|step| writes(step.operation) && step.operands[0] == ValueId::new(index));
        if param.write && !written {
            let instead = not_a_store(&function.body, &param.name);
            let finding = Finding::NoEffect { task: function.name.clone(), param: param.name.clone(), instead };
            errors.push(param.span, finding);
        }
    }
    if !params.iter().any(|param| param.write) {
        let finding = Finding::Body(BodyFault::WritesNothing { task: function.name.clone() });
        errors.push(function.span, finding);
    }
    let external = external::external(kernel, function, arguments, errors);
    let suffix: String = arguments.iter().map(|(name, value)| format!("_{}{value}", name.to_lowercase())).collect();
    (errors.len() == before).then(|| Task {
        name: function.name.clone(),
        label: format!("{}{suffix}", function.name),
        arguments: arguments.clone().into_iter().collect(),
        kind: function.kind,
        params,
        body: Body { steps },
        external,
        line: line(function.span),
        span: function.span,
    })
}

/// The form of a statement that is written instead of a store to a parameter: a `let` with the parameter's name, or an unused value.
fn not_a_store(body: &[BodyStmt], param: &str) -> Option<NotAStore> {
    let is_let = |statement: &BodyStmt| matches!(statement, BodyStmt::Let { name, .. } if name == param);
    let is_value = |statement: &BodyStmt| match statement {
        BodyStmt::Do(BodyExpr::Operation { name, .. }) => !ops::named(name).any(writes),
        BodyStmt::Do(_) => true,
        _ => false,
    };
    if body.iter().any(is_let) {
        return Some(NotAStore::Let);
    }
    body.iter().any(is_value).then_some(NotAStore::Statement)
}

fn parameter(
    kernel: &Kernel,
    param: &crate::syntax::TileParam,
    arguments: &ByName<usize>,
    errors: &mut Errors,
) -> Option<Param> {
    // `RAGGED` is the prelude's, unless the kernel declares its own.
    let ragged = matches!(&param.rows, Expr::Path(path) if path.path.is_ident("RAGGED"))
        && kernel.constants.get("RAGGED").is_none();
    let rows = if ragged { RAGGED } else { kernel.constants.evaluate(&param.rows, arguments, errors)? };
    let cols = kernel.constants.evaluate(&param.cols, arguments, errors)?;
    let possible = 1..=MOST_COLUMNS;
    let bad_rows = (!possible.contains(&rows) && rows != RAGGED).then_some(&param.rows);
    let bad_cols = (!possible.contains(&cols)).then_some(&param.cols);
    let mut sizes: Vec<String> = bad_rows.into_iter().chain(bad_cols).map(size_text).collect();
    if !sizes.is_empty() {
        sizes.dedup();
        let fault = RangeFault::Tile { param: param.name.clone(), rows, cols, sizes, most: MOST_COLUMNS };
        errors.push(param.span, Finding::OutOfRange(fault));
        return None;
    }
    Some(Param {
        name: param.name.clone(),
        shape: Shape { kind: OperandKind::Tile, element: param.element, rows, cols },
        write: param.write,
        slots: false,
        span: param.span,
    })
}
