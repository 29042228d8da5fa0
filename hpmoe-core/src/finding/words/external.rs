//! The words of [`ExternalFault`].

use super::sentence::Sentence;
use crate::finding::ExternalFault;

impl ExternalFault {
    pub(super) fn words(&self) -> Sentence {
        match self {
            Self::Form { form } => ("this argument has another form".into(), format!("write `{form}`")),
            Self::NoFile { attribute, argument } => (
                format!("`{argument}` says something of an external operator, but none is named"),
                format!("write `#[{attribute}(external = \"ops/name.h\", {argument} …)]`, or `#[{attribute}]`"),
            ),
            Self::Twice { argument } => (format!("`{argument}` stands here twice"), "leave one of them out".into()),
            Self::Path { path } => (
                format!("`{path}` is not a path of a C++ file below the package"),
                "name the file from the folder of Cargo.toml on, with `/` between folders: `external = \"ops/name.h\"`"
                    .into(),
            ),
            Self::Function { name } => (
                format!("`{name}` is not a name of C++"),
                "name the function, with its namespace: `function = \"ops::gemm\"`".into(),
            ),
            Self::NotPositive { argument, value } => (
                format!("`{argument}` is {value}, but must be more than zero"),
                match *argument {
                    "tolerance" => "leave `tolerance` out if the operator gives the bits of the body".into(),
                    _ => format!("leave `{argument}` out, and the operator counts as the body would"),
                },
            ),
        }
    }
}
