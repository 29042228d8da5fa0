//! The readers: from tokens to the tree of [`ast`](super::ast).

mod arguments;
mod attributes;
mod body;
mod flow;
mod forms;
mod kernel;
mod library;
mod parts;
mod statements;
mod task;

pub(crate) use attributes::{Marker, refuse_arguments};
pub(crate) use kernel::parse;
pub(crate) use library::is_use as is_library_use;
pub(crate) use library::{runtime, with_tasks};
