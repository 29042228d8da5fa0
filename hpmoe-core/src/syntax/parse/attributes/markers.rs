//! Reads the attributes of the language: the role that each gives a function.

use super::arguments::read;
use crate::finding::{Errors, Finding, SyntaxFault};
use hpmoe_expansion::markers::{TASKFLOW, marker};
use hpmoe_kernels::op::TaskKind;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Meta, Token, parse_quote};

/// The role that an attribute gives a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Marker {
    Task(TaskKind),
    Flow,
}

impl Marker {
    /// The marker that an attribute is, if it is one of the language.
    pub(crate) fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match marker(attribute)? {
            "aic_task" => Some(Self::Task(TaskKind::Matrix)),
            "aiv_task" => Some(Self::Task(TaskKind::Vector)),
            "comm_put" => Some(Self::Task(TaskKind::Put)),
            TASKFLOW => Some(Self::Flow),
            other => unreachable!("`{other}` is listed as a marker, but has no meaning here"),
        }
    }

    /// The `#[cfg_attr(..)]` of a function that names a marker. Only rustc knows whether the function then has that marker.
    pub(crate) fn conditional(attributes: &[Attribute]) -> Option<&Attribute> {
        attributes.iter().find(|attribute| {
            let of_marker = |meta: Meta| marker(&parse_quote!(#[#meta])).is_some();
            let read = || attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok();
            attribute.path().is_ident("cfg_attr") && read().is_some_and(|all| all.into_iter().skip(1).any(of_marker))
        })
    }

    /// The marker among a function's attributes. Refuses second markers, and arguments of markers that take none.
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Errors) -> Option<Self> {
        let mut first = None;
        for (attribute, marker) in
            attributes.iter().filter_map(|attribute| Some((attribute, Self::from_attribute(attribute)?)))
        {
            match marker {
                // The reader of the task reads the arguments, too.
                Self::Task(TaskKind::Matrix | TaskKind::Vector) => {}
                Self::Task(TaskKind::Put) | Self::Flow => {
                    read(attribute, &[], errors);
                }
            }
            if first.is_some() {
                errors.push(attribute.span(), Finding::Syntax(SyntaxFault::SecondMarker));
            }
            first.get_or_insert(marker);
        }
        first
    }
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
        assert_eq!(faults("#[taskflow()] #[inline(always)]"), [""; 0]);
        assert_eq!(faults("#[taskflow(4)]"), ["`#[taskflow]` takes no arguments"]);
        assert_eq!(faults("#[comm_put = 4]"), ["`#[comm_put]` takes no arguments"]);
        assert_eq!(faults("#[comm_put(rows = 4, cols)]").len(), 2);
        assert_eq!(faults("#[comm_put(external = \"a.h\")]"), ["`#[comm_put]` takes no arguments"]);
        assert_eq!(faults("#[aic_task] #[aiv_task]"), ["a function has one marker"]);
    }
}
