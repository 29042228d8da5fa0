//! Changed expressions: numbers by one, operators, conditions, counters and spaces, and calls that are left out.

use crate::same::{READS_AHEAD, asks_for_more, closing, is_idle, is_in_tiles, is_size, takes_the_same};
use crate::sites::{STATEMENTS, Site, name_apart};
use crate::source::{Source, squeezed, stretches};
use std::ops::Range;

/// Replacements of an operator between two expressions.
const OPERATORS: &[(&str, &[&str])] = &[
    ("<", &["<=", ">="]),
    ("<=", &["<", ">"]),
    (">", &[">=", "<="]),
    (">=", &[">", "<"]),
    ("==", &["!="]),
    ("!=", &["=="]),
    ("&&", &["||"]),
    ("||", &["&&"]),
    ("+", &["-"]),
    ("-", &["+"]),
    ("*", &["+"]),
    ("/", &["*"]),
    ("%", &["/"]),
    ("&", &["|"]),
    ("|", &["&"]),
    ("<<", &[">>"]),
    (">>", &["<<"]),
    ("+=", &["-=", "="]),
    ("-=", &["+=", "="]),
    ("|=", &["=", "&="]),
];

/// Starts of statements whose condition becomes true or false.
const CONDITIONS: &[&str] = &["if (", "while ("];

/// Starts of statements that only check, and compute nothing.
const CHECKS: &[&str] = &["HPMOE_EXPECTS(", "HPMOE_OPERATOR_", "static_assert("];

/// Scopes of names that can be replaced by another name of the same file.
const SCOPES: &[&str] = &["counter::", "space::"];

/// All changes, in the order of the sources.
pub fn expressions(sources: &[Source]) -> Vec<Site> {
    let mut all: Vec<Site> = sources.iter().enumerate().flat_map(|(number, source)| of(number, source)).collect();
    all.sort_by_key(|site| (site.source, site.edits[0].1.start));
    name_apart(&mut all);
    all
}

/// The changes of one source. Text outside of functions are declarations, which are reached by every run or by none.
fn of(number: usize, source: &Source) -> Vec<Site> {
    let changes =
        numbers(source).chain(operators(source)).chain(conditions(source)).chain(names(source)).chain(calls(source));
    let changes = changes.filter(|(range, _)| !checks(&source.code, range.start) && !is_idle(source, range.start));
    changes.map(|(range, with)| site(number, source, range, with)).collect()
}

/// Whether a place is part of a check for the host only, for which devices have no code.
fn checks(code: &str, at: usize) -> bool {
    let begin = code[..at].rfind([';', '{', '}']).map_or(0, |end| end + 1);
    CHECKS.iter().any(|check| code[begin..].trim_start().starts_with(check))
}

fn site(number: usize, source: &Source, range: Range<usize>, with: String) -> Site {
    let begin = source.code[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = source.code[range.end..].find('\n').map_or(source.code.len(), |at| range.end + at);
    let changed = format!("{}{with}{}", &source.code[begin..range.start], &source.code[range.end..end]);
    let (before, after) = (squeezed(&source.code[begin..end]), squeezed(&changed));
    let key = format!("{}, {}: {before} -> {after}", source.name, source.function(range.start));
    Site { source: number, line: source.line(range.start), key, edits: vec![(number, range, with)] }
}

/// Whole numbers, increased and decreased by one.
fn numbers(source: &Source) -> impl Iterator<Item = (Range<usize>, String)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let words = stretches(&source.code, is_part).filter_map(|range| {
        let word = &source.code[range.clone()];
        let digits = word.trim_end_matches(['u', 'l', 'U', 'L']);
        let value = digits.parse::<u64>().ok()?;
        Some((range.clone(), value, word[digits.len()..].to_owned()))
    });
    words.flat_map(|(range, value, suffix)| {
        // Reserving more room than a tensor needs, or processing fewer rows at a time, is not a fault.
        let more = (!is_size(&source.code, &range)).then_some(value + 1);
        let less = value.checked_sub(1).filter(|_| !source.code[..range.start].ends_with(" ROWS = "));
        let same = |other: &u64| {
            let (code, at) = (&source.code, range.start);
            takes_the_same(code, at, value, *other)
                || *other > value && (asks_for_more(code, at) || is_in_tiles(code, at, value))
        };
        let others: Vec<u64> = [more, less].into_iter().flatten().filter(|other| !same(other)).collect();
        others.into_iter().map(move |other| (range.clone(), format!("{other}{suffix}")))
    })
}

/// Operators, with a space on either side.
fn operators(source: &Source) -> impl Iterator<Item = (Range<usize>, String)> {
    OPERATORS.iter().flat_map(|(operator, others)| {
        let spaced = format!(" {operator} ");
        let places: Vec<usize> = source.code.match_indices(&spaced).map(|(at, _)| at + 1).collect();
        places
            .into_iter()
            .flat_map(move |at| others.iter().map(move |other| (at..at + operator.len(), (*other).to_owned())))
    })
}

fn conditions(source: &Source) -> impl Iterator<Item = (Range<usize>, String)> {
    let heads = CONDITIONS.iter().flat_map(|head| source.statements(head).map(|at| at + head.len()));
    heads.flat_map(|begin| {
        let range = begin..begin + closing(&source.code[begin..]);
        // Both sides are still evaluated: their waits are other mutations.
        let text = source.code[range.clone()].to_owned();
        let constants = ["|| true", "&& false"].into_iter().filter(|constant| {
            // Nothing is complete yet: the wait for it follows.
            *constant != "|| true" || !text.starts_with("!core.IsThere(")
        });
        constants.map(|constant| (range.clone(), format!("({text}) {constant}"))).collect::<Vec<_>>()
    })
}

/// A counter or a space, replaced by the next one of the file.
fn names(source: &Source) -> impl Iterator<Item = (Range<usize>, String)> {
    SCOPES.iter().flat_map(|scope| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = |at: usize| {
            let rest = &source.code[at + scope.len()..];
            &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())]
        };
        let places: Vec<usize> = source.code.match_indices(scope).map(|(at, _)| at).collect();
        let mut all: Vec<&str> = places.iter().map(|at| name(*at)).collect();
        all.sort_unstable();
        all.dedup();
        let next = |wanted: &str| {
            let at = all.iter().position(|known| *known == wanted).expect("it is one of them");
            all[(at + 1) % all.len()].to_owned()
        };
        let change = |at: &usize| (at + scope.len()..at + scope.len() + name(*at).len(), next(name(*at)));
        places.iter().map(change).filter(|_| all.len() > 1).collect::<Vec<_>>()
    })
}

/// Calls and assignments that are statements, except for those that keep order, which the other sweep removes.
fn calls(source: &Source) -> impl Iterator<Item = (Range<usize>, String)> {
    let starts = source.code.match_indices('\n').map(|(at, _)| at + 1);
    let begins = starts.filter_map(|at| {
        let line = source.code[at..].split('\n').next()?;
        let head = line.trim_start();
        let place = at + line.len() - head.len();
        let callee = head.find(|c: char| !(c.is_ascii_alphanumeric() || "_.:[]<>".contains(c)))?;
        let rest = head[callee..].trim_start_matches(['+', '-', '|']);
        let keeps_order = STATEMENTS.iter().any(|known| head.starts_with(known));
        let stands_alone = !keeps_order
            && !head.starts_with(READS_AHEAD)
            && head.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && (head[callee..].starts_with('(') || rest.trim_start().starts_with("= "));
        (stands_alone && source.statements(&head[..callee]).any(|known| known == place)).then_some(place)
    });
    begins.map(|at| (source.statement(at), ";".to_owned()))
}
