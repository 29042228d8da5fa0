//! External operators: their declarations, as numbers.

use crate::finding::{Errors, ExternalFault, Finding};
use crate::graph::External;
use crate::names::ByName;
use crate::syntax::{Kernel, TaskFn};
use crate::units::Bytes;
use syn::Expr;
use syn::spanned::Spanned as _;

/// The external operator of a function with these const arguments; `None` if it has none.
pub(super) fn external(
    kernel: &Kernel,
    function: &TaskFn,
    arguments: &ByName<usize>,
    errors: &mut Errors,
) -> Option<External> {
    let written = function.external.as_ref()?;
    let mut memory = Vec::new();
    for (which, bytes) in &written.memory {
        let bytes = kernel.constants.evaluate(bytes, arguments, errors)?;
        memory.push((*which, Bytes(bytes as u64)));
    }
    let mut number = |name: &'static str, expr: Option<&Expr>| match expr {
        None => Some(None),
        Some(expr) => positive(kernel, name, expr, arguments, errors).map(Some),
    };
    Some(External {
        file: written.file.clone(),
        function: written.function.clone().unwrap_or_else(|| function.name.clone()),
        device_only: written.device_only,
        tolerance: number("tolerance", written.tolerance.as_ref())?.unwrap_or(0.0),
        microseconds: number("microseconds", written.microseconds.as_ref())?,
        memory,
    })
}

fn positive(
    kernel: &Kernel,
    argument: &'static str,
    expr: &Expr,
    arguments: &ByName<usize>,
    errors: &mut Errors,
) -> Option<f32> {
    let fault = match kernel.constants.number(expr, arguments) {
        Ok(value) if value > 0.0 => return Some(value),
        Ok(value) => (expr.span(), Finding::External(ExternalFault::NotPositive { argument, value })),
        Err(fault) => *fault,
    };
    errors.push(fault.0, fault.1);
    None
}
