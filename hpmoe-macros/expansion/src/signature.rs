//! Parts of a taskflow's signature.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::quote;
use syn::{FnArg, ItemFn, Pat, Type};

/// Names and types of a function's parameters.
pub(crate) fn typed(function: &ItemFn) -> impl Iterator<Item = (&syn::Ident, &Type)> {
    function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(name) => Some((&name.ident, &*typed.ty)),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    })
}

/// Whether the last segment of a type's path is `wanted`.
pub(crate) fn last_is(ty: &Type, wanted: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == wanted))
}

/// The names of constants and statics in the module that the macro adds for a taskflow.
const DECLARED: [&str; 9] =
    ["ASCENDC", "DESCRIPTORS", "FINGERPRINT", "GRAPH", "GRAPH_MERMAID", "KERNEL", "SCHEDULE", "TABLES", "TILE_SIZES"];

/// A type of the taskflow's signature for use in the added module: names that the added module shadows get the prefix `super::`.
pub(crate) fn outside(tokens: TokenStream, in_braces: bool) -> TokenStream {
    let named = |token: TokenTree| match token {
        TokenTree::Ident(name) if DECLARED.iter().any(|declared| name == declared) => {
            if in_braces {
                quote!(super::#name)
            } else {
                quote!({ super::#name })
            }
        }
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), outside(group.stream(), true));
            inner.set_span(group.span());
            TokenTree::Group(inner).into()
        }
        other => other.into(),
    };
    tokens.into_iter().flat_map(named).collect()
}
