//! What is changed: numbers by one, operators, conditions, counters and spaces, and calls that are left out.

use crate::sites::{STATEMENTS, Site, name_apart};
use crate::source::{Source, constant_name, squeezed};
use std::ops::Range;

/// What takes the place of an operator between two expressions.
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

/// Heads of statements whose condition becomes true or false.
const CONDITIONS: &[&str] = &["if (", "while ("];

/// Heads of statements that check and compute nothing.
const CHECKS: &[&str] = &["HPMOE_EXPECTS(", "HPMOE_OPERATOR_", "static_assert("];

/// Scopes of names that a neighbour in the same file can take the place of.
const SCOPES: &[&str] = &["counter::", "space::"];

/// All of them, in the order of the sources.
pub fn expressions(sources: &[Source]) -> Vec<Site> {
    let mut all: Vec<Site> = sources.iter().enumerate().flat_map(|(number, source)| of(number, source)).collect();
    all.sort_by_key(|site| (site.source, site.edits[0].1.start));
    name_apart(&mut all);
    all
}

/// Those of one source. What stands outside of functions are declarations, which every run reaches, or none.
fn of(number: usize, source: &Source) -> Vec<Site> {
    let changes =
        numbers(source).chain(operators(source)).chain(conditions(source)).chain(names(source)).chain(calls(source));
    let changes = changes.filter(|(range, _)| !checks(&source.code, range.start) && !is_idle(source, range.start));
    changes.map(|(range, with)| site(number, source, range, with)).collect()
}

/// Whether a place belongs to what only says what the host checks. No device has code of it.
fn checks(code: &str, at: usize) -> bool {
    let begin = code[..at].rfind([';', '{', '}']).map_or(0, |end| end + 1);
    CHECKS.iter().any(|check| code[begin..].trim_start().starts_with(check))
}

/// Whether a place belongs to a constant of a generated file that no code has: neither the file's own, nor that of an operator, which it
/// includes.
fn is_idle(source: &Source, at: usize) -> bool {
    let operators = || source.text.lines().any(|line| line.starts_with("#include") && !line.contains("\"hpmoe/"));
    let begin = source.code[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = source.code[begin..].lines().next().unwrap_or_default();
    let Some(name) = line.trim_start().strip_prefix("constexpr ").and_then(constant_name) else { return false };
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    source.generated()
        && !operators()
        && stretches(&source.code, is_part).filter(|word| &source.code[word.clone()] == name).count() == 1
}

fn site(number: usize, source: &Source, range: Range<usize>, with: String) -> Site {
    let begin = source.code[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = source.code[range.end..].find('\n').map_or(source.code.len(), |at| range.end + at);
    let changed = format!("{}{with}{}", &source.code[begin..range.start], &source.code[range.end..end]);
    let (before, after) = (squeezed(&source.code[begin..end]), squeezed(&changed));
    let key = format!("{}, {}: {before} -> {after}", source.name, source.function(range.start));
    Site { source: number, line: source.line(range.start), key, edits: vec![(number, range, with)] }
}

/// Whole numbers, each one more and one less.
fn numbers(source: &Source) -> impl Iterator<Item = (Range<usize>, String)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let words = stretches(&source.code, is_part).filter_map(|range| {
        let word = &source.code[range.clone()];
        let digits = word.trim_end_matches(['u', 'l', 'U', 'L']);
        let value = digits.parse::<u64>().ok()?;
        Some((range.clone(), value, word[digits.len()..].to_owned()))
    });
    words.flat_map(|(range, value, suffix)| {
        // More room than a tensor takes is no fault, and neither are fewer rows at a time.
        let more = (!is_size(&source.code, &range)).then_some(value + 1);
        let less = value.checked_sub(1).filter(|_| !source.code[..range.start].ends_with(" ROWS = "));
        let same = |other: &u64| takes_the_same(&source.code, range.start, value, *other);
        let others: Vec<u64> = [more, less].into_iter().flatten().filter(|other| !same(other)).collect();
        others.into_iter().map(move |other| (range.clone(), format!("{other}{suffix}")))
    })
}

/// Elements that rows of values in UB are aligned to (vector.h, `UbPitch`).
const ROW_ALIGN: u64 = 16;

/// Arguments of calls that are a number of columns, and whether fewer of them differ: in UB what follows the columns of a row up to
/// the next one belongs to nobody.
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
    ("TakeColumns", 5, true),
];

/// Structures of parameters: which parameter is how many there are of something, and which are how far these are apart. Of one alone,
/// nothing is apart.
const DISTANCES: &[(&str, usize, &[usize])] = &[
    ("DataCopyExtParams", 0, &[2, 3]),
    ("FixpipeParamsV220", 7, &[8, 9]),
    ("GatherMaskParams", 1, &[2, 3]),
    ("Nd2NzParams", 0, &[3, 7]),
];

/// Whether a number counts columns, and another one is of the same elements in UB, or it is a distance between what comes once.
fn takes_the_same(code: &str, at: usize, value: u64, other: u64) -> bool {
    let (callee, place, begin) = argument(code, at);
    let counts =
        |(name, number, fewer): &(&str, usize, bool)| *name == callee && *number == place && !(*fewer && other < value);
    let alone = |(name, count, distances): &(&str, usize, &[usize])| {
        *name == callee && distances.contains(&place) && arguments(code, begin).get(*count) == Some(&"1")
    };
    value.div_ceil(ROW_ALIGN) == other.div_ceil(ROW_ALIGN) && COLUMNS.iter().any(counts) || DISTANCES.iter().any(alone)
}

/// Which argument of which call a place belongs to, and where the arguments of that call begin.
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

/// The arguments of the call whose first one begins here.
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

/// Whether a number is how much a tensor in UB holds.
fn is_size(code: &str, number: &Range<usize>) -> bool {
    let line = code[..number.start].rsplit('\n').next().unwrap_or_default();
    let call = line.rsplit("= Ub<").next().filter(|call| call.len() < line.len()).unwrap_or_default();
    call.ends_with(", ") && call.matches(',').count() == 1 && code[number.end..].starts_with(");")
}

/// Operators, which have a blank on either side.
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
        // Both sides are still evaluated: what they wait for is another mutation.
        let text = source.code[range.clone()].to_owned();
        ["|| true", "&& false"].map(|constant| (range.clone(), format!("({text}) {constant}")))
    })
}

/// Where the parenthesis ends that has been opened before `text`.
fn closing(text: &str) -> usize {
    let mut depth = 1;
    let ends = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    };
    text.find(ends).expect("a condition ends")
}

/// A counter or a space, and the next one of the file.
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

/// Calls and assignments that stand alone, but for those that keep order, which the other sweep removes.
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
            && head.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && (head[callee..].starts_with('(') || rest.trim_start().starts_with("= "));
        (stands_alone && source.statements(&head[..callee]).any(|known| known == place)).then_some(place)
    });
    begins.map(|at| (source.statement(at), ";".to_owned()))
}

/// Stretches of such characters, as long as can be.
fn stretches(text: &str, is_part: impl Fn(char) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at + text[at..].find(&is_part)?;
        let end = text[begin..].find(|c| !is_part(c)).map_or(text.len(), |length| begin + length);
        at = end;
        Some(begin..end)
    })
}
