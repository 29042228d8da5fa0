//! The cores that have all operations of a body.

use crate::syntax::{BodyExpr, BodyStmt};
use hpmoe_kernels::op::TaskKind;
use hpmoe_kernels::ops;

/// The kind of task that has all operations of a body, if there is one.
pub(super) fn whole(body: &[BodyStmt]) -> Option<TaskKind> {
    let mut names = Vec::new();
    statement_operations(body, &mut names);
    let has = |kind: TaskKind, name: &str| ops::named(name).any(|operation| operation.cores.contains(&kind));
    let known: Vec<&String> = names.iter().filter(|name| ops::named(name).next().is_some()).collect();
    let kinds = [TaskKind::Matrix, TaskKind::Vector, TaskKind::Put];
    kinds.into_iter().find(|kind| known.iter().all(|name| has(*kind, name)))
}

fn statement_operations(body: &[BodyStmt], names: &mut Vec<String>) {
    for statement in body {
        match statement {
            BodyStmt::Let { value, .. } | BodyStmt::Assign { value, .. } | BodyStmt::Do(value) => {
                operations(value, names)
            }
            BodyStmt::For { body, .. } => statement_operations(body, names),
        }
    }
}

fn operations(expr: &BodyExpr, names: &mut Vec<String>) {
    if let BodyExpr::Operation { name, operands, .. } = expr {
        names.push(name.clone());
        operands.iter().for_each(|operand| operations(operand, names));
    }
}
