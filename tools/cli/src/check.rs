//! `hpmoe check`: reports every fault of every kernel at its place in the source.

mod json;

use crate::input::SourceFile;
use crate::options::CheckArgs;
use crate::output;
use crate::plan::scheduled;
use codespan_reporting::diagnostic::{Diagnostic, Label};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term::{
    self,
    termcolor::{ColorChoice, StandardStream},
};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::sizes::Expected;
use hpmoe_core::unused::{Unused, unused};
use hpmoe_kernels::printable::{printable_lines, printable_source};
use std::io::IsTerminal as _;
use std::ops::Range;
use std::process::ExitCode;

pub(crate) fn check(options: &CheckArgs) -> Result<ExitCode, String> {
    let source = &options.source;
    let target = source.die.read()?;
    let input = SourceFile::read(&source.file, &source.settings, (&target, Expected::default()))?;
    let text = printable_source(&input.text).into_owned();
    let file = SimpleFile::new(&input.name, &text);
    let (mut flows, mut faults, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for kernel in &input.kernels {
        match kernel.front() {
            Ok(front) => {
                for flow in &front.flows {
                    scheduled(flow, &target)?;
                    match options.json {
                        true => flows.push(json::taskflow(flow)),
                        false => {
                            let (kernel, taskflow) = (&flow.graph().kernel, &flow.graph().taskflow);
                            output::line(format!("{kernel}::{taskflow} is right: {}", numbers(flow)))?;
                        }
                    }
                }
                warnings.extend(unused(&front));
            }
            Err(found) => faults.extend(found),
        }
    }
    if options.json {
        output::line(json::object(&input.name, flows, &faults, &warnings))?;
    } else {
        warnings.iter().try_for_each(|unused| warn(&file, &text, unused))?;
        faults.iter().try_for_each(|fault| show(&file, &text, fault))?;
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn warn(file: &SimpleFile<&String, &String>, text: &str, unused: &Unused) -> Result<(), String> {
    let warning = Diagnostic::warning()
        .with_message(printable_lines(&unused.message))
        .with_labels(vec![Label::primary((), bytes(text, unused.at))])
        .with_notes(vec![format!("help: {}", unused.help)]);
    print(file, &warning)
}

fn numbers(flow: &CheckedGraph) -> String {
    let graph = flow.graph();
    [
        counted(graph.tasks.len(), "task", "tasks"),
        counted(graph.phases.len(), "call", "calls"),
        counted(graph.tensors.len(), "tensor", "tensors"),
        counted(flow.dependencies().len(), "dependency", "dependencies"),
    ]
    .join(", ")
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn show(
    file: &SimpleFile<&String, &String>,
    text: &str,
    fault: &hpmoe_core::finding::Diagnostic,
) -> Result<(), String> {
    let words = fault.words();
    let mut labels = vec![Label::primary((), bytes(text, fault.at))];
    let also = words.also.iter();
    labels
        .extend(also.map(|(span, note)| Label::secondary((), bytes(text, *span)).with_message(printable_lines(note))));
    let diagnostic = Diagnostic::error()
        .with_code(words.code)
        .with_message(printable_lines(&words.message))
        .with_labels(labels)
        .with_notes(vec![format!("help: {}", printable_lines(&words.help))]);
    print(file, &diagnostic)
}

/// Writes a diagnostic to stderr.
fn print(file: &SimpleFile<&String, &String>, diagnostic: &Diagnostic<()>) -> Result<(), String> {
    let colour = if std::io::stderr().is_terminal() { ColorChoice::Auto } else { ColorChoice::Never };
    let mut stream = StandardStream::stderr(colour);
    term::emit_to_write_style(&mut stream, &term::Config::default(), file, diagnostic)
        .map_err(|error| error.to_string())
}

/// The range of bytes of a span in the text. Columns of spans count characters.
fn bytes(text: &str, span: proc_macro2::Span) -> Range<usize> {
    let at = |place: proc_macro2::LineColumn| {
        let start: usize = text.split_inclusive('\n').take(place.line.saturating_sub(1)).map(str::len).sum();
        let line = &text[start.min(text.len())..];
        start + line.char_indices().nth(place.column).map_or(line.len(), |(byte, _)| byte)
    };
    at(span.start())..at(span.end())
}
