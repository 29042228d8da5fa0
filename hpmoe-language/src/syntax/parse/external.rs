//! Reads the arguments of task attributes: an external operator and what it declares.

use super::attributes::{Marker, refuse_argument};
use crate::finding::{Errors, ExternalFault, Finding};
use crate::memory::OnChipMemory;
use crate::syntax::ast::ExternalFn;
use hpmoe_kernels::op::TaskKind;
use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, Lit, Meta, Token};

/// The arguments of `#[aic_task]` and of `#[aiv_task]`; a put has none.
const MATRIX: &[&str] =
    &["external", "function", "device_only", "tolerance", "microseconds", "l1", "l0a", "l0b", "l0c"];
const VECTOR: &[&str] = &["external", "function", "device_only", "tolerance", "microseconds", "ub"];

/// The arguments that the attribute of a task takes.
pub(super) const fn arguments(kind: TaskKind) -> &'static [&'static str] {
    match kind {
        TaskKind::Matrix => MATRIX,
        TaskKind::Vector => VECTOR,
        TaskKind::Put => &[],
    }
}

/// The external operator that a task's attribute names, if it has arguments.
pub(super) fn external(attributes: &[Attribute], kind: TaskKind, errors: &mut Errors) -> Option<ExternalFn> {
    let of_task = |attribute: &&Attribute| matches!(Marker::from_attribute(attribute), Some(Marker::Task(_)));
    let attribute = attributes.iter().find(of_task)?;
    let Meta::List(list) = &attribute.meta else { return None };
    let name = attribute.path().segments.last()?.ident.to_string();
    let Ok(given) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else {
        refuse_argument(&name, None, arguments(kind), attribute.span(), errors);
        return None;
    };
    let mut read = Arguments { file: None, first: None, errors, external: ExternalFn::default(), seen: Vec::new() };
    for argument in &given {
        read.argument(&name, kind, argument);
    }
    let Arguments { file, first, errors, external, .. } = read;
    match (file, first) {
        (Some(file), _) => Some(ExternalFn { file, ..external }),
        (None, Some((argument, span))) => {
            errors.push(span, Finding::External(ExternalFault::NoFile { attribute: name, argument }));
            None
        }
        (None, None) => None,
    }
}

/// The arguments read so far.
struct Arguments<'a> {
    file: Option<String>,
    /// The first argument that declares something of an operator, and its place.
    first: Option<(String, Span)>,
    external: ExternalFn,
    seen: Vec<String>,
    errors: &'a mut Errors,
}

impl Arguments<'_> {
    fn argument(&mut self, attribute: &str, kind: TaskKind, argument: &Meta) {
        let name = argument.path().get_ident().map(ToString::to_string).unwrap_or_default();
        if !arguments(kind).contains(&name.as_str()) {
            let named = argument.path().get_ident().map(ToString::to_string);
            return refuse_argument(attribute, named, arguments(kind), argument.span(), self.errors);
        }
        if self.seen.contains(&name) {
            return self.refuse(argument.span(), ExternalFault::Twice { argument: name });
        }
        self.seen.push(name.clone());
        if name != "external" {
            self.first.get_or_insert((name.clone(), argument.span()));
        }
        match (name.as_str(), argument) {
            ("device_only", Meta::Path(_)) => self.external.device_only = true,
            ("device_only", _) => self.form(argument, "device_only"),
            ("external", Meta::NameValue(pair)) => match text(&pair.value) {
                Some(file) => {
                    // A faulty name is still a name: that there is none would be another fault.
                    self.file = Some(file.clone());
                    if !is_path(&file) {
                        self.refuse(pair.value.span(), ExternalFault::Path { path: file });
                    }
                }
                None => self.no_file(argument),
            },
            ("external", _) => self.no_file(argument),
            ("function", Meta::NameValue(pair)) => match text(&pair.value) {
                Some(function) if is_cpp_name(&function) => self.external.function = Some(function),
                Some(name) => self.refuse(pair.value.span(), ExternalFault::Function { name }),
                None => self.form(argument, "function = \"name\""),
            },
            ("function", _) => self.form(argument, "function = \"name\""),
            (_, Meta::NameValue(pair)) => self.number(&name, pair.value.clone()),
            (_, _) => self.form(argument, &format!("{name} = 1024")),
        }
    }

    fn number(&mut self, name: &str, value: Expr) {
        let memory = match name {
            "tolerance" => return self.external.tolerance = Some(value),
            "microseconds" => return self.external.microseconds = Some(value),
            "l1" => OnChipMemory::L1,
            "l0a" => OnChipMemory::L0A,
            "l0b" => OnChipMemory::L0B,
            "l0c" => OnChipMemory::L0C,
            _ => OnChipMemory::Ub,
        };
        self.external.memory.push((memory, value));
    }

    fn no_file(&mut self, argument: &Meta) {
        self.file = Some(String::new());
        self.form(argument, "external = \"ops/name.h\"");
    }

    fn form(&mut self, argument: &Meta, form: &str) {
        self.refuse(argument.span(), ExternalFault::Form { form: form.to_owned() });
    }

    fn refuse(&mut self, at: Span, fault: ExternalFault) {
        self.errors.push(at, Finding::External(fault));
    }
}

fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        Expr::Group(group) => text(&group.expr),
        _ => None,
    }
}

/// Whether a text is a path relative to the package that C++ can include.
fn is_path(path: &str) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, '"' | '\\' | '>' | ':');
    !path.is_empty() && !path.starts_with('/') && !path.ends_with('/') && !path.contains(odd)
}

/// Whether a text is a name of C++, in namespaces or not.
fn is_cpp_name(name: &str) -> bool {
    name.split("::").all(|part| {
        part.chars().next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(attribute: &str) -> (Option<ExternalFn>, Vec<String>) {
        let function: syn::ItemFn = syn::parse_str(&format!("{attribute} fn f() {{}}")).unwrap();
        let mut errors = Errors::default();
        let Some(Marker::Task(kind)) = Marker::read(&function.attrs, &mut errors) else { panic!("{attribute}") };
        let external = external(&function.attrs, kind, &mut errors);
        let faults = errors.checkpoint().err().unwrap_or_default();
        (external, faults.iter().map(|fault| fault.words().message).collect())
    }

    #[test]
    fn an_operator_has_a_file_and_what_it_declares() {
        let (external, faults) =
            read("#[aic_task(external = \"ops/a b.h\", device_only, l0c = 1 << 4, function = \"a::b\")]");
        let external = external.unwrap();
        assert_eq!((external.file.as_str(), external.device_only, faults.len()), ("ops/a b.h", true, 0));
        assert_eq!((external.function.as_deref(), external.memory[0].0), (Some("a::b"), OnChipMemory::L0C));
        assert!(read("#[aiv_task]").0.is_none() && read("#[aiv_task()]").0.is_none());
    }

    #[test]
    fn other_arguments_are_refused_by_name() {
        let said = |attribute: &str| read(attribute).1.join("; ");
        assert_eq!(
            said("#[aiv_task(rows = 4, cols)]"),
            "`#[aiv_task]` has no argument `rows`; `#[aiv_task]` has no argument `cols`"
        );
        assert_eq!(said("#[aiv_task(external = \"a.h\", l1 = 4)]"), "`#[aiv_task]` has no argument `l1`");
        assert_eq!(said("#[comm_put(external = \"a.h\")]"), "`#[comm_put]` takes no arguments");
        for (attribute, part) in [
            ("#[aiv_task(device_only)]", "`device_only` says something of an external operator"),
            ("#[aiv_task(external)]", "this argument has another form"),
            ("#[aiv_task(external = 4, ub = 8)]", "this argument has another form"),
            ("#[aiv_task(external = \"/a.h\")]", "`/a.h` is not a path"),
            ("#[aiv_task(external = \"a.h\", function = \"a b\")]", "`a b` is not a name of C++"),
            ("#[aiv_task(external = \"a.h\", external = \"b.h\")]", "`external` stands here twice"),
            ("#[aiv_task(4)]", "arguments of `#[aiv_task]` have names"),
        ] {
            let said = said(attribute);
            assert!(said.contains(part) && !said.contains("; "), "{attribute}: {said}");
        }
    }
}
