//! The provenance of a constant.

/// The origin of a value. In a file, the first word of the comment after the value states it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Provenance {
    /// From a published document or configuration, or measured on hardware.
    Known,
    /// Estimated, because no source is known.
    Assumed,
    /// Fitted to published latencies.
    Fitted,
    /// Set by the user for this run.
    Given,
}

/// One constant of a target.
#[derive(Clone, PartialEq, Debug)]
pub struct TargetConstant {
    /// Section of the file.
    pub section: &'static str,
    /// Key in that section.
    pub key: &'static str,
    /// Line in the file, from 1.
    pub line: usize,
    /// The comment after the value, without `#`; empty if there is none.
    pub comment: String,
    /// The origin of the value.
    pub provenance: Provenance,
}

impl Provenance {
    /// The provenance of a constant of a section, by the comment after it.
    pub(super) fn from_comment(section: &str, comment: &str) -> Self {
        match comment {
            _ if section == "fitted" => Self::Fitted,
            comment if comment.starts_with("assumed") => Self::Assumed,
            _ => Self::Known,
        }
    }
}
