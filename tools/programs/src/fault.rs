//! Changes of a program's text that resemble mistakes.

use crate::draw::one_of;
use fastrand::Rng;

/// Sets of words that can replace one another.
const WORDS: [&[&str]; 5] = [
    &[
        ".group(e, m)",
        ".rows_of(&s)",
        ".expert(e)",
        ".rows(t)",
        ".slots(t)",
        ".gather(&s)",
        ".scatter(&s)",
        ".gather(e, m)",
    ],
    &["PerRank::symmetric", "PerRank::ragged", "PerRank::slots", "PerRank::once", "PerRank::tokens"],
    &["[r]", "[src]", "[e.owner()]"],
    &["bf16", "f16", "f32", "i32", "i8"],
    &["#[aiv_task]", "#[aic_task]", "#[comm_put]", "#[taskflow]"],
];

/// Returns the source with one change.
pub(crate) fn changed(source: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
    let inside: Vec<usize> = (2..lines.len() - 1).filter(|&line| lines[line].trim().len() > 1).collect();
    let at = one_of(rng, &inside);
    match rng.usize(..6) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let line = lines.remove(at);
            lines.insert(one_of(rng, &inside).min(lines.len() - 1), line);
        }
        3 => lines[at] = other_number(&lines[at], rng),
        4 => lines[at] = other_tensor(&lines[at], rng),
        _ => lines[at] = other_word(&lines[at], rng),
    }
    lines.join("\n") + "\n"
}

/// Replaces a number by a different one.
fn other_number(line: &str, rng: &mut Rng) -> String {
    let is_digit = |at: usize| line.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let starts: Vec<usize> = (1..line.len()).filter(|&at| is_digit(at) && !is_digit(at - 1)).collect();
    if starts.is_empty() {
        return line.to_owned();
    }
    let start = one_of(rng, &starts);
    let end = (start..line.len()).find(|&at| !is_digit(at)).unwrap_or(line.len());
    let number: usize = line[start..end].parse().unwrap_or(0);
    let other = one_of(rng, &[0, 1, number + 1, number.saturating_sub(1), 2 * number, 70_000]);
    format!("{}{other}{}", &line[..start], &line[end..])
}

/// Replaces a tensor by a different one.
fn other_tensor(line: &str, rng: &mut Rng) -> String {
    let places: Vec<usize> = line.match_indices('[').map(|(at, _)| at).collect();
    if places.is_empty() {
        return line.to_owned();
    }
    let end = one_of(rng, &places);
    let start = line[..end].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    format!("{}t{}{}", &line[..start], rng.usize(..6), &line[end..])
}

/// Replaces a word by a different one of the same set.
fn other_word(line: &str, rng: &mut Rng) -> String {
    let known: Vec<(&str, &[&str])> = WORDS
        .iter()
        .flat_map(|kind| kind.iter().map(move |word| (*word, *kind)))
        .filter(|(word, _)| line.contains(word))
        .collect();
    if known.is_empty() {
        return line.to_owned();
    }
    let (word, kind) = one_of(rng, &known);
    line.replacen(word, one_of(rng, kind), 1)
}
