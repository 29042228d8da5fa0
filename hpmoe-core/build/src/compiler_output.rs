//! The output of compilers that refuse a file.

use std::path::Path;

/// The first line that says `error`, from that word on.
pub(crate) fn first_error(said: &str) -> &str {
    let error = said.lines().find_map(|line| line.find("error: ").map(|at| line[at + "error: ".len()..].trim()));
    error.unwrap_or_else(|| said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it gave no reason"))
}

/// The line of the generated file that a message names: the line of an error, or else of a note (an error in a header is found
/// where the kernel uses it).
pub(crate) fn generated_line(source: &Path, said: &str) -> Option<usize> {
    let file = source.file_name()?.to_str()?;
    let number = |line: &str| {
        let (_, rest) = line.split_once(file)?;
        rest.strip_prefix(':')?.split(':').next()?.trim().parse().ok()
    };
    let of_error = said.lines().filter(|line| line.contains("error")).find_map(number);
    of_error.or_else(|| said.lines().find_map(number))
}
