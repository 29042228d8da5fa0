//! The words of [`ExternalFault`].

use super::sentence::Sentence;
use crate::finding::ExternalFault;

impl ExternalFault {
    pub(super) fn words(&self) -> Sentence {
        match self {
            Self::Form { form } => ("this argument has the wrong form".into(), format!("write `{form}`")),
            Self::NoFile { attribute, argument } => (
                format!("`{argument}` describes an external operator, but this task names none"),
                format!("write `#[{attribute}(external = \"ops/name.h\", {argument} …)]`, or `#[{attribute}]`"),
            ),
            Self::Twice { argument } => (format!("`{argument}` is given twice"), "leave one out".into()),
            Self::Path { path } => (
                format!("`{path}` is not a path of a C++ file below the package"),
                "give the path relative to the folder of Cargo.toml, with `/` between folders: `external = \"ops/name.h\"`"
                    .into(),
            ),
            Self::Function { name } => (
                format!("`{name}` is not a C++ name"),
                "name the function, with its namespace: `function = \"ops::gemm\"`".into(),
            ),
            Self::NotPositive { argument, value } => (
                format!("`{argument}` is {value}, but must be more than zero"),
                match *argument {
                    "tolerance" => "leave `tolerance` out if the operator returns the same bits as the body".into(),
                    _ => format!("leave `{argument}` out: the estimate for the task's body then counts"),
                },
            ),
        }
    }
}
