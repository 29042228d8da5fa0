//! Texts in which `…` stands for anything: what is shown of an output.

/// Where a text differs from a pattern: the first part of the pattern that the text does not have. `None` if it has all of them, in order.
/// A line of `…` alone stands for any number of lines, and none.
pub(crate) fn difference(pattern: &str, text: &str) -> Option<String> {
    let (pattern, mut rest) = (pattern.trim_end().replace("\n…\n", "\n…"), text.trim_end());
    let parts: Vec<&str> = pattern.split('…').collect();
    let last = parts.len() - 1;
    for (at, part) in parts.iter().enumerate() {
        let found = match at {
            0 if last == 0 => (rest == *part).then_some(0),
            0 => rest.starts_with(part).then_some(0),
            _ if at == last => rest.ends_with(part).then(|| rest.len() - part.len()),
            _ => rest.find(part),
        };
        match found {
            Some(start) => rest = &rest[start + part.len()..],
            None => return Some((*part).to_owned()),
        }
    }
    None
}

#[test]
fn dots_stand_for_anything_else_for_itself() {
    assert_eq!(difference("a\n…\nd\n", "a\nb\nc\nd"), None);
    assert_eq!(difference("a\n…\nd\n", "a\nd"), None);
    assert_eq!(difference("took … ms", "took 12 ms\n"), None);
    assert_eq!(difference("took … ms", "took 12 s"), Some(" ms".to_owned()));
    assert_eq!(difference("a\nb", "a\nb\nc"), Some("a\nb".to_owned()));
    assert_eq!(difference("a … b … c", "a c b"), Some(" b ".to_owned()));
}
