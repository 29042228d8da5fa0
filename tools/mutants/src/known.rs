//! The list of mutants that no test can notice, each with its reason.

use std::collections::BTreeMap;

/// The reason of each survivor, from a text in which a name stands on a line and its reason after it, indented.
///
/// # Errors
///
/// When a name has no reason, or a reason no name.
pub(crate) fn reasons(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut listed: Vec<(String, Vec<&str>)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("    "), listed.last_mut()) {
            (Some(words), Some((_, reason))) => reason.push(words),
            (Some(_), None) => return Err(format!("survivors.txt: a reason without a name: {line}")),
            (None, _) => listed.push((line.to_owned(), Vec::new())),
        }
    }
    match listed.iter().find(|(_, reason)| reason.is_empty()) {
        Some((name, _)) => Err(format!("survivors.txt: no reason why nothing can notice: {name}")),
        None => Ok(listed.into_iter().map(|(name, reason)| (name, reason.join(" "))).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::reasons;

    #[test]
    fn each_survivor_has_a_reason() {
        let read = reasons(
            "# Words.\na.rs, f: 1 -> 2\n    A hint only,\n    for speed.\n\nb.rs, g: returns 0\n    Never called.\n",
        );
        let read = read.unwrap();
        assert_eq!(read["a.rs, f: 1 -> 2"], "A hint only, for speed.");
        assert_eq!(read.len(), 2);
        assert!(reasons("a.rs, f: 1 -> 2\nb.rs, g: returns 0\n    Never called.\n").unwrap_err().contains("a.rs"));
        assert!(reasons("    Never called.\n").is_err());
    }

    #[test]
    fn the_list_can_be_read() {
        assert!(reasons(include_str!("../survivors.txt")).is_ok());
    }
}
