//! The provenance of a constant.

/// The origin of a value. The target file states it: by the section `[fitted]`, or by a comment after the value that begins with `assumed`.
/// All other values of a file count as known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Provenance {
    /// From a published document or configuration, or measured on hardware.
    Known,
    /// Estimated, because no source is known.
    Assumed,
    /// Fitted to published latencies.
    Fitted,
    /// Set by the user for this run, with [`Target::set`](super::Target::set).
    Given,
}

/// One constant of a target.
#[derive(Clone, PartialEq, Debug)]
pub struct TargetConstant {
    /// Name of the section that contains the constant.
    pub section: &'static str,
    /// Name of the constant in its section.
    pub key: &'static str,
    /// Line that sets the constant in the target file, from 1.
    pub line: usize,
    /// The comment after the value in the target file, without `#`; empty if there is none.
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
