//! The file next to a kernel's source that keeps the schedules found by tuning.

use super::shape::{NamedSizes, alike};
use super::{Candidate, is_tile_size};
use crate::constant::NAMES_OF_TILE_SIZES;
use crate::schedule::Choices;
use crate::target::{FileFault, without_faults};
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The schedules found for the kernels of a source file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tuned {
    /// One schedule for each kernel, shape, target and number of cores; or several with different tile sizes.
    pub kernels: Vec<TunedKernel>,
}

/// The schedule found for one kernel, shape, target and number of cores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TunedKernel {
    /// Name of the kernel's module.
    pub kernel: String,
    /// Name of the target.
    pub target: String,
    /// Matrix cores per rank.
    pub matrix_cores: u32,
    /// The kernel's constants with which the schedule was found. Of tile sizes, only those that were set, and those of the source that the
    /// search left as they are; older files have none.
    pub shape: NamedSizes,
    /// The tile sizes and choices to build the kernel with.
    pub candidate: Candidate,
    /// The improvement that was found, as a note for readers of the file.
    pub note: String,
}

/// The tile sizes that a build has without a tuned schedule.
#[derive(Clone, Copy, Debug)]
pub struct BuildSizes<'a> {
    /// The tile sizes that the build sets.
    pub set: &'a NamedSizes,
    /// All tile sizes that the source writes as numbers or leaves open, with the values of the build.
    pub all: &'a NamedSizes,
}

/// A tile size for which a schedule was not found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OtherSize {
    /// Name of the constant.
    pub name: String,
    /// The value with which the schedule was found.
    pub found: usize,
    /// The value that the source or the build gives.
    pub given: usize,
}

impl Tuned {
    /// The schedules found for a kernel with this shape, target and number of matrix cores, for any tile sizes. Two shapes match if all
    /// constants are equal; of `TOKENS`, only the next power of two must be equal.
    pub fn for_shape<'a>(
        &'a self,
        kernel: &'a str,
        shape: &'a NamedSizes,
        target: &'a str,
        cores: u32,
    ) -> impl Iterator<Item = &'a TunedKernel> {
        self.kernels.iter().filter(move |known| known.is_for(kernel, shape, target, cores))
    }

    /// Stores a schedule. It replaces the schedule that a build with these tile sizes would use for its kernel, shape, target and number of
    /// matrix cores.
    pub fn keep(&mut self, tuned: TunedKernel, sizes: BuildSizes<'_>) {
        let (target, cores) = (tuned.target.as_str(), tuned.matrix_cores);
        let replaces = |known: &TunedKernel| {
            known.is_for(&tuned.kernel, &tuned.shape, target, cores) && known.other_sizes(sizes).is_empty()
        };
        match self.kernels.iter().position(replaces) {
            Some(known) => self.kernels[known] = tuned,
            None => self.kernels.push(tuned),
        }
    }

    /// Reads the text of a file of tuned schedules.
    ///
    /// # Errors
    ///
    /// All unknown or missing keys and invalid values, each with its line; or the first syntax error of the TOML.
    pub fn read(text: &str) -> Result<Self, Vec<FileFault>> {
        let line = |at: usize| 1 + text[..at.min(text.len())].matches('\n').count();
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(0, |span| line(span.start));
            vec![FileFault { line, text: error.message().to_owned() }]
        })?;
        let mut reader = FileReader { line: &line, faults: Vec::new() };
        let mut tuned = Self::default();
        for (key, value) in table.get_ref() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("tuned", DeValue::Array(kernels)) => {
                    tuned.kernels.extend(kernels.iter().filter_map(|kernel| reader.kernel(kernel)));
                }
                (other, _) => {
                    reader.fault(key, format!("unknown key `{other}`: a file of schedules has only `[[tuned]]`"))
                }
            }
        }
        without_faults(tuned, reader.faults)
    }
}

impl TunedKernel {
    /// The tile sizes that a build fixes at other values than those with which the schedule was found. If there are any, the schedule is
    /// not for this build. A size that the source gives does not count if the schedule replaces it.
    #[must_use]
    pub fn other_sizes(&self, BuildSizes { set, all }: BuildSizes<'_>) -> Vec<OtherSize> {
        let replaced = self.candidate.sizes.iter().map(|size| (size, set));
        let left = self.shape.iter().filter(|(name, _)| is_tile_size(name)).map(|size| (size, all));
        let others = replaced.chain(left).filter_map(|((name, &found), values)| {
            let given = *values.get(name).filter(|given| **given != found)?;
            Some(OtherSize { name: name.clone(), found, given })
        });
        others.collect()
    }

    fn is_for(&self, kernel: &str, shape: &NamedSizes, target: &str, cores: u32) -> bool {
        (self.kernel.as_str(), self.target.as_str(), self.matrix_cores) == (kernel, target, cores)
            && alike(&self.shape, shape)
    }
}

struct FileReader<'a> {
    line: &'a dyn Fn(usize) -> usize,
    faults: Vec<FileFault>,
}

impl FileReader<'_> {
    fn fault<T>(&mut self, at: &Spanned<T>, text: String) {
        self.faults.push(FileFault { line: (self.line)(at.span().start), text });
    }

    fn kernel(&mut self, value: &Spanned<DeValue<'_>>) -> Option<TunedKernel> {
        let before = self.faults.len();
        let DeValue::Table(table) = value.get_ref() else {
            self.fault(value, "`tuned` must be a list of tables".to_owned());
            return None;
        };
        let (mut kernel, mut target, mut cores) = (None, None, None);
        let (mut shape, mut candidate, mut note) = (NamedSizes::new(), Candidate::default(), String::new());
        for (key, value) in table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("kernel", DeValue::String(name)) => kernel = Some(name.to_string()),
                ("target", DeValue::String(name)) => target = Some(name.to_string()),
                ("note", DeValue::String(text)) => note = text.to_string(),
                ("matrix_cores", DeValue::Integer(_)) => {
                    cores = self.number(key, value).and_then(|cores| u32::try_from(cores).ok());
                }
                ("shape", DeValue::Table(table)) => shape.extend(self.numbers(table)),
                ("sizes", DeValue::Table(table)) => {
                    for (size, _) in table.iter().filter(|(size, _)| !is_tile_size(size.get_ref())) {
                        self.fault(size, format!("`{}` is not a tile size: use {NAMES_OF_TILE_SIZES}", size.get_ref()));
                    }
                    candidate.sizes.extend(self.numbers(table));
                }
                ("choices", DeValue::Table(flows)) => {
                    for (flow, value) in flows {
                        let DeValue::Table(table) = value.get_ref() else {
                            self.fault(flow, format!("`choices.{}` must be a table", flow.get_ref()));
                            continue;
                        };
                        let choices = self.choices(table);
                        candidate.choices.insert(flow.get_ref().to_string(), choices);
                    }
                }
                ("kernel" | "target" | "note" | "matrix_cores" | "shape" | "sizes" | "choices", _) => {
                    self.fault(key, format!("`{}` has a value of the wrong type", key.get_ref()));
                }
                (other, _) => self.fault(key, format!("unknown key `{other}`")),
            }
        }
        for (key, missing) in
            [("kernel", kernel.is_none()), ("target", target.is_none()), ("matrix_cores", cores.is_none())]
        {
            if missing && self.faults.len() == before {
                self.fault(value, format!("`{key}` is missing"));
            }
        }
        Some(TunedKernel { kernel: kernel?, target: target?, matrix_cores: cores?, shape, candidate, note })
    }

    fn choices(&mut self, table: &DeTable<'_>) -> Choices {
        let mut choices = Choices::default();
        for (key, value) in table {
            let value = match value.get_ref() {
                DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
                DeValue::Boolean(value) => value.to_string(),
                DeValue::String(word) => word.to_string(),
                _ => {
                    self.fault(key, format!("`{}` must be a word, a number, `true` or `false`", key.get_ref()));
                    continue;
                }
            };
            if let Err(fault) = choices.set(key.get_ref(), &value) {
                self.fault(key, fault);
            }
        }
        choices
    }

    fn numbers(&mut self, table: &DeTable<'_>) -> Vec<(String, usize)> {
        table.iter().filter_map(|(key, value)| Some((key.get_ref().to_string(), self.number(key, value)?))).collect()
    }

    fn number<T: AsRef<str>>(&mut self, key: &Spanned<T>, value: &Spanned<DeValue<'_>>) -> Option<usize> {
        let number = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.fault(key, format!("`{}` must be a whole number", key.get_ref().as_ref()));
        }
        number
    }
}

impl fmt::Display for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "# Schedules found by `hpmoe tune`. The build script takes the one for its kernel, constants and target; without\n\
             # one it takes the default. TOKENS stands for all numbers with the same next power of two.\n",
        )?;
        self.kernels.iter().try_for_each(|kernel| write!(f, "\n{kernel}"))
    }
}

impl fmt::Display for TunedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[[tuned]]")?;
        if !self.note.is_empty() {
            writeln!(f, "note = \"{}\"", self.note)?;
        }
        writeln!(f, "kernel = \"{}\"\ntarget = \"{}\"", self.kernel, self.target)?;
        writeln!(f, "matrix_cores = {}", self.matrix_cores)?;
        let inline = |pairs: Vec<String>| format!("{{ {} }}", pairs.join(", "));
        writeln!(
            f,
            "shape = {}",
            inline(self.shape.iter().map(|(name, value)| format!("{name} = {value}")).collect())
        )?;
        if !self.candidate.sizes.is_empty() {
            let sizes = self.candidate.sizes.iter().map(|(name, value)| format!("{name} = {value}"));
            writeln!(f, "sizes = {}", inline(sizes.collect()))?;
        }
        for (flow, choices) in &self.candidate.choices {
            let plain = |value: &str| value.parse::<u32>().is_ok() || value.parse::<bool>().is_ok();
            let quoted = |value: String| if plain(&value) { value } else { format!("\"{value}\"") };
            let choices = choices.named().map(|(key, value)| format!("{key} = {}", quoted(value)));
            writeln!(f, "choices.{flow} = {}", inline(choices.collect()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_come_back_as_written() {
        let choices =
            "put_cores=12 peer_cores=shared by_arrival=always return_cores=sending join=false experts_ahead=2";
        let candidate = Candidate {
            sizes: NamedSizes::from([("TILE_M".to_owned(), 64)]),
            choices: [("forward".to_owned(), Choices::read(choices).unwrap())].into(),
        };
        let tuned = Tuned {
            kernels: vec![TunedKernel {
                kernel: "moe_ffn".to_owned(),
                target: "ascend-a3".to_owned(),
                matrix_cores: 24,
                shape: NamedSizes::from([("HIDDEN".to_owned(), 256)]),
                candidate,
                note: String::new(),
            }],
        };
        let text = tuned.to_string();
        assert!(text.contains("by_arrival = \"always\", return_cores = \"sending\", join = false"), "{text}");
        assert_eq!(Tuned::read(&text), Ok(tuned));
        let faults = Tuned::read(&text.replace("\"always\"", "2").replace("join = false", "join = [1]")).unwrap_err();
        let texts: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
        let expected = [
            "`by_arrival` is `2`, but must be `never`, `whole_experts` or `always`",
            "`join` must be a word, a number, `true` or `false`",
        ];
        assert_eq!(texts, expected);
    }
}
