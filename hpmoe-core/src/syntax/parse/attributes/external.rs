//! Reads the arguments of task attributes: an external operator and what it declares.

use super::arguments::{Arguments, Given, Value, read};
use super::markers::Marker;
use crate::finding::{Errors, ExternalFault, Finding};
use crate::memory::OnChipMemory;
use crate::syntax::ast::ExternalFn;
use hpmoe_kernels::op::TaskKind;
use proc_macro2::Span;
use syn::{Attribute, Expr};

/// The arguments of `#[aic_task]`.
const OF_MATRIX_TASKS: &[&str] =
    &["external", "function", "device_only", "tolerance", "microseconds", "l1", "l0a", "l0b", "l0c"];

/// The arguments of `#[aiv_task]`.
const OF_VECTOR_TASKS: &[&str] = &["external", "function", "device_only", "tolerance", "microseconds", "ub"];

/// The external operator that a task's attribute names, if it names one.
pub(crate) fn external(attributes: &[Attribute], kind: TaskKind, errors: &mut Errors) -> Option<ExternalFn> {
    let of_task = |attribute: &&Attribute| Marker::from_attribute(attribute) == Some(Marker::Task(kind));
    let attribute = attributes.iter().find(of_task)?;
    let (known, memories): (_, &[OnChipMemory]) = match kind {
        TaskKind::Matrix => {
            (OF_MATRIX_TASKS, &[OnChipMemory::L1, OnChipMemory::L0A, OnChipMemory::L0B, OnChipMemory::L0C])
        }
        TaskKind::Vector => (OF_VECTOR_TASKS, &[OnChipMemory::Ub]),
        TaskKind::Put => return None,
    };
    let arguments = read(attribute, known, errors)?;
    let mut declared = Declared { first: None, errors };
    let external = declared.operator(arguments, memories);
    let first = declared.first;
    if let (None, Some((argument, at))) = (&external, first) {
        let attribute = attribute.path().segments.last()?.ident.to_string();
        errors.push(at, Finding::External(ExternalFault::NoFile { attribute, argument: argument.to_owned() }));
    }
    external
}

/// Reads the arguments that describe an external operator.
struct Declared<'a> {
    /// The first argument that describes the operator, with its place. The order is that in which arguments are read, not that of the
    /// source.
    first: Option<(&'static str, Span)>,
    errors: &'a mut Errors,
}

impl Declared<'_> {
    fn operator(&mut self, mut given: Arguments, memories: &[OnChipMemory]) -> Option<ExternalFn> {
        let file = self.file(given.take("external"));
        let declared = ExternalFn {
            file: file.clone().unwrap_or_default(),
            function: self.function(given.take("function")),
            device_only: self.argument::<()>("device_only", "device_only", given.take("device_only")).is_some(),
            tolerance: self.number("tolerance", &mut given),
            microseconds: self.number("microseconds", &mut given),
            memory: memories
                .iter()
                .filter_map(|memory| Some((*memory, self.number(memory.argument(), &mut given)?)))
                .collect(),
        };
        file.map(|_| declared)
    }

    /// The file of the operator. A faulty path still counts as a file; otherwise, a missing file would be reported as well.
    fn file(&mut self, given: Vec<Given<String>>) -> Option<String> {
        let named = !given.is_empty();
        let file = self.once("external", "external = \"ops/name.h\"", given);
        if let Some((path, at)) = file.as_ref().filter(|(path, _)| !is_path(path)) {
            self.refuse(*at, ExternalFault::Path { path: path.clone() });
        }
        named.then(|| file.map(|(path, _)| path).unwrap_or_default())
    }

    fn function(&mut self, given: Vec<Given<String>>) -> Option<String> {
        let (name, at) = self.argument("function", "function = \"name\"", given)?;
        if !is_cpp_name(&name) {
            self.refuse(at, ExternalFault::Function { name });
            return None;
        }
        Some(name)
    }

    fn number(&mut self, name: &'static str, given: &mut Arguments) -> Option<Expr> {
        let (number, _) = self.argument(name, &format!("{name} = 1024"), given.take(name))?;
        Some(number)
    }

    /// The value of an argument that describes the operator, and its place.
    fn argument<V: Value>(&mut self, name: &'static str, form: &str, given: Vec<Given<V>>) -> Option<(V, Span)> {
        let at = given.first()?.at;
        self.first.get_or_insert((name, at));
        self.once(name, form, given)
    }

    /// The value of an argument and its place. Refuses a second argument with the same name, and a wrong form.
    fn once<V>(&mut self, name: &str, form: &str, given: Vec<Given<V>>) -> Option<(V, Span)> {
        let mut given = given.into_iter();
        let first = given.next()?;
        for second in given {
            self.refuse(second.at, ExternalFault::Twice { argument: name.to_owned() });
        }
        if first.value.is_none() {
            self.refuse(first.at, ExternalFault::Form { form: form.to_owned() });
        }
        first.value
    }

    fn refuse(&mut self, at: Span, fault: ExternalFault) {
        self.errors.push(at, Finding::External(fault));
    }
}

/// Whether a text is a path relative to the package that C++ can include.
fn is_path(path: &str) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, '"' | '\\' | '>' | ':');
    !path.is_empty() && !path.starts_with('/') && !path.ends_with('/') && !path.contains(odd)
}

/// Whether a text is a C++ name, which may be qualified by namespaces.
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
    fn every_argument_that_an_attribute_takes_is_read() {
        for (attribute, known) in [("aic_task", OF_MATRIX_TASKS), ("aiv_task", OF_VECTOR_TASKS)] {
            for name in known {
                // None of them has this form, and one that nothing reads would not be refused.
                let faults = read(&format!("#[{attribute}({name}(4))]")).1;
                assert!(faults[0].contains("this argument has the wrong form"), "{attribute}({name}): {faults:?}");
            }
        }
    }

    #[test]
    fn other_arguments_are_refused_by_name() {
        let said = |attribute: &str| read(attribute).1.join("; ");
        assert_eq!(
            said("#[aiv_task(rows = 4, cols)]"),
            "`#[aiv_task]` has no argument `rows`; `#[aiv_task]` has no argument `cols`"
        );
        assert_eq!(said("#[aiv_task(external = \"a.h\", l1 = 4)]"), "`#[aiv_task]` has no argument `l1`");
        for (attribute, part) in [
            ("#[aiv_task(device_only)]", "`device_only` describes an external operator"),
            ("#[aiv_task(external)]", "this argument has the wrong form"),
            ("#[aiv_task(external = 4, ub = 8)]", "this argument has the wrong form"),
            ("#[aiv_task(external = \"/a.h\")]", "`/a.h` is not a path"),
            ("#[aiv_task(external = \"a.h\", function = \"a b\")]", "`a b` is not a C++ name"),
            ("#[aiv_task(external = \"a.h\", external = \"b.h\")]", "`external` is given twice"),
            ("#[aiv_task(external = \"a.h\", function)]", "this argument has the wrong form"),
            ("#[aiv_task(external = \"a.h\", device_only = true)]", "this argument has the wrong form"),
            ("#[aiv_task(external = \"a.h\", ub(4))]", "this argument has the wrong form"),
            ("#[aiv_task(4)]", "arguments of `#[aiv_task]` have names"),
            ("#[aiv_task(external = \"a.h\", 4)]", "arguments of `#[aiv_task]` have names"),
            ("#[aiv_task(external \"a.h\")]", "arguments of `#[aiv_task]` have names"),
            ("#[aic_task = 4]", "arguments of `#[aic_task]` have names"),
        ] {
            let said = said(attribute);
            assert!(said.contains(part) && !said.contains("; "), "{attribute}: {said}");
        }
    }
}
