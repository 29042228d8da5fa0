//! The words of [`BodyFault`].

use super::operations;
use super::sentence::{Sentence, counted};
use crate::finding::BodyFault;

impl BodyFault {
    pub(super) fn words(&self) -> Sentence {
        let (problem, help) = match self {
            Self::Operands { operation, given } => return operations::operands(operation, given),
            Self::ElementType { operation, given } => {
                let help = format!("write `{operation}::<bf16>()`, `{operation}::<f16>()` or `{operation}::<f32>()`");
                let problem = match given {
                    Some(name) => format!("`{name}` is not an element type of values"),
                    None => format!("`{operation}` needs an element type"),
                };
                return (problem, help);
            }
            Self::NoResult { operation, user } => (
                format!("`{operation}` has no result, but `{user}` needs one here"),
                "write it as a separate statement",
            ),
            Self::Moved { name } => {
                let help = format!("borrow it earlier: write `&{name}` in the place that moved it");
                return (format!("`{name}` is used after it was moved: values are not copied"), help);
            }
            Self::ReferenceToReference { name } => {
                return (
                    format!("`{name}` is already a reference, so `&{name}` is a reference to a reference"),
                    format!("write `{name}`"),
                );
            }
            Self::ReferenceToNumber { number } => {
                let problem = format!("`&{number}` is a reference to a number, but operations take numbers themselves");
                return (problem, format!("write `{number}`"));
            }
            Self::ColumnsNotInferred { operation } => {
                let problem = format!("rustc can't infer how many columns `{operation}` makes here");
                return (problem, format!("write the number: `{operation}::<COLUMNS>(..)`"));
            }
            Self::Columns { operation, sizes, stated, made, library } => {
                let named = sizes.iter().zip(stated).filter(|(size, stated)| **size != stated.to_string());
                let named: Vec<String> = named.map(|(size, stated)| format!("`{size}` is {stated}")).collect();
                let values = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
                let sizes = sizes.join(", ");
                let problem = format!(
                    "`{operation}::<{sizes}>` states a different size than the {made} columns that it makes here{values}"
                );
                let help = match library {
                    true => format!("pass tensors whose sizes make `{sizes}` {made}"),
                    false => format!("write `{operation}::<{made}>(..)`, or leave the size out"),
                };
                return (problem, help);
            }
            Self::SizeInParentheses { operation, size } => {
                let problem =
                    format!("`{operation}` takes its sizes as const arguments, but `{size}` is passed as a value");
                return (problem, format!("write `{operation}::<{size}>(..)`"));
            }
            Self::Iterations { task, most } => (
                format!("the loops of `{task}` have more than {most} iterations"),
                "move the loop into the taskflow, or split the task",
            ),
            Self::Operations { task, most } => (
                format!("with its loops unrolled, `{task}` has more than {most} operations"),
                "move the loop into the taskflow, or split the task",
            ),
            Self::Assigned { name } => (
                format!(
                    "`{name}` can't be assigned this: tiles can't be assigned, a value can be assigned only a value, and a number only a number"
                ),
                "write `tile.store(value)` for a tile, and otherwise a `let` with another name",
            ),
            Self::Resized { name, before, after } => {
                let sizes = format!("{}x{}, but this one is {}x{}", before.rows, before.cols, after.rows, after.cols);
                (format!("`{name}` is a value of {sizes}"), "a name keeps its size: write a `let` with another name")
            }
            Self::Open { operation } => (
                format!(
                    "a broadcast value takes its size from the value that it is combined with, but `{operation}` has no other value"
                ),
                "apply it before the broadcast, or combine the broadcast value with another value first",
            ),
            Self::NotByRows { operation, task, rows, tile } => (
                format!(
                    "before and after `{operation}`, a value's number of rows must be a multiple of {tile}, the rows of the smallest tile \
                     of `{task}`, but one here has {}",
                    counted(*rows, "row")
                ),
                "split each row of a tile into several, or join them into one again",
            ),
            Self::AfterProduct { operation } => (
                format!(
                    "on a matrix core, the store computes `relu`, so it must be the last operation before the store, but `{operation}` uses its result"
                ),
                "write `tile.store(x.matmul_t(w).relu())`, or store the sum and compute the rest in an #[aiv_task]",
            ),
            Self::WholeProduct { param, element } => (
                format!(
                    "matrix cores store products of floating-point tiles as bf16, f16 or f32, but `{param}` is a tile of {element}"
                ),
                "declare the tile as f32, and store whole numbers in an #[aiv_task]; products of i8 tiles are stored as i32",
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
