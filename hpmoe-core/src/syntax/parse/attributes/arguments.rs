//! Arguments of the language's attributes, by name.
//!
//! An argument of the wrong form is still read, as a [`Given`] without a value, so that its fault gets a message and code of hpmoe.

use crate::finding::{Errors, Finding, SyntaxFault};
use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, MetaNameValue, Token};

/// The arguments of an attribute that have not been taken yet.
pub(super) struct Arguments(Vec<Meta>);

impl Arguments {
    /// Takes out all arguments with this name, in their order.
    pub(super) fn take<V: Value>(&mut self, name: &str) -> Vec<Given<V>> {
        let is_named = |argument: &Meta| argument.path().is_ident(name);
        let (taken, left): (Vec<Meta>, Vec<Meta>) = std::mem::take(&mut self.0).into_iter().partition(is_named);
        self.0 = left;
        taken.iter().map(Given::new).collect()
    }
}

/// An argument and its place. An argument in a wrong form has no value.
pub(super) struct Given<V> {
    pub(super) at: Span,
    /// The value and its place.
    pub(super) value: Option<(V, Span)>,
}

impl<V: Value> Given<V> {
    fn new(argument: &Meta) -> Self {
        let place = match argument {
            Meta::NameValue(pair) => pair.value.span(),
            Meta::Path(_) | Meta::List(_) => argument.span(),
        };
        Self { at: argument.span(), value: V::from_argument(argument).map(|value| (value, place)) }
    }
}

/// A value that an argument can have.
pub(super) trait Value: Sized {
    /// The value of an argument, if the argument has the form for it.
    fn from_argument(argument: &Meta) -> Option<Self>;
}

/// A plain name: `device_only`.
impl Value for () {
    fn from_argument(argument: &Meta) -> Option<Self> {
        matches!(argument, Meta::Path(_)).then_some(())
    }
}

/// A text: `function = "name"`.
impl Value for String {
    fn from_argument(argument: &Meta) -> Option<Self> {
        match argument {
            Meta::NameValue(MetaNameValue { value: Expr::Lit(ExprLit { lit: Lit::Str(text), .. }), .. }) => {
                Some(text.value())
            }
            _ => None,
        }
    }
}

/// An expression, which the kernel's constants give a value: `ub = 4 * COLS`.
impl Value for Expr {
    fn from_argument(argument: &Meta) -> Option<Self> {
        match argument {
            Meta::NameValue(pair) => Some(pair.value.clone()),
            Meta::Path(_) | Meta::List(_) => None,
        }
    }
}

/// Reads the arguments of an attribute whose names are in `known`; all others are faults. If arguments have no names (`#[aiv_task(4)]`),
/// reads none.
pub(super) fn read(attribute: &Attribute, known: &'static [&'static str], errors: &mut Errors) -> Option<Arguments> {
    let mut refuse = |argument, at| {
        let name = attribute.path().segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        errors.push(at, Finding::Syntax(SyntaxFault::AttributeArgument { attribute: name, argument, known }));
    };
    let given = match &attribute.meta {
        Meta::Path(_) => Some(Punctuated::new()),
        Meta::List(list) => list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok(),
        Meta::NameValue(_) => None,
    };
    let Some(given) = given else {
        refuse(None, attribute.span());
        return None;
    };
    let is_known = |argument: &Meta| known.iter().any(|name| argument.path().is_ident(name));
    let (taken, others): (Vec<Meta>, Vec<Meta>) = given.into_iter().partition(is_known);
    for other in others {
        refuse(other.path().get_ident().map(ToString::to_string), other.span());
    }
    Some(Arguments(taken))
}
