//! A change of the source that is chosen while the program runs.

use std::fmt;
use std::ops::Range;

/// How a mutant differs from the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// Other text in place of an expression.
    Instead(String),
    /// A condition is taken as true.
    True,
    /// A condition is taken as false.
    False,
    /// A statement is left out.
    LeftOut,
    /// A function returns this at once.
    Returns(&'static str),
}

/// A change of one place.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// The file, from the root of the repository.
    pub(crate) path: String,
    /// The function, after the types or modules that it is in.
    pub(crate) function: String,
    /// The bytes of the file that it changes; for a return, an empty range at the start of the body.
    pub(crate) range: Range<usize>,
    /// Their text on one line.
    pub(crate) text: String,
    pub(crate) change: Change,
    /// Number of equal changes before it in the function.
    pub(crate) number: usize,
}

impl Mutant {
    /// The text before and after the place, for a mutant of this number.
    pub(crate) fn around(&self, number: u32) -> (String, &'static str) {
        let on = format!("crate::mutant_switch::on({number})");
        match &self.change {
            Change::Instead(text) => (format!("(if {on} {{ {text} }} else {{ "), " })"),
            Change::True => (format!("({on} || ("), "))"),
            Change::False => (format!("(!{on} && ("), "))"),
            Change::LeftOut => (format!("if !{on} {{ "), " }"),
            Change::Returns(value) => (format!(" if {on} {{ return {value}; }} "), ""),
        }
    }

    /// Whether it is the same change of the same text.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        (&self.path, &self.function, &self.text, &self.change)
            == (&other.path, &other.function, &other.text, &other.change)
    }
}

/// A text without the breaks of its lines.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The name in the list of survivors, which does not depend on other changes of the file.
impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, function, text, change, number, .. } = self;
        write!(f, "{path}, {function}: ")?;
        match change {
            Change::Instead(becomes) => write!(f, "{text} -> {}", one_line(becomes)),
            Change::True => write!(f, "{text} -> true"),
            Change::False => write!(f, "{text} -> false"),
            Change::LeftOut => write!(f, "{text} left out"),
            Change::Returns(value) => write!(f, "returns {value}"),
        }?;
        if *number > 0 { write!(f, " ({})", number + 1) } else { Ok(()) }
    }
}
