//! Measured constants.

/// The measured value of a target's constant.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Measured {
    pub(super) section: &'static str,
    pub(super) key: &'static str,
    pub(super) value: f64,
    /// The description of the measurement, which is written to the file.
    pub(super) by: String,
}
