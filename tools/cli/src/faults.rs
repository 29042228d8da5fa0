//! Faults of kernels, as all subcommands print them.

use codespan_reporting::diagnostic::{Diagnostic, Label};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term::{
    self,
    termcolor::{ColorChoice, StandardStream},
};
use hpmoe_core::finding::Diagnostic as Fault;
use hpmoe_core::syntax::Overrides;
use hpmoe_core::unused::Unused;
use hpmoe_kernels::printable::{printable_lines, printable_source};
use std::io::IsTerminal as _;
use std::ops::Range;

/// The text of a file in which faults and warnings are shown.
pub(crate) struct ShownFile {
    file: SimpleFile<String, String>,
}

impl ShownFile {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self { file: SimpleFile::new(name.to_owned(), printable_source(text).into_owned()) }
    }

    /// Writes a fault to stderr.
    pub(crate) fn show(&self, fault: &Fault) -> Result<(), String> {
        self.print(&self.diagnostic(fault))
    }

    /// Writes a warning to stderr.
    pub(crate) fn warn(&self, unused: &Unused) -> Result<(), String> {
        let warning = Diagnostic::warning()
            .with_message(printable_lines(&unused.message))
            .with_labels(vec![Label::primary((), self.bytes(unused.at))])
            .with_notes(vec![format!("help: {}", unused.help)]);
        self.print(&warning)
    }

    fn diagnostic(&self, fault: &Fault) -> Diagnostic<()> {
        let words = fault.words();
        let mut labels = vec![Label::primary((), self.bytes(fault.at))];
        let also = words.also.iter();
        labels.extend(
            also.map(|(span, note)| Label::secondary((), self.bytes(*span)).with_message(printable_lines(note))),
        );
        Diagnostic::error()
            .with_code(words.code)
            .with_message(printable_lines(&words.message))
            .with_labels(labels)
            .with_notes(vec![format!("help: {}", printable_lines(&words.help))])
    }

    fn print(&self, diagnostic: &Diagnostic<()>) -> Result<(), String> {
        let colour = if std::io::stderr().is_terminal() { ColorChoice::Auto } else { ColorChoice::Never };
        let mut stream = StandardStream::stderr(colour);
        term::emit_to_write_style(&mut stream, &term::Config::default(), &self.file, diagnostic)
            .map_err(|error| error.to_string())
    }

    /// The range of bytes of a span in the text. Columns of spans count characters.
    fn bytes(&self, span: proc_macro2::Span) -> Range<usize> {
        let text = self.file.source();
        let at = |place: proc_macro2::LineColumn| {
            let start: usize = text.split_inclusive('\n').take(place.line.saturating_sub(1)).map(str::len).sum();
            let line = &text[start.min(text.len())..];
            start + line.char_indices().nth(place.column).map_or(line.len(), |(byte, _)| byte)
        };
        at(span.start())..at(span.end())
    }
}

/// The error of a subcommand that needs a kernel without faults. It shows the faults as `hpmoe check` does with the same settings.
pub(crate) fn refusal(shown: &ShownFile, (kernel, set): (&str, &Overrides), faults: &[Fault]) -> String {
    let count = faults.len();
    let plural = if count == 1 { "" } else { "s" };
    let set: Vec<String> = set.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let with = if set.is_empty() { String::new() } else { format!(" with {}", set.join(", ")) };
    let mut text = format!("kernel `{kernel}` has {count} fault{plural}{with}\n");
    for fault in faults {
        let diagnostic = shown.diagnostic(fault);
        let drawn = term::emit_into_string(&term::Config::default(), &shown.file, &diagnostic);
        text.push('\n');
        text.push_str(drawn.unwrap_or_else(|error| error.to_string()).trim_end());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}
