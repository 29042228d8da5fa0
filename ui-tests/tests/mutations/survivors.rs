//! The list of what no run can find.

use std::collections::BTreeMap;

const LIST: &str = include_str!("survivors.txt");

/// Reasons by mutation: a line for the mutation, indented lines for its reason.
pub fn survivors() -> BTreeMap<&'static str, String> {
    let mut all: BTreeMap<&str, String> = BTreeMap::new();
    let mut last = None;
    for line in LIST.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        if line.starts_with(' ') {
            let reason = last.and_then(|key| all.get_mut(key)).expect("a reason stands below its mutation");
            reason.push_str(line.trim());
            reason.push(' ');
        } else {
            all.insert(line.trim_end(), String::new());
            last = Some(line.trim_end());
        }
    }
    let bare: Vec<_> = all.iter().filter(|(_, reason)| reason.is_empty()).map(|(key, _)| key).collect();
    assert!(bare.is_empty(), "survivors without a reason: {bare:?}");
    all
}
