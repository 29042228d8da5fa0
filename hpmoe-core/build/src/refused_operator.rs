//! The message for external operators that a compiler refuses.

use crate::compiler_output::{first_error, generated_line};
use crate::operators::Operator;
use crate::units::Unit;
use crate::watch;
use hpmoe_core::artifacts::Fault;
use std::path::Path;

/// The fault of the operator that a compiler refuses; `None` if the compiler's message is not about an operator. `source` is the
/// generated file.
pub(crate) fn refused(unit: &Unit, source: &Path, compiler: &str, said: &str) -> Option<Fault> {
    let in_files = |line: &str, operator: &Operator| {
        operator.files.iter().any(|(path, _)| line.contains(&format!("{}:", path.display())))
    };
    let of_lines = |error: bool| {
        let mut lines = said.lines().filter(move |line| !error || line.contains("error"));
        lines.find_map(|line| unit.operators.iter().find(|operator| in_files(line, operator)))
    };
    let call = generated_line(source, said).and_then(|line| {
        let text = std::fs::read_to_string(source).ok()?;
        let text = text.lines().nth(line - 1)?.trim().to_owned();
        unit.operators.iter().find(|operator| {
            let called = text.strip_prefix(&format!("::{}", operator.function));
            called.is_some_and(|rest| rest.starts_with(['(', '<']))
        })
    });
    let (operator, problem) = match (of_lines(true), call) {
        (Some(operator), _) => (operator, "does not compile"),
        (None, Some(operator)) if !declares(operator) => (operator, "has no such function"),
        (None, Some(operator)) => (operator, "has a function that doesn't take the task's arguments"),
        (None, None) => (of_lines(false)?, "does not compile"),
    };
    // One of them may be what the compiler didn't find.
    unit.operators.iter().flat_map(|operator| &operator.missing).for_each(|place| watch::missing(place));
    let Operator { task, function, file, signature, .. } = operator;
    Some(Fault {
        task: Some(task.clone()),
        text: format!(
            "`{file}`, the file of the external operator `{function}` of `{task}`, {problem}: {} [HP20]\n`{compiler}` says:\n{}\n\
             help: declare the function as\n  {signature}\n`hpmoe emit {} --task {task}` prints the whole contract",
            first_error(said),
            said.trim_end(),
            unit.file
        ),
    })
}

/// Whether the name of an operator's function stands anywhere in its files.
fn declares(operator: &Operator) -> bool {
    let name = operator.function.rsplit("::").next().unwrap_or(&operator.function);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = operator.files.iter().flat_map(|(_, text)| text.split(|c| !is_part(c)));
    words.any(|word| word == name)
}
