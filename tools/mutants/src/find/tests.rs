use super::mutants;
use crate::tree::instrument;
use std::collections::BTreeMap;

const SOURCE: &str = r#"
/// Words.
const LIMIT: usize = 3 + 4;

fn count(rows: &[u32], limit: u32) -> u32 {
    let mut sum = 0;
    for row in rows.iter().filter(|row| **row < limit && !is_even(**row)) {
        sum += row;
        note(limit, sum);
    }
    if let Some(first) = rows.first() && *first > 1 {
        return sum;
    }
    match sum {
        7 => 8,
        other if other == limit => other,
        other => other * 2,
    }
}

#[cfg(test)]
mod tests {
    fn not_this() -> bool {
        1 + 1 == 2
    }
}

#[cfg(any(test, feature = "fixture"))]
fn not_this_either() -> bool {
    5 + 6 == 11
}
"#;

fn names() -> Vec<String> {
    mutants("a.rs", SOURCE).unwrap().iter().map(|mutant| mutant.to_string().replace("a.rs, count: ", "")).collect()
}

#[test]
fn expressions_conditions_and_statements_are_changed() {
    let names = names();
    for name in [
        "returns 0",
        "returns 1",
        "0 -> 1",
        "**row < limit -> **row <= limit",
        "**row < limit -> true",
        "!is_even(**row) -> true",
        "!is_even(**row) -> is_even(**row)",
        "**row < limit && !is_even(**row) -> true",
        "**row < limit && !is_even(**row) -> false",
        "sum += row; left out",
        "sum += row -> sum -= row",
        "note(limit, sum) -> note(sum, limit)",
        "rows.first() -> rows.last()",
        "*first > 1 -> true",
        "*first > 1 -> *first >= 1",
        "8 -> 9",
        "8 -> 7",
        "other == limit -> other != limit",
        "other == limit -> false",
        "other * 2 -> other / 2",
    ] {
        assert!(names.iter().any(|found| found == name), "{name} is missing in {names:#?}");
    }
    // Constants, patterns, conditions with patterns, and tests have no mutants.
    for part in ["3 ->", "4 ->", "let Some", "not_this", "5 ->"] {
        assert!(!names.iter().any(|found| found.contains(part)), "{part}: {names:#?}");
    }
}

#[test]
fn equal_changes_have_names_of_their_own() {
    let mut names = names();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(names.contains(&"1 -> 2".to_owned()) && names.contains(&"2 -> 3".to_owned()));
}

#[test]
fn all_mutants_stand_in_one_source() {
    let found = mutants("a.rs", SOURCE).unwrap();
    let named: Vec<_> = found.iter().map(|mutant| (mutant.to_string(), mutant)).collect();
    let numbers: BTreeMap<String, u32> = found.iter().map(ToString::to_string).zip(0..).collect();
    let (text, places) = instrument(SOURCE, &named, &numbers);
    assert!(syn::parse_file(&text).is_ok(), "{text}");
    for (number, (name, place)) in places.iter().enumerate() {
        let on = format!("mutant_switch::on({number})");
        assert_eq!(text.matches(&on).count(), 1, "{name}");
        assert!(text[place.clone()].contains(&on), "{name} is not in {:?}", &text[place.clone()]);
    }
}
