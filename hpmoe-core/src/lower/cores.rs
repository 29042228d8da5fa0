//! The cores that have all operations of a body.

use crate::syntax::{BodyExpr, BodyStmt, visit};
use hpmoe_kernels::op::TaskKind;
use hpmoe_kernels::ops;

/// The kind of task that has all operations of a body, if there is one.
pub(super) fn whole(body: &[BodyStmt]) -> Option<TaskKind> {
    let mut names: Vec<&str> = Vec::new();
    visit(body, &mut |expr| {
        if let BodyExpr::Operation { name, .. } = expr {
            names.push(name);
        }
    });
    let has = |kind: TaskKind, name: &str| ops::named(name).any(|operation| operation.cores.contains(&kind));
    let known: Vec<&&str> = names.iter().filter(|name| ops::named(name).next().is_some()).collect();
    let kinds = [TaskKind::Matrix, TaskKind::Vector, TaskKind::Put];
    kinds.into_iter().find(|kind| known.iter().all(|name| has(*kind, name)))
}
