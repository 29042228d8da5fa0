//! Choices: decisions of the scheduler that have more than one right answer.

mod decisions;
mod list;
mod value;

pub use decisions::{ByArrival, Choices, PeerCores, ReturnCores};
pub use list::{CHOICES, Choice};

use std::fmt;

impl Choices {
    /// The key and the value of each choice that differs from the default, as [`set`](Self::set) reads them.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let default = Self::default();
        let all = CHOICES.iter().map(move |choice| (choice.key, choice.value(self), choice.value(&default)));
        all.filter(|(_, value, default)| value != default).map(|(key, value, _)| (key, value))
    }

    /// Sets a choice by its key.
    ///
    /// # Errors
    ///
    /// If no choice has this key, a sentence that lists all keys. If the choice can't have the value, a sentence that says which values it
    /// can have.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let choice = CHOICES.iter().find(|choice| choice.key == key).ok_or_else(|| {
            let known = CHOICES.map(|choice| choice.key).join("`, `");
            format!("there is no choice `{key}`: the choices are `{known}`")
        })?;
        choice.set(self, value)
    }

    /// Reads choices in the form in which `Display` writes them.
    ///
    /// # Errors
    ///
    /// A sentence about the first part that is not `key=value`, or that [`set`](Self::set) refuses.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut choices = Self::default();
        for part in text.split_whitespace() {
            let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is not `key=value`"))?;
            choices.set(key, value)?;
        }
        Ok(choices)
    }
}

impl fmt::Display for Choices {
    /// `key=value`, separated by blanks; nothing for the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.named().map(|(key, value)| format!("{key}={value}")).collect();
        f.write_str(&pairs.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_come_back_as_written() {
        assert_eq!(Choices::default().to_string(), "");
        for choice in &CHOICES {
            for value in choice.tried {
                let mut choices = Choices::default();
                choices.set(choice.key, value).unwrap();
                assert_eq!(choice.value(&choices), *value);
                assert_eq!(Choices::read(&choices.to_string()), Ok(choices));
            }
        }
    }

    #[test]
    fn what_is_not_a_choice_is_named() {
        let refusal = |text| Choices::read(text).unwrap_err();
        assert!(refusal("bands=2").contains("no choice `bands`"));
        assert_eq!(refusal("put_band=0"), "`put_band` is `0`, but must be `auto` or 1 to 4096");
        assert!(refusal("put_band=x").contains("1 to 4096"));
        assert_eq!(refusal("put_cores=0"), "`put_cores` is `0`, but must be `auto` or 1 to 1024");
        assert_eq!(refusal("join=1"), "`join` is `1`, but must be `true` or `false`");
        assert_eq!(refusal("by_arrival=2"), "`by_arrival` is `2`, but must be `never`, `whole_experts` or `always`");
        assert!(refusal("put_band").contains("not `key=value`"));
    }

    #[test]
    fn the_least_and_the_greatest_number_may_be_chosen_and_none_beyond() {
        for (key, least, most) in [("put_cores", 1, 1024), ("peer_cores", 1, 10_000), ("dedicate_from", 0, 10_000)] {
            let may_be = |value: u32| Choices::read(&format!("{key}={value}")).is_ok();
            assert_eq!([least, most, most + 1].map(may_be), [true, true, false], "{key}");
            assert!(least == 0 || !may_be(least - 1), "{key}");
        }
    }
}
