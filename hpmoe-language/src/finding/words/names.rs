//! The words of names that nothing declares.

use super::Sentence;
use crate::finding::NameKind;
use hpmoe_kernels::ops;

pub(super) fn unknown(kind: NameKind, name: &str, nearest: Option<&str>) -> Sentence {
    let what = match kind {
        NameKind::Constant => "constant",
        NameKind::Task => "task",
        NameKind::LibraryTask => "task of the library",
        NameKind::Tensor => "tensor",
        NameKind::LoopVariable => "loop variable",
        NameKind::Value => "value",
        NameKind::Operation => "operation",
    };
    let help = nearest.map_or_else(|| declare(kind), |nearest| format!("did you mean `{nearest}`?"));
    (format!("no {what} is called `{name}`"), help)
}

/// Where such a name would be declared.
fn declare(kind: NameKind) -> String {
    match kind {
        NameKind::Constant => "declare the constant in this kernel module".into(),
        NameKind::Task => "declare the task in this kernel module".into(),
        NameKind::LibraryTask => "declare the task in this kernel module, and remove it from the `use`".into(),
        NameKind::Tensor => "name a parameter of the taskflow or a `let` above".into(),
        NameKind::LoopVariable => "name the variable of a loop around this one".into(),
        NameKind::Value => "name a parameter of the task or a `let` above".into(),
        NameKind::Operation => {
            let mut names: Vec<String> = ops::TABLE.iter().map(|operation| format!("`{}`", operation.name())).collect();
            names.dedup();
            format!("the operations are {}", names.join(", "))
        }
    }
}

pub(super) fn missing_constant(name: &str) -> Sentence {
    let meaning = match name {
        "EXPERTS" => "experts of the whole group",
        "TOP_K" => "experts per token",
        _ => "the most tokens that one rank may bring",
    };
    (format!("this kernel module doesn't declare `{name}`"), format!("add `pub const {name}: usize = …;` ({meaning})"))
}
