//! The words of names that nothing declares.

use super::operations;
use super::sentence::Sentence;
use crate::finding::NameKind;

pub(super) fn unknown(kind: NameKind, name: &str, nearest: Option<&str>) -> Sentence {
    let what = match kind {
        NameKind::Constant => "constant",
        NameKind::Task => "task",
        NameKind::Taskflow => "taskflow",
        NameKind::LibraryTask => "task of the library",
        NameKind::LibraryTaskflow => "taskflow of the library",
        NameKind::Tensor => "tensor",
        NameKind::LoopVariable => "loop variable",
        NameKind::Value => "value",
        NameKind::Operation => "operation",
        NameKind::Constructor => "constructor of a tensor",
        NameKind::Loop => "loop over the route",
        NameKind::Accessor => "accessor of tiles",
    };
    let recipe = (kind == NameKind::Operation).then(|| operations::recipe(name)).flatten();
    let help =
        recipe.unwrap_or_else(|| nearest.map_or_else(|| declare(kind), |nearest| format!("did you mean `{nearest}`?")));
    (format!("no {what} is called `{name}`"), help)
}

/// The help for an unknown name of this kind: where to declare it.
fn declare(kind: NameKind) -> String {
    match kind {
        NameKind::Constant => "declare the constant in this kernel module".into(),
        NameKind::Task => "declare the task in this kernel module".into(),
        NameKind::Taskflow => {
            "declare the taskflow in this kernel module, or take it from the library: `use hpmoe_runtime::taskflows::{…}`".into()
        }
        NameKind::LibraryTask => "declare the task in this kernel module, and remove it from the `use`".into(),
        NameKind::LibraryTaskflow => "declare the taskflow in this kernel module, and remove it from the `use`".into(),
        NameKind::Tensor => "name a parameter of the taskflow or a `let` above".into(),
        NameKind::LoopVariable => "name the variable of a loop around this one".into(),
        NameKind::Value => "name a parameter of the task or a `let` above".into(),
        NameKind::Operation => operations::list(),
        NameKind::Constructor => {
            "the constructors are `PerRank::symmetric` and `PerRank::once` (rows that peers put), `ragged` (received rows of \
             this rank), `slots` (a row for each (token, k)), `tokens` and `experts`"
                .into()
        }
        NameKind::Loop => {
            "loop over `experts()`, `experts_of(r)`, `sends::<ROWS>(r, e)`, `sends_once::<ROWS>(r, e)`, \
             `row_tiles::<ROWS>(e)`, `token_blocks::<TOKENS>(r)` or `chunks::<N>()` of the route"
                .into()
        }
        NameKind::Accessor => {
            "rows are selected by `.group(e, m)`, `.rows_of(&s)`, `.gather(&s)`, `.gather(e, m)`, `.scatter(&s)`, `.rows(t)`, \
             `.slots(t)` and `.expert(e)`; `.tile(n)` and `.cols(n)` then select a tile of these rows"
                .into()
        }
    }
}

pub(super) fn missing_constant(name: &str) -> Sentence {
    let meaning = match name {
        "EXPERTS" => "experts of the whole group",
        "TOP_K" => "experts per token",
        _ => "the maximum number of tokens per rank",
    };
    (format!("this kernel module doesn't declare `{name}`"), format!("add `pub const {name}: usize = …;` ({meaning})"))
}
