//! Changes that leave the code's results the same, or change only its time, because of the way in which all kernels are
//! made.

use crate::source::{Source, constant_name, stretches};
use std::ops::Range;

/// Start of a call that reads weights ahead. The product reads the weights that it does not find.
pub const READS_AHEAD: &str = "Ahead(";

/// Whether a number is a factor or a term of the threshold that a tile checks once (core.h, `IsThere`). With a larger
/// threshold, the tile finds less, and then waits for what it needs.
pub fn asks_for_more(code: &str, at: usize) -> bool {
    let (callee, place, _) = argument(code, at);
    (callee, place) == ("IsThere", 2)
}

/// Whether a number is a tensor's number of columns, and no view has all of them: each view is a tile whose number of
/// columns divides it.
pub fn is_in_tiles(code: &str, at: usize, columns: u64) -> bool {
    let begin = code[..at].rfind('\n').map_or(0, |end| end + 1);
    let (line, before) = (code[begin..].lines().next().unwrap_or_default(), &code[begin..at]);
    let Some(name) = line.strip_prefix("constexpr ").and_then(constant_name).filter(|_| is_tensor(line)) else {
        return false;
    };
    let is_tile = |view: &str| {
        let columns_at = view.find(".Cols(").map(|at| at + ".Cols(".len());
        let width = columns_at.and_then(|at| arguments(view, at).get(1)?.parse::<u64>().ok());
        width.is_some_and(|width| width > 0 && columns.is_multiple_of(width))
    };
    // The host checks the pitch of contiguous rows.
    let dense = line.contains(&format!(", {columns}, {columns}}}"));
    before.matches(',').count() == 1 && !dense && views(code, name).all(is_tile)
}

/// Whether a line declares a tensor.
fn is_tensor(line: &str) -> bool {
    ["Private<", "Symmetric<", "Shared<"]
        .iter()
        .any(|kind| line.strip_prefix("constexpr ").is_some_and(|of| of.starts_with(kind)))
}

/// The uses of a tensor in the code: from its name to the end of the expression.
fn views<'a>(code: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let named = format!("tensor::{name}");
    let places: Vec<usize> = code.match_indices(&named).map(|(at, _)| at + named.len()).collect();
    places.into_iter().map(|at| &code[at..]).filter(|rest| rest.starts_with([',', ')'])).map(|rest| {
        let begin = closing(rest) + 1;
        let mut depth = 0;
        let ends = |c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth < 0 || depth == 0 && ",;}".contains(c)
        };
        &rest[..rest[begin..].find(ends).map_or(rest.len(), |end| begin + end)]
    })
}

/// Whether a place is in a constant of a generated file that no code uses, neither the file itself nor an operator that
/// it includes. A tensor that the device library only knows by its number is such a constant.
pub fn is_idle(source: &Source, at: usize) -> bool {
    let operators = || source.text.lines().any(|line| line.starts_with("#include") && !line.contains("\"hpmoe/"));
    let begin = source.code[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = source.code[begin..].lines().next().unwrap_or_default();
    let Some(name) = line.trim_start().strip_prefix("constexpr ").and_then(constant_name) else { return false };
    if is_tensor(line) {
        return views(&source.code, name).next().is_none();
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    source.generated()
        && !operators()
        && stretches(&source.code, is_part).filter(|word| &source.code[word.clone()] == name).count() == 1
}

/// Number of elements that rows of values in UB are aligned to (vector.h, `UbPitch`).
const ROW_ALIGN: u64 = 16;

/// Arguments of calls that are a number of columns, and whether fewer columns make a difference: in UB, nothing uses
/// the padding after a row's columns.
const COLUMNS: &[(&str, usize, bool)] = &[
    ("UbCount", 1, false),
    ("ClearEmpty", 3, false),
    ("FoldRows", 3, false),
    ("SpreadRow", 3, false),
    ("SpreadColumn", 3, false),
    ("SpreadNumber", 3, false),
    ("ColumnIds", 3, false),
    ("TakeColumns", 4, false),
    ("ScaleRows", 4, false),
    ("ScaleColumns", 4, false),
    ("AddRow", 4, false),
    ("WeightedSum", 5, false),
    ("Pick", 7, true),
    ("TopK", 8, true),
    ("TakeColumns", 5, true),
];

/// Structures of parameters: the parameter with a number of rows or blocks, and those with distances between them. For
/// a single row or block, the distance is unused.
const DISTANCES: &[(&str, usize, &[usize])] = &[
    ("DataCopyExtParams", 0, &[2, 3]),
    ("FixpipeParamsV220", 7, &[8, 9]),
    ("GatherMaskParams", 1, &[2, 3]),
    ("Nd2NzParams", 0, &[3, 7]),
];

/// Whether a number counts columns, and a change leaves it within the same elements in UB; or it is a distance between
/// things of which there is only one.
pub fn takes_the_same(code: &str, at: usize, value: u64, other: u64) -> bool {
    let (callee, place, begin) = argument(code, at);
    let counts =
        |(name, number, fewer): &(&str, usize, bool)| *name == callee && *number == place && !(*fewer && other < value);
    let alone = |(name, count, distances): &(&str, usize, &[usize])| {
        *name == callee && distances.contains(&place) && arguments(code, begin).get(*count) == Some(&"1")
    };
    value.div_ceil(ROW_ALIGN) == other.div_ceil(ROW_ALIGN) && COLUMNS.iter().any(counts) || DISTANCES.iter().any(alone)
}

/// The call and the index of the argument that a place belongs to, and where that call's arguments start.
fn argument(code: &str, at: usize) -> (&str, usize, usize) {
    let (mut depth, mut place) = (0, 0);
    for (begin, c) in code[..at].char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' if depth > 0 => depth -= 1,
            '(' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                return (code[..begin].rsplit(|c| !is_part(c)).next().unwrap_or_default(), place, begin + 1);
            }
            ',' if depth == 0 => place += 1,
            ';' | '{' | '}' | '[' => break,
            _ => {}
        }
    }
    ("", place, at)
}

/// The arguments of the call whose first argument starts here.
fn arguments(code: &str, begin: usize) -> Vec<&str> {
    let text = &code[begin..begin + closing(&code[begin..])];
    let (mut depth, mut first, mut all) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '<' => depth += 1,
            ')' | '>' => depth -= 1,
            ',' if depth == 0 => {
                all.push(text[first..at].trim());
                first = at + 1;
            }
            _ => {}
        }
    }
    all.push(text[first..].trim());
    all
}

/// Whether a number is the size of a tensor in UB.
pub fn is_size(code: &str, number: &Range<usize>) -> bool {
    let line = code[..number.start].rsplit('\n').next().unwrap_or_default();
    let call = line.rsplit("= Ub<").next().filter(|call| call.len() < line.len()).unwrap_or_default();
    call.ends_with(", ") && call.matches(',').count() == 1 && code[number.end..].starts_with(");")
}

/// The end of the parenthesis that was opened before `text`.
pub fn closing(text: &str) -> usize {
    let mut depth = 1;
    let ends = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    };
    text.find(ends).expect("a condition ends")
}
