//! Reads the attributes of the language, including bare markers: one table, one reader, faults of one kind.

use super::external;
use crate::finding::{Errors, Finding, SyntaxFault};
use hpmoe_expansion::markers::{TASKFLOW, marker};
use hpmoe_kernels::op::TaskKind;
use proc_macro2::{Span, TokenStream};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Meta, Token};

/// The role that an attribute gives a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Marker {
    Task(TaskKind),
    Flow,
}

impl Marker {
    /// The marker that an attribute is, if it is one of the language.
    pub(super) fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match marker(attribute)? {
            "aic_task" => Some(Self::Task(TaskKind::Matrix)),
            "aiv_task" => Some(Self::Task(TaskKind::Vector)),
            "comm_put" => Some(Self::Task(TaskKind::Put)),
            TASKFLOW => Some(Self::Flow),
            other => unreachable!("`{other}` is a marker without a meaning"),
        }
    }

    /// The marker among a function's attributes; refuses second markers, and arguments where a marker takes none.
    pub(super) fn read(attributes: &[Attribute], errors: &mut Errors) -> Option<Self> {
        let mut first = None;
        for (attribute, marker) in
            attributes.iter().filter_map(|attribute| Some((attribute, Self::from_attribute(attribute)?)))
        {
            let name = attribute.path().segments.last()?.ident.to_string();
            let known = match marker {
                Self::Task(kind) => external::arguments(kind),
                Self::Flow => &[],
            };
            match &attribute.meta {
                Meta::Path(_) => {}
                // Who reads the task reads the arguments, too.
                Meta::List(_) if !known.is_empty() => {}
                Meta::List(list) => refuse_arguments(&name, list.tokens.clone(), attribute.span(), errors),
                Meta::NameValue(_) => refuse_argument(&name, None, known, attribute.span(), errors),
            }
            if first.is_some() {
                errors.push(attribute.span(), Finding::Syntax(SyntaxFault::SecondMarker));
            }
            first.get_or_insert(marker);
        }
        first
    }
}

/// Refuses the arguments of an attribute that takes none; `at` is the place of arguments without a name.
fn refuse_arguments(attribute: &str, arguments: TokenStream, at: Span, errors: &mut Errors) {
    if arguments.is_empty() {
        return;
    }
    let Ok(named) = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(arguments) else {
        return refuse_argument(attribute, None, &[], at, errors);
    };
    for argument in named {
        let name = argument.path().get_ident().map(ToString::to_string);
        refuse_argument(attribute, name, &[], argument.span(), errors);
    }
}

/// Refuses an argument of an attribute that takes the `known` ones.
pub(super) fn refuse_argument(
    attribute: &str,
    argument: Option<String>,
    known: &'static [&'static str],
    at: Span,
    errors: &mut Errors,
) {
    let attribute = attribute.to_owned();
    errors.push(at, Finding::Syntax(SyntaxFault::AttributeArgument { attribute, argument, known }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(attributes: &str) -> Vec<String> {
        let function: syn::ItemFn = syn::parse_str(&format!("{attributes} fn f() {{}}")).unwrap();
        let mut errors = Errors::default();
        Marker::read(&function.attrs, &mut errors);
        errors.checkpoint().err().unwrap_or_default().iter().map(|fault| fault.words().message).collect()
    }

    #[test]
    fn markers_are_bare_and_one_of_a_function() {
        assert_eq!(faults("#[inline] #[hpmoe::aic_task]"), [""; 0]);
        assert_eq!(faults("#[taskflow(4)]"), ["`#[taskflow]` takes no arguments"]);
        assert_eq!(faults("#[comm_put = 4]"), ["`#[comm_put]` takes no arguments"]);
        assert_eq!(faults("#[comm_put(rows = 4, cols)]").len(), 2);
        assert_eq!(faults("#[aic_task = 4]"), ["arguments of `#[aic_task]` have names"]);
        assert_eq!(faults("#[aic_task] #[aiv_task]"), ["a function has one marker"]);
    }
}
