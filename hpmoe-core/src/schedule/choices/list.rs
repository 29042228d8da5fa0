//! All choices by their keys, with the values that tuning tries.

use super::decisions::Choices;
use super::value::ChoiceValue;
use crate::schedule::MOST_TURN_ROWS;

/// A choice: its key, and how its value is read and written.
pub struct Choice {
    /// The name in files and on the command line.
    pub key: &'static str,
    /// The values that `hpmoe tune` tries, in the notation of files.
    pub tried: &'static [&'static str],
    limits: (u32, u32),
    value: fn(&Choices) -> String,
    /// Reads a value and sets the choice. Returns `false` if the value can't be read or exceeds its limits.
    set: fn(&mut Choices, &str, (u32, u32)) -> bool,
    known: fn((u32, u32)) -> String,
}

impl Choice {
    /// The value of this choice in `choices`, in the notation of files.
    #[must_use]
    pub fn value(&self, choices: &Choices) -> String {
        (self.value)(choices)
    }

    pub(super) fn set(&self, choices: &mut Choices, value: &str) -> Result<(), String> {
        let Self { key, limits, .. } = self;
        let refusal = || format!("`{key}` is `{value}`, but must be {}", (self.known)(*limits));
        (self.set)(choices, value, *limits).then_some(()).ok_or_else(refusal)
    }
}

/// Limits of choices whose value is not a number.
const NO_LIMITS: (u32, u32) = (0, 0);

const fn known<T: ChoiceValue>(_: fn(&Choices) -> T) -> fn((u32, u32)) -> String {
    T::known
}

macro_rules! choice {
    ($field:ident, $limits:expr, $tried:expr) => {
        Choice {
            key: stringify!($field),
            tried: &$tried,
            limits: $limits,
            value: |choices| choices.$field.written(),
            set: |choices, text, limits| ChoiceValue::read(text, limits).map(|value| choices.$field = value).is_some(),
            known: known(|choices| choices.$field),
        }
    };
}

/// All choices, in the order of files.
pub const CHOICES: [Choice; 14] = [
    choice!(put_cores, (1, 1024), ["auto", "8", "12", "16", "20", "24", "28", "32", "40"]),
    choice!(matrix_band, (1, 4096), ["auto", "1", "2", "3", "4", "6", "8", "12"]),
    choice!(put_band, (1, 4096), ["auto", "1", "2", "3", "4", "6"]),
    choice!(rotation, (0, 4096), ["auto", "0", "1", "2", "4", "12"]),
    choice!(peer_cores, (1, 10_000), ["shared", "10", "20", "40", "100", "400"]),
    choice!(dedicate_from, (0, 10_000), ["0", "100"]),
    choice!(by_arrival, NO_LIMITS, ["never", "whole_experts", "always"]),
    choice!(turn_rows, (0, MOST_TURN_ROWS), ["auto", "0", "128", "512"]),
    choice!(return_cores, NO_LIMITS, ["sending", "computing"]),
    choice!(join, NO_LIMITS, ["false", "true"]),
    choice!(by_load, NO_LIMITS, ["false", "true"]),
    choice!(lightest_first, (1, 4096), ["auto", "2", "4096"]),
    choice!(read_ahead, NO_LIMITS, ["false", "true"]),
    choice!(experts_ahead, (0, 4096), ["auto", "0", "1", "2", "3"]),
];
