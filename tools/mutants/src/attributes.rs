//! The attributes of an item: whether it exists only for tests.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, MetaNameValue, Token};

pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && attribute.parse_args::<Meta>().is_ok_and(|when| only_in_tests(&when))
    })
}

/// Whether a condition holds only in tests, of this package or of packages that use its test code.
fn only_in_tests(when: &Meta) -> bool {
    let parts = |list: &syn::MetaList| {
        list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap_or_default().into_iter()
    };
    match when {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("any") => parts(list).all(|part| only_in_tests(&part)),
        Meta::List(list) if list.path.is_ident("all") => parts(list).any(|part| only_in_tests(&part)),
        Meta::List(_) => false,
        Meta::NameValue(MetaNameValue { path, value: Expr::Lit(ExprLit { lit: Lit::Str(value), .. }), .. }) => {
            path.is_ident("feature") && value.value() == "fixture"
        }
        Meta::NameValue(_) => false,
    }
}
