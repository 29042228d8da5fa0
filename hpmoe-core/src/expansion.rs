//! The macro's input for a module: its faults at their tokens, or the constants and kernels of the build.

use crate::analyze::CheckedGraph;
use crate::artifacts::{Artifact, Fault};
use crate::constant::{Constant, Overrides};
use crate::finding::Diagnostic;
use crate::front::Front;
use crate::graph::TaskGraph;
use crate::syntax::{library_functions, with_library};
use hpmoe_expansion::expansion::{BuiltConstant, BuiltTaskflow, Expansion, LibraryTask, PlacedFault};
use hpmoe_expansion::tokens::{SourceRange, SourceTokens};
use proc_macro2::Span;
use std::collections::BTreeSet;
use syn::{ItemMod, parse_quote};

/// The macro's input for a module with faults.
#[must_use]
pub fn of_faults(module: &ItemMod, faults: &[Diagnostic]) -> Expansion {
    let source = SourceTokens::new(module);
    let at = |span: Span, text: String| PlacedFault { at: source.range(span), text };
    let placed = |fault: &Diagnostic| {
        let words = fault.words();
        let also = words.also.into_iter().map(|(span, text)| (span, format!("{text} [{}]", words.code)));
        let texts = std::iter::once((fault.at, fault.text())).chain(also);
        texts.map(|(span, text)| at(span, text)).collect::<Vec<_>>()
    };
    let functions = faults.iter().filter_map(|fault| fault.function.clone());
    Expansion {
        faulty: functions.collect::<BTreeSet<_>>().into_iter().collect(),
        faults: faults.iter().flat_map(placed).collect(),
        ..Expansion::default()
    }
}

/// The macro's input for a module without faults, before its taskflows are compiled: constants, names of functions and library functions,
/// but no taskflows.
#[must_use]
pub fn of_front(module: &ItemMod, front: &Front, overrides: &Overrides) -> Expansion {
    let source = SourceTokens::new(module);
    let constants = front.kernel.constants.iter().map(|(name, value)| constant(name, value, overrides.contains(name)));
    let in_place = with_library(module);
    let library = library_functions(&in_place)
        .map(|function| LibraryTask { at: source.range(function.sig.ident.span()), function: function.clone() });
    let runs: BTreeSet<String> = front.flows.iter().map(CheckedGraph::graph).flat_map(functions_of).collect();
    Expansion {
        constants: constants.collect(),
        runs: runs.into_iter().collect(),
        library: library.collect(),
        ..Expansion::default()
    }
}

fn constant(name: &str, value: Constant, set: bool) -> BuiltConstant {
    let (ty, value) = match value {
        Constant::Size(size) => (parse_quote!(usize), size.to_string()),
        Constant::Number(number) => (parse_quote!(f32), format!("{number:?}")),
    };
    let value = syn::parse_str(&value).expect("a constant is written as Rust");
    BuiltConstant { name: name.to_owned(), ty, value, set }
}

fn functions_of(graph: &TaskGraph) -> impl Iterator<Item = String> {
    std::iter::once(graph.taskflow.clone()).chain(graph.tasks.iter().map(|(_, task)| task.name.clone()))
}

/// A taskflow as the macro gets it, and the places at which its faults are shown.
#[derive(Clone, Debug)]
pub struct TaskflowToTell {
    /// The taskflow's part of the macro's input.
    pub built: BuiltTaskflow,
    /// The place of the taskflow's name in the module.
    at: SourceRange,
    /// The tasks that the taskflow calls, with the places of their names.
    tasks: Vec<(String, SourceRange)>,
}

impl TaskflowToTell {
    /// The taskflow of `graph`, with the symbol and the file names of `artifact`. `for_device` and `exported` are false; the build script
    /// sets them after the compilers have run.
    #[must_use]
    pub fn new(graph: &TaskGraph, artifact: &Artifact, source: &SourceTokens) -> Self {
        let (symbol, stem) = (artifact.symbol.clone(), artifact.stem.clone());
        Self {
            built: BuiltTaskflow { name: graph.taskflow.clone(), symbol, stem, for_device: false, exported: false },
            at: source.range(graph.span),
            tasks: graph.tasks.iter().map(|(_, task)| (task.name.clone(), source.range(task.span))).collect(),
        }
    }

    /// A fault at the name of the task that it belongs to, or else at the taskflow's name.
    #[must_use]
    pub fn fault(&self, Fault { task, text }: Fault) -> PlacedFault {
        let named = task.and_then(|name| self.tasks.iter().find(|(task, _)| *task == name));
        PlacedFault { at: named.map_or(self.at, |(_, place)| *place), text }
    }
}
