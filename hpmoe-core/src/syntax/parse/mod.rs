//! The readers: from tokens to the tree of [`ast`](super::ast).

mod arguments;
mod attributes;
mod body;
mod columns;
mod const_arguments;
mod flow;
mod forms;
mod helpers;
mod kernel;
mod known_flows;
mod library;
mod moves;
mod parts;
mod reader;
mod refused;
mod route;
mod statements;
mod task;

pub(crate) use columns::columns;
pub(crate) use kernel::parse;
pub(crate) use library::{library_functions, with_library};
pub(crate) use moves::moves;

#[cfg(test)]
mod tests {
    use super::{arguments, statements};

    #[test]
    fn users_find_every_form_in_the_reference() {
        let text = include_str!("../../../../docs/taskflow.md");
        let constructors = statements::CONSTRUCTORS.map(|(name, _)| format!("`{name}"));
        let loops = statements::LOOPS.map(|(name, _)| format!("route.{name}"));
        let accessors = arguments::ACCESSORS.map(|(name, _)| format!(".{name}("));
        for form in constructors.iter().chain(&loops).chain(&accessors) {
            assert!(text.contains(form.as_str()), "docs/taskflow.md has no {form}");
        }
    }
}
