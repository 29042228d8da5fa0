//! What a schedule may be made with, where more than one way is right.

use std::fmt;

/// Choices that change when things happen, and never what is computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choices {
    /// Vector cores that put; 0: as many as fill the link, and no more than their share of the work.
    pub put_cores: u32,
    /// Rows of tiles that products walk together, column by column.
    pub matrix_band: u32,
    /// The same for products whose rows are put to other ranks then.
    pub put_band: u32,
    /// 0: all cores that send serve one peer after another. Else, where there are three for each rank and enough is sent, each
    /// serves some peers alone, the i-th peer gets its share by 1/i + spread/100.
    pub spread: u32,
    /// From how many rows of a rank for an expert on, in percent of a row tile, cores serve peers alone: a row tile with rows
    /// of several ranks needs them all at once.
    pub spread_from: u32,
    /// Where cores serve peers alone: 0: row tiles are walked rank after rank, and all cores serve one peer after another where
    /// a phase needs all rows of an expert at once; 1: there, peers get even shares, and tiles are walked as rows come; 2:
    /// everywhere.
    pub coming: u32,
    /// 1: vector cores that compute also put results back, where those that send serve peers alone; 0: those that send do.
    pub returns: u32,
    /// 1: phases with the same tiles that follow one another are walked together, tile by tile; 0: one after the other.
    pub join: u32,
    /// 1: a rank works on its experts by their rows at run time, the least loaded one first and then from the most loaded on; 0:
    /// by number.
    pub by_load: u32,
    /// How many experts a role begins with before it goes on with what another role has made of the first.
    pub ahead: u32,
}

/// One choice.
pub struct Choice {
    /// Its name in files.
    pub key: &'static str,
    /// What is tried when a schedule is tuned.
    pub tried: &'static [u32],
    most: u32,
    get: fn(&Choices) -> u32,
    set: fn(&mut Choices, u32),
}

/// All choices.
pub const CHOICES: [Choice; 10] = [
    Choice {
        key: "put_cores",
        tried: &[0, 8, 12, 16, 20, 24, 28, 32, 40],
        most: 1024,
        get: |choices| choices.put_cores,
        set: |choices, value| choices.put_cores = value,
    },
    Choice {
        key: "matrix_band",
        tried: &[1, 2, 3, 4, 6, 8, 12],
        most: 4096,
        get: |choices| choices.matrix_band,
        set: |choices, value| choices.matrix_band = value,
    },
    Choice {
        key: "put_band",
        tried: &[1, 2, 3, 4, 6],
        most: 4096,
        get: |choices| choices.put_band,
        set: |choices, value| choices.put_band = value,
    },
    Choice {
        key: "spread",
        tried: &[0, 10, 20, 40, 100, 400],
        most: 10_000,
        get: |choices| choices.spread,
        set: |choices, value| choices.spread = value,
    },
    Choice {
        key: "spread_from",
        tried: &[0, 100],
        most: 10_000,
        get: |choices| choices.spread_from,
        set: |choices, value| choices.spread_from = value,
    },
    Choice {
        key: "coming",
        tried: &[0, 1, 2],
        most: 2,
        get: |choices| choices.coming,
        set: |choices, value| choices.coming = value,
    },
    Choice {
        key: "returns",
        tried: &[0, 1],
        most: 1,
        get: |choices| choices.returns,
        set: |choices, value| choices.returns = value,
    },
    Choice {
        key: "join",
        tried: &[0, 1],
        most: 1,
        get: |choices| choices.join,
        set: |choices, value| choices.join = value,
    },
    Choice {
        key: "by_load",
        tried: &[0, 1],
        most: 1,
        get: |choices| choices.by_load,
        set: |choices, value| choices.by_load = value,
    },
    Choice {
        key: "ahead",
        tried: &[0, 1, 2, 3],
        most: 4096,
        get: |choices| choices.ahead,
        set: |choices, value| choices.ahead = value,
    },
];

impl Default for Choices {
    /// Found on the DeepSeek-V3 layer on eight Ascend A3, with even and with uneven routing. Short bands end rows soon, which
    /// keeps the links evenly busy and leaves few rows for the very end; with 24 cores on 2x12 tiles products still need
    /// less than HBM gives.
    fn default() -> Self {
        Self {
            put_cores: 0,
            matrix_band: 2,
            put_band: 1,
            spread: 20,
            spread_from: 100,
            coming: 1,
            returns: 1,
            join: 1,
            by_load: 1,
            ahead: 1,
        }
    }
}

impl Choices {
    /// Values by key, those of the default left out.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        let default = Self::default();
        let all = CHOICES.iter().map(move |choice| (choice.key, (choice.get)(self), (choice.get)(&default)));
        all.filter(|(_, value, default)| value != default).map(|(key, value, _)| (key, value))
    }

    /// Sets a choice by its key.
    ///
    /// # Errors
    ///
    /// A sentence, when there is no such choice or it can't have the value.
    pub fn set(&mut self, key: &str, value: u64) -> Result<(), String> {
        let choice = CHOICES.iter().find(|choice| choice.key == key).ok_or_else(|| {
            let known = CHOICES.map(|choice| choice.key).join("`, `");
            format!("there is no choice `{key}`: there are `{known}`")
        })?;
        let least = u32::from(key.ends_with("band"));
        match u32::try_from(value).ok().filter(|value| (least..=choice.most).contains(value)) {
            Some(value) => (choice.set)(self, value),
            None => return Err(format!("`{key}` is {value}: it may be {least} to {}", choice.most)),
        }
        Ok(())
    }

    /// Reads what `Display` writes.
    ///
    /// # Errors
    ///
    /// A sentence that names the part that is no choice.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut choices = Self::default();
        for part in text.split_whitespace() {
            let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is not `key=value`"))?;
            let value = value.parse().map_err(|_| format!("`{key}` is `{value}`, which is no whole number"))?;
            choices.set(key, value)?;
        }
        Ok(choices)
    }
}

impl fmt::Display for Choices {
    /// `key=value`, separated by blanks; nothing for the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (key, value)) in self.named().enumerate() {
            let blank = if place > 0 { " " } else { "" };
            write!(f, "{blank}{key}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_come_back_as_written() {
        assert_eq!(Choices::default().to_string(), "");
        for choice in &CHOICES {
            for &value in choice.tried {
                let mut choices = Choices::default();
                choices.set(choice.key, value.into()).unwrap();
                assert_eq!(Choices::read(&choices.to_string()), Ok(choices));
            }
        }
    }

    #[test]
    fn what_is_no_choice_is_named() {
        let words = |text| Choices::read(text).unwrap_err();
        assert!(words("bands=2").contains("no choice `bands`"));
        assert!(words("put_band=0").contains("1 to 4096"));
        assert!(words("put_band=x").contains("no whole number"));
        assert!(words("put_band").contains("not `key=value`"));
    }
}
