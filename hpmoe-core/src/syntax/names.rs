//! The names that a taskflow depends on.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use std::collections::HashSet;
use syn::{Item, ItemMod};

/// The names in a taskflow, and in the functions and constants that these names stand for. With any values of other constants, the
/// taskflow has the same graph.
pub(crate) fn names_in(module: &ItemMod, taskflow: &str) -> HashSet<String> {
    let items = module.content.iter().flat_map(|(_, items)| items);
    let (mut names, mut next) = (HashSet::new(), Vec::from([taskflow.to_owned()]));
    let mut named = Vec::new();
    for item in items {
        match item {
            Item::Fn(function) => named.push((function.sig.ident.to_string(), item)),
            Item::Const(constant) => named.push((constant.ident.to_string(), item)),
            _ => collect(item.to_token_stream(), &mut next),
        }
    }
    while let Some(name) = next.pop() {
        for (_, item) in named.iter().filter(|(other, _)| *other == name) {
            if !names.contains(&name) {
                collect(item.to_token_stream(), &mut next);
            }
        }
        names.insert(name);
    }
    names
}

fn collect(tokens: TokenStream, names: &mut Vec<String>) {
    for tree in tokens {
        match tree {
            TokenTree::Ident(name) => names.push(name.to_string()),
            TokenTree::Group(group) => collect(group.stream(), names),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::modules;
    use crate::syntax::TILE_SIZES;

    #[test]
    fn a_taskflow_depends_on_what_its_tasks_and_constants_name() {
        let source = include_str!("../../../examples/moe_backward.rs");
        let module = crate::syntax::with_library(&modules(source).unwrap()[0]);
        let sizes = |taskflow| {
            let names = names_in(&module, taskflow);
            TILE_SIZES.into_iter().filter(|size| names.contains(*size)).collect::<Vec<_>>()
        };
        assert_eq!(sizes("forward"), ["TILE_M", "TILE_N", "PUT", "BLOCK", "COLUMNS"]);
        assert_eq!(sizes("backward_recomputing"), TILE_SIZES);
        // By name only; and through PUT_NUMBERS, SLOTS and PARTS.
        assert!(names_in(&module, "backward").contains("PUT_NUMBERS"));
    }
}
