//! What each attribute of the language takes between its parentheses, as structs that darling reads.
//!
//! An argument that is wrong is read all the same, as [`Given`] or among the [`Others`], so that its fault has our words and its code.
//! What darling itself refuses are attributes without names in them: `#[aiv_task(4)]`.

use crate::finding::{Errors, Finding, SyntaxFault};
use darling::ast::NestedMeta;
use darling::{Error, FromMeta};
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, Meta};

/// What an attribute can take: a struct of its arguments, and their names.
pub(super) trait Arguments: FromMeta {
    const NAMES: &'static [&'static str];

    /// The arguments that it does not take.
    fn others(&self) -> &Others;
}

/// The arguments of `#[aic_task]`.
#[derive(Default, FromMeta)]
#[darling(default, from_word = || Ok(Self::default()))]
pub(super) struct MatrixTask {
    #[darling(multiple)]
    pub(super) l1: Vec<Given<Number>>,
    #[darling(multiple)]
    pub(super) l0a: Vec<Given<Number>>,
    #[darling(multiple)]
    pub(super) l0b: Vec<Given<Number>>,
    #[darling(multiple)]
    pub(super) l0c: Vec<Given<Number>>,
    #[darling(flatten)]
    pub(super) operator: Operator,
}

/// The arguments of `#[aiv_task]`.
#[derive(Default, FromMeta)]
#[darling(default, from_word = || Ok(Self::default()))]
pub(super) struct VectorTask {
    #[darling(multiple)]
    pub(super) ub: Vec<Given<Number>>,
    #[darling(flatten)]
    pub(super) operator: Operator,
}

/// What the attributes of matrix and vector tasks say of an external operator.
#[derive(Default, FromMeta)]
#[darling(default)]
pub(super) struct Operator {
    #[darling(multiple)]
    pub(super) external: Vec<Given<String>>,
    #[darling(multiple)]
    pub(super) function: Vec<Given<String>>,
    #[darling(multiple)]
    pub(super) device_only: Vec<Given<()>>,
    #[darling(multiple)]
    pub(super) tolerance: Vec<Given<Number>>,
    #[darling(multiple)]
    pub(super) microseconds: Vec<Given<Number>>,
    #[darling(flatten)]
    others: Others,
}

/// The arguments of `#[comm_put]` and of `#[taskflow]`: none.
#[derive(Default, FromMeta)]
#[darling(default, from_word = || Ok(Self::default()))]
pub(super) struct Bare {
    #[darling(flatten)]
    others: Others,
}

impl Arguments for MatrixTask {
    const NAMES: &'static [&'static str] =
        &["external", "function", "device_only", "tolerance", "microseconds", "l1", "l0a", "l0b", "l0c"];

    fn others(&self) -> &Others {
        &self.operator.others
    }
}

impl Arguments for VectorTask {
    const NAMES: &'static [&'static str] = &["external", "function", "device_only", "tolerance", "microseconds", "ub"];

    fn others(&self) -> &Others {
        &self.operator.others
    }
}

impl Arguments for Bare {
    const NAMES: &'static [&'static str] = &[];

    fn others(&self) -> &Others {
        &self.others
    }
}

/// An argument where it stands; one of another form than its own has no value.
pub(super) struct Given<V> {
    pub(super) at: Span,
    /// The value, and where it stands.
    pub(super) value: Option<(V, Span)>,
}

impl<V: FromMeta> FromMeta for Given<V> {
    fn from_meta(argument: &Meta) -> darling::Result<Self> {
        let place = match argument {
            Meta::NameValue(pair) => pair.value.span(),
            Meta::Path(_) | Meta::List(_) => argument.span(),
        };
        let value = V::from_meta(argument).ok().map(|value| (value, place));
        Ok(Self { at: argument.span(), value })
    }
}

/// A number that the kernel's constants give: an expression, of which text is none.
pub(super) struct Number(pub(super) Expr);

impl FromMeta for Number {
    fn from_expr(number: &Expr) -> darling::Result<Self> {
        Ok(Self(number.clone()))
    }
}

/// Arguments with names that the attribute does not have.
#[derive(Default)]
pub(super) struct Others(Vec<Meta>);

impl FromMeta for Others {
    fn from_list(arguments: &[NestedMeta]) -> darling::Result<Self> {
        let named = arguments.iter().map(|argument| match argument {
            NestedMeta::Meta(named) => Ok(named.clone()),
            NestedMeta::Lit(_) | NestedMeta::NameValueInvalidExpr(_) => Err(Error::unsupported_format("literal")),
        });
        Ok(Self(named.collect::<Result<_, _>>()?))
    }
}

/// Reads what an attribute says; arguments that it does not take are faults, and without names nothing is read.
pub(super) fn read<A: Arguments>(attribute: &Attribute, errors: &mut Errors) -> Option<A> {
    let mut refuse = |argument, at| {
        let name = attribute.path().segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let fault = SyntaxFault::AttributeArgument { attribute: name, argument, known: A::NAMES };
        errors.push(at, Finding::Syntax(fault));
    };
    let Ok(arguments) = A::from_meta(&attribute.meta) else {
        refuse(None, attribute.span());
        return None;
    };
    for other in &arguments.others().0 {
        refuse(other.path().get_ident().map(ToString::to_string), other.span());
    }
    Some(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `#[attribute(name)]` for each name that `A` says it has, and then one that it has not.
    fn names_are_those_of_the_fields<A: Arguments>(attribute: &str) {
        for name in A::NAMES {
            let attribute: Attribute = syn::parse_str::<syn::ItemFn>(&format!("#[{attribute}({name})] fn f() {{}}"))
                .map(|function| function.attrs.into_iter().next().unwrap())
                .unwrap();
            assert!(A::from_meta(&attribute.meta).unwrap().others().0.is_empty(), "{name}");
        }
    }

    #[test]
    fn an_attribute_takes_what_it_names() {
        names_are_those_of_the_fields::<MatrixTask>("aic_task");
        names_are_those_of_the_fields::<VectorTask>("aiv_task");
        names_are_those_of_the_fields::<Bare>("comm_put");
        assert_eq!((MatrixTask::NAMES.len(), VectorTask::NAMES.len(), Bare::NAMES.len()), (9, 6, 0));
    }
}
