//! Parts of sentences.

use crate::units::Bytes;

/// The problem, and the help that says what to write instead.
pub(super) type Sentence = (String, String);

/// A number of things, as `1 argument` or `3 arguments`.
pub(super) fn counted(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Digits in groups of three, as `65,535`.
pub(super) fn grouped(number: usize) -> String {
    let bytes = Bytes(number as u64).to_string();
    bytes.trim_end_matches(" B").to_owned()
}
