//! Helper functions for the wording of reports.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A number with its noun: `1 launch`, `2 launches`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A set of numbers in words, as ranges: `0–3, 7`.
pub(super) fn ranges(numbers: &BTreeSet<usize>) -> String {
    let numbers: Vec<usize> = numbers.iter().copied().collect();
    let mut text = String::new();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = match run {
            [only] => write!(text, "{comma}{only}"),
            [first, .., last] => write!(text, "{comma}{first}–{last}"),
            [] => Ok(()),
        };
    }
    text
}

/// The least and the greatest number: `21–24`, or `24` if they are equal.
pub(super) fn between(numbers: impl Iterator<Item = usize> + Clone) -> String {
    match (numbers.clone().min(), numbers.max()) {
        (Some(least), Some(most)) if least < most => format!("{least}–{most}"),
        (least, _) => least.unwrap_or(0).to_string(),
    }
}

/// A number of bytes in the largest unit that gives at least 1.
pub(crate) fn size_text(bytes: usize) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    match (bytes.max(1).ilog2() / 10) as usize {
        0 => format!("{bytes} B"),
        unit => format!("{:.1} {}", bytes as f64 / (1_u64 << (10 * unit)) as f64, UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_like_a_person_wrote_them() {
        assert_eq!((counted(1, "rank", "ranks"), counted(0, "rank", "ranks")), ("1 rank".into(), "0 ranks".into()));
        let text = |numbers: &[usize]| ranges(&numbers.iter().copied().collect());
        assert_eq!(
            (text(&[]), text(&[4]), text(&[7, 1, 0, 2, 5, 9, 8])),
            ("".into(), "4".into(), "0–2, 5, 7–9".into())
        );
        let least_to_most = |numbers: &[usize]| between(numbers.iter().copied());
        assert_eq!((least_to_most(&[3, 3]), least_to_most(&[4, 2])), ("3".into(), "2–4".into()));
    }
}
