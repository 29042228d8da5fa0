//! Hand-written mutations: a file has a line for each, `FILE: TEXT => OTHER TEXT`.
//!
//! ```text
//! # Words about what follows.
//! core.h: counter < need => counter <= need
//! routed.cpp: core.Fence(); =>
//! # Two changes at once, of which one may hide the other.
//! core.h: need + 1 => need AND routed.cpp: rows + 1 => rows
//! ```

use crate::sites::{Site, name_apart};
use crate::source::{Source, squeezed};
use std::ops::Range;

/// Separates changes that are made together.
const AND: &str = " AND ";

/// The mutations in a file's text.
///
/// # Errors
///
/// If a line is invalid, or its text occurs not exactly once.
pub fn given(sources: &[Source], text: &str) -> Result<Vec<Site>, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut all: Vec<Site> = lines.map(|line| site(sources, line)).collect::<Result<_, _>>()?;
    name_apart(&mut all);
    Ok(all)
}

fn site(sources: &[Source], line: &str) -> Result<Site, String> {
    let changes: Vec<Change> = line.split(AND).map(|part| change(sources, part, line)).collect::<Result<_, _>>()?;
    let key = changes.iter().map(|change| change.key.as_str()).collect::<Vec<_>>().join(" and ");
    let edits: Vec<_> = changes.into_iter().map(|change| change.edit).collect();
    let (source, at) = (edits[0].0, edits[0].1.start);
    Ok(Site { source, line: sources[source].line(at), key, edits })
}

/// One of the changes of a line.
struct Change {
    key: String,
    edit: (usize, Range<usize>, String),
}

fn change(sources: &[Source], part: &str, line: &str) -> Result<Change, String> {
    let shape = || format!("no mutation, which is `FILE: TEXT => OTHER TEXT`: {line}");
    let (file, change) = part.split_once(": ").ok_or_else(shape)?;
    let (before, after) = change.split_once("=>").ok_or_else(shape)?;
    let (file, before, after) = (file.trim(), before.trim(), after.trim());
    if before.is_empty() {
        return Err(shape());
    }
    let number = sources.iter().position(|source| source.name == file);
    let number = number.ok_or_else(|| format!("no header or generated file is named `{file}`: {line}"))?;
    let source = &sources[number];
    let places: Vec<usize> = source.code.match_indices(before).map(|(at, _)| at).collect();
    let [at] = places[..] else {
        return Err(format!("`{before}` stands {} times in {file}, and must stand there once: {line}", places.len()));
    };
    let key = format!("{file}, {}: {} -> {}", source.function(at), squeezed(before), squeezed(after));
    Ok(Change { key, edit: (number, at..at + before.len(), after.to_owned()) })
}
