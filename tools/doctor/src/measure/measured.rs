//! Constants that were timed.

/// A constant of a target, as these NPUs have it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Measured {
    pub(super) section: &'static str,
    pub(super) key: &'static str,
    pub(super) value: f64,
    /// The description of the measurement, for the file.
    pub(super) by: String,
}
