//! The words of [`BodyFault`].

use crate::finding::BodyFault;
use hpmoe_kernels::op::OperandKind;
use hpmoe_kernels::ops;

impl BodyFault {
    /// The fault and the way out.
    pub(super) fn words(&self) -> (String, String) {
        let (problem, help) = match self {
            Self::Operands { operation, given } => return operands(operation, given),
            Self::ElementType { operation } => {
                let help = format!("write `{operation}::<bf16>()` or `{operation}::<f32>()`");
                return (format!("`{operation}` needs an element type"), help);
            }
            Self::NoResult { operation, user } => {
                (format!("`{operation}` has no result, and `{user}` takes one here"), "end a statement with it")
            }
            Self::Turns { task, most } => (
                format!("`{task}` has more than {most} turns of its loops"),
                "let the taskflow loop, or split the task",
            ),
            Self::Operations { task, most } => (
                format!("`{task}` has more than {most} operations, loops unrolled"),
                "let the taskflow loop, or split the task",
            ),
            Self::WrittenTwice { param } => (format!("`{param}` is written twice"), "write each tile once"),
            Self::WrittenByRef { param } => {
                (format!("`{param}` is written here and taken by `&`"), "take it by `&mut`")
            }
            Self::ReadByMut { param } => {
                (format!("`{param}` is read here and taken by `&mut`"), "take what is read by `&`: `&mut` writes")
            }
            Self::WritesNothing { task } => {
                (format!("`{task}` writes nothing"), "take a tile by `&mut` and store to it")
            }
        };
        (problem, help.into())
    }
}

fn operands(operation: &str, given: &[OperandKind]) -> (String, String) {
    let known: Vec<&[OperandKind]> = ops::named(operation).map(|operation| operation.operands).collect();
    let takes: Vec<String> = known.iter().map(|kinds| list(kinds)).collect();
    let tile = known.iter().any(|kinds| kinds.contains(&OperandKind::Tile)) || given.contains(&OperandKind::Tile);
    let help = if tile {
        "a tile becomes a value by `load()`, a value becomes a tile by `store(..)`"
    } else {
        "numbers are f32 literals and constants, values come from tiles by `load()`"
    };
    (format!("`{operation}` takes {}, and here are {}", takes.join(", or "), list(given)), help.into())
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
