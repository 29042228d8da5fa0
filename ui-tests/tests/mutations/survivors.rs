//! The list of mutations that no run can find.

use std::collections::BTreeMap;

/// Statements whose removal no run finds.
pub const STATEMENTS: &str = include_str!("survivors.txt");
/// Changed expressions that no run finds.
pub const EXPRESSIONS: &str = include_str!("expressions.txt");
/// Start of a line for a mutation that some runs find and others don't.
const SOMETIMES: &str = "sometimes: ";

/// The reason why a mutation may survive.
#[derive(Default)]
pub struct Survivor {
    pub reason: String,
    /// It may also be found, because that depends on chance.
    pub sometimes: bool,
}

/// Reasons by mutation: a line for the mutation, then indented lines for its reason.
pub fn survivors(list: &'static str) -> BTreeMap<&'static str, Survivor> {
    let mut all: BTreeMap<&str, Survivor> = BTreeMap::new();
    let mut last = None;
    for line in list.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        if line.starts_with(' ') {
            let survivor = last.and_then(|key| all.get_mut(key)).expect("a reason stands below its mutation");
            survivor.reason.push_str(line.trim());
            survivor.reason.push(' ');
        } else {
            let sometimes = line.starts_with(SOMETIMES);
            let key = line.strip_prefix(SOMETIMES).unwrap_or(line).trim_end();
            all.insert(key, Survivor { sometimes, ..Survivor::default() });
            last = Some(key);
        }
    }
    let bare: Vec<_> = all.iter().filter(|(_, survivor)| survivor.reason.is_empty()).map(|(key, _)| key).collect();
    assert!(bare.is_empty(), "survivors without a reason: {bare:?}");
    all
}
