//! The words of [`HelperFault`].

use super::sentence::{Sentence, counted};
use crate::finding::HelperFault;

impl HelperFault {
    pub(super) fn words(&self) -> Sentence {
        match self {
            Self::Unknown { name, nearest } => {
                let declare = || {
                    format!(
                        "declare `fn {name}<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> {{ … }}` in this kernel \
                         module, or write out the operations"
                    )
                };
                let help = nearest.as_ref().map_or_else(declare, |nearest| format!("did you mean `{nearest}`?"));
                (format!("no function of this kernel module is called `{name}`"), help)
            }
            Self::Task { name } => (
                format!("`{name}` is a task, which only taskflows can call"),
                "move the shared computation to a function without a marker that takes and returns values".into(),
            ),
            Self::Recursive { name } => (
                format!("`{name}` calls itself, or another function that does"),
                "calls are inlined: write repeated operations as a loop".into(),
            ),
            Self::Arity { name, expected, given } => {
                let [expected, given] = [expected, given].map(|&count| counted(count, "argument"));
                (format!("`{name}` takes {expected}, but {given} are passed"), "pass one for each parameter".into())
            }
            Self::Sizes { name, expected, given } => {
                let [expected, given] = [expected, given].map(|&count| counted(count, "const argument"));
                (
                    format!("`{name}` has {expected}, but the call writes {given}"),
                    format!("write all of them, or just `{name}(…)`: they are then inferred from the values"),
                )
            }
            Self::NotInferred { name, size } => (
                format!("no argument of `{name}` has the size `{size}`"),
                format!("write the const arguments: `{name}::<…>(…)`"),
            ),
            Self::Results { results, names } => {
                let [results, names] =
                    [(*results, "result"), (*names, "name")].map(|(count, what)| counted(count, what));
                (format!("this `let` has {names} for {results}"), "write a name for each result, or `_`".into())
            }
            Self::Several { name, results } => (
                format!("`{name}` returns {results} results, but they are used as one value here"),
                format!("name them first: `let (a, b) = {name}(…);`"),
            ),
            Self::TakesValue { name, param, tile: true } => (
                format!("`{name}` takes a value for `{param}`, but this is a tile"),
                "load it first: `tile.load()`".into(),
            ),
            Self::TakesValue { name, param, tile: false } => (
                format!("`{name}` takes a value for `{param}`, but this is a number"),
                format!("declare `{param}: f32`"),
            ),
            Self::TakesNumber { name, param } => (
                format!("`{name}` takes a number for `{param}`, but this is not a number known at build time"),
                format!("declare `{param}: &Value<ROWS, COLS>`"),
            ),
            Self::Size { name, param, stated: [rows, cols], given: [given_rows, given_cols] } => (
                format!("`{param}` of `{name}` is a value of {rows}x{cols}, but this one is {given_rows}x{given_cols}"),
                format!(
                    "let `{name}` take any size: `fn {name}<const R: usize, const C: usize>({param}: &Value<R, C>, …)`"
                ),
            ),
            Self::ReturnedSize { name, stated: [rows, cols], made: [made_rows, made_cols] } => (
                format!(
                    "`{name}` returns a value of {rows}x{cols}, but its last expression makes one of {made_rows}x{made_cols}"
                ),
                "return the size of the last expression: `Value<R, C>` for a whole value, `Value<R, 1>` for one column"
                    .into(),
            ),
            Self::ReturnedKind { name, number: true } => (
                format!("`{name}` returns a value, but its last expression makes a number"),
                "return `f32`, or a value".into(),
            ),
            Self::ReturnedKind { name, number: false } => (
                format!("`{name}` returns a number, but its last expression makes a value"),
                "return `Value<ROWS, COLS>`".into(),
            ),
            Self::Reference { name, param, by_reference: true } => (
                format!("`{name}` takes `{param}` by reference, but is given a value"),
                "write `&` before the argument".into(),
            ),
            Self::Reference { name, param, by_reference: false } => (
                format!("`{name}` takes the value `{param}`, but is given a reference"),
                format!("leave out `&`, or declare `{param}: &Value<ROWS, COLS>`"),
            ),
        }
    }
}
