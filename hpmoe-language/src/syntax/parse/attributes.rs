//! Reads the attributes of the language, including bare markers: one table, one reader, faults of one kind.

use crate::finding::{Errors, Finding, SyntaxFault};
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

/// The attributes of functions.
const MARKERS: [(&str, Marker); 4] = [
    ("aic_task", Marker::Task(TaskKind::Matrix)),
    ("aiv_task", Marker::Task(TaskKind::Vector)),
    ("comm_put", Marker::Task(TaskKind::Put)),
    ("taskflow", Marker::Flow),
];

/// The arguments that attributes of the language take.
const ARGUMENTS: &[&str] = &[];

impl Marker {
    /// The marker that an attribute is, if it is one of the language.
    pub(crate) fn from_attribute(attribute: &Attribute) -> Option<Self> {
        let name = &attribute.path().segments.last()?.ident;
        MARKERS.iter().find(|(marker, _)| name == marker).map(|(_, marker)| *marker)
    }

    /// The marker among a function's attributes; refuses arguments and second markers.
    pub(super) fn read(attributes: &[Attribute], errors: &mut Errors) -> Option<Self> {
        let mut first = None;
        for (attribute, marker) in
            attributes.iter().filter_map(|attribute| Some((attribute, Self::from_attribute(attribute)?)))
        {
            let name = attribute.path().segments.last()?.ident.to_string();
            match &attribute.meta {
                Meta::Path(_) => {}
                Meta::List(list) => refuse_arguments(&name, list.tokens.clone(), attribute.span(), errors),
                Meta::NameValue(_) => refuse_argument(&name, None, attribute.span(), errors),
            }
            if first.is_some() {
                errors.push(attribute.span(), Finding::Syntax(SyntaxFault::SecondMarker));
            }
            first.get_or_insert(marker);
        }
        first
    }
}

/// Refuses the arguments that an attribute doesn't take; `at` is the place of arguments without a name.
pub(crate) fn refuse_arguments(attribute: &str, arguments: TokenStream, at: Span, errors: &mut Errors) {
    if arguments.is_empty() {
        return;
    }
    let Ok(named) = Punctuated::<Meta, Token![,]>::parse_terminated.parse2(arguments) else {
        return refuse_argument(attribute, None, at, errors);
    };
    for argument in named {
        let name = argument.path().get_ident().map(ToString::to_string);
        if !name.as_deref().is_some_and(|name| ARGUMENTS.contains(&name)) {
            refuse_argument(attribute, name, argument.span(), errors);
        }
    }
}

fn refuse_argument(attribute: &str, argument: Option<String>, at: Span, errors: &mut Errors) {
    let attribute = attribute.to_owned();
    errors.push(at, Finding::Syntax(SyntaxFault::AttributeArgument { attribute, argument, known: ARGUMENTS }));
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
        assert_eq!(faults("#[aic_task(rows = 4, cols)]").len(), 2);
        assert_eq!(faults("#[aic_task] #[aiv_task]"), ["a function has one marker"]);
    }
}
