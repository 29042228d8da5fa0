//! The names in tokens, and the names that taskflows depend on.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use std::collections::{HashMap, HashSet};
use syn::{Item, ItemMod};

/// Appends all names in tokens.
pub(crate) fn all_names(tokens: TokenStream, names: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => names.push(name.to_string()),
            TokenTree::Group(group) => all_names(group.stream(), names),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// For each taskflow, the names in it and in the functions and constants that these names refer to, directly or not. The values of other
/// constants don't change the taskflow's graph.
pub(crate) fn names_of<'a>(module: &ItemMod, taskflows: impl Iterator<Item = &'a str>) -> Vec<HashSet<String>> {
    let (mut by_item, mut of_others) = (HashMap::<String, Vec<String>>::new(), Vec::new());
    for item in module.content.iter().flat_map(|(_, items)| items) {
        let names = match item {
            Item::Fn(function) => by_item.entry(function.sig.ident.to_string()).or_default(),
            Item::Const(constant) => by_item.entry(constant.ident.to_string()).or_default(),
            _ => &mut of_others,
        };
        all_names(item.to_token_stream(), names);
    }
    let names_of_one = |taskflow| {
        let mut next: Vec<&str> = of_others.iter().map(String::as_str).chain([taskflow]).collect();
        let mut names = HashSet::new();
        while let Some(name) = next.pop() {
            if names.insert(name.to_owned()) {
                next.extend(by_item.get(name).into_iter().flatten().map(String::as_str));
            }
        }
        names
    };
    taskflows.map(names_of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::modules;
    use crate::syntax::with_library;

    #[test]
    fn a_taskflow_depends_on_what_its_tasks_and_constants_name() {
        let source = include_str!("../../../examples/moe_backward.rs");
        let module = with_library(&modules(source).unwrap()[0]);
        let names = names_of(&module, ["forward", "backward_recomputing", "backward"].into_iter());
        let all = ["TILE_M", "TILE_N", "GRAD_M", "GRAD_N", "PUT", "BLOCK", "COLUMNS"];
        let sizes = |flow: usize| all.into_iter().filter(|size| names[flow].contains(*size)).collect::<Vec<_>>();
        assert_eq!(sizes(0), ["TILE_M", "TILE_N", "PUT", "BLOCK", "COLUMNS"]);
        assert_eq!(sizes(1), all);
        assert!(names[2].contains("PUT_NUMBERS"));
    }
}
