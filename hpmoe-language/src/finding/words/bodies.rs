//! The words of [`BodyFault`].

use super::Sentence;
use crate::finding::BodyFault;
use hpmoe_kernels::op::OperandKind;
use hpmoe_kernels::ops;

impl BodyFault {
    pub(super) fn words(&self) -> Sentence {
        let (problem, help) = match self {
            Self::Operands { operation, given } => return operands(operation, given),
            Self::ElementType { operation } => {
                let help = format!("write `{operation}::<bf16>()` or `{operation}::<f32>()`");
                return (format!("`{operation}` needs an element type"), help);
            }
            Self::NoResult { operation, user } => {
                (format!("`{operation}` has no result, but `{user}` takes one here"), "make it a statement of its own")
            }
            Self::Iterations { task, most } => (
                format!("the loops of `{task}` have more than {most} iterations"),
                "move the loop into the taskflow, or split the task",
            ),
            Self::Operations { task, most } => (
                format!("`{task}` has more than {most} operations, loops unrolled"),
                "move the loop into the taskflow, or split the task",
            ),
            Self::WrittenTwice { param } => (format!("`{param}` is written twice"), "write each tile once"),
            Self::WrittenByRef { param } => {
                (format!("`{param}` is written here, but taken by `&`"), "take it by `&mut`")
            }
            Self::ReadByMut { param } => {
                (format!("`{param}` is read here, but taken by `&mut`"), "take it by `&`: `&mut` only writes")
            }
            Self::WritesNothing { task } => {
                (format!("`{task}` writes nothing"), "take a tile by `&mut` and store to it")
            }
        };
        (problem, help.into())
    }
}

fn operands(operation: &str, given: &[OperandKind]) -> Sentence {
    let known: Vec<&[OperandKind]> = ops::named(operation).map(|operation| operation.operands).collect();
    let takes: Vec<String> = known.iter().map(|kinds| list(kinds)).collect();
    let tile = known.iter().any(|kinds| kinds.contains(&OperandKind::Tile)) || given.contains(&OperandKind::Tile);
    let help = if tile {
        "`load()` makes a value of a tile, and `store(..)` writes a value to a tile"
    } else {
        "numbers are f32 literals and constants; `load()` makes a value of a tile"
    };
    (format!("`{operation}` takes {}, but is given {}", takes.join(", or "), list(given)), help.into())
}

fn list(kinds: &[OperandKind]) -> String {
    let name = |kind: &OperandKind| match kind {
        OperandKind::Tile => "a tile",
        OperandKind::Value => "a value",
        OperandKind::Number => "a number",
        OperandKind::Size => "a size",
    };
    kinds.iter().map(name).collect::<Vec<_>>().join(" and ")
}
