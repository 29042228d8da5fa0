//! The message shown when CANN refuses a kernel: the user's own line comes first.

use crate::compiler_output::{first_error, generated_line};
use crate::units::Unit;
use std::path::Path;

/// The compiler refused a kernel.
pub(super) fn of_compiler(unit: &Unit, compiler: &Path, toolkit: &str, said: &str) -> String {
    let text = std::fs::read_to_string(&unit.device_source).unwrap_or_default();
    let line = generated_line(&unit.device_source, said);
    let place = line.and_then(|line| user_line(&text, &unit.file, line));
    format!(
        "CANN's compiler refused the kernel{}: {}\n\
         `{}`{} says ({toolkit}):\n{}\n{}",
        place.map(|place| format!(" at {place}")).unwrap_or_default(),
        first_error(said),
        compiler.display(),
        line.map(|line| format!(" of line {line} of `{}`", unit.device_source.display())).unwrap_or_default(),
        said.trim_end(),
        help(),
    )
}

/// The linker refused an object.
pub(super) fn of_linker(unit: &Unit, linker: &Path, toolkit: &str, said: &str) -> String {
    format!(
        "CANN's linker refused the kernel of `{}`: {}\n`{}` says ({toolkit}):\n{}\n{}",
        unit.file,
        first_error(said),
        linker.display(),
        said.trim_end(),
        help(),
    )
}

/// The object can't be launched.
pub(super) fn of_object(unit: &Unit, toolkit: &str, fault: &str) -> String {
    format!(
        "CANN compiled the kernel of `{}` to an object that can't be launched: {fault} ({toolkit})\n{}",
        unit.file,
        help(),
    )
}

fn help() -> String {
    format!(
        "help: kernels use only what the headers of CANN {} all have, so this is a fault of hpmoe or a difference in the installed \
         version: please report it; HPMOE_DEVICE=off builds for this machine's CPU only",
        hpmoe_kernels::CANN_VERSIONS.join(", ")
    )
}

/// The place in the user's file that a line of the generated file comes from: the last one that a comment at or before the line names.
fn user_line(generated: &str, file: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = generated.lines().take(line).collect();
    lines.iter().rev().find_map(|line| {
        let comment = line.trim_start().strip_prefix("//")?;
        let place = comment.split_whitespace().next_back()?;
        let is_place = place == file || place.strip_prefix(file).is_some_and(|rest| rest.starts_with(':'));
        is_place.then(|| format!("`{place}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENERATED: &str = "// moe::forward, made from src/moe.rs. Do not edit.\n\
                             // swiglu  src/moe.rs:45\n\
                             void swiglu() {\n\
                             \x20   // silu  src/moe.rs:51\n\
                             \x20   Silu(x);\n\
                             }\n";

    #[test]
    fn an_error_is_at_the_line_that_asked_for_it() {
        let source = Path::new("out/moe_forward_0.cpp");
        let said = "In file included from out/moe_forward_0.cpp:1:\nout/moe_forward_0.cpp:5:5: error: no `Silu`\n";
        assert_eq!(generated_line(source, said), Some(5));
        assert_eq!(user_line(GENERATED, "src/moe.rs", 5).as_deref(), Some("`src/moe.rs:51`"));
        assert_eq!(user_line(GENERATED, "src/moe.rs", 3).as_deref(), Some("`src/moe.rs:45`"));
        assert_eq!(user_line(GENERATED, "src/moe.rs", 1), None);
        assert_eq!(first_error(said), "no `Silu`");
    }

    #[test]
    fn an_error_in_a_header_is_where_the_kernel_uses_it() {
        let said = "hpmoe/rows.h:7:1: error: no\nout/moe_forward_0.cpp:3:1: note: in instantiation of\n";
        assert_eq!(generated_line(Path::new("out/moe_forward_0.cpp"), said), Some(3));
        assert_eq!(generated_line(Path::new("out/other.cpp"), said), None);
    }
}
