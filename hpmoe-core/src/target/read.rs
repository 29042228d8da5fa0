//! Reads the text of a target file.

use super::constants::KEYS;
use super::fault::without_faults;
use super::provenance::{Provenance, TargetConstant};
use super::source::hint;
use super::{FileFault, Target};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

impl Target {
    /// Reads the text of a target file.
    ///
    /// # Errors
    ///
    /// All unknown, missing and invalid keys, each with its line; or only the first syntax error of the TOML.
    pub fn read(text: &str) -> Result<Self, Vec<FileFault>> {
        let lines = Lines { text };
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(0, |span| lines.line_at(span.start));
            vec![FileFault { line, text: error.message().to_owned() }]
        })?;
        let mut faults = Vec::new();
        let mut target = Self::default();
        let mut values = Vec::new();
        for (section, content) in table.get_ref() {
            let line = lines.line_at(section.span().start);
            let section = section.get_ref().as_ref();
            match content.get_ref() {
                DeValue::String(name) if section == "name" => {
                    name.as_ref().clone_into(&mut target.name);
                    // It stands in notes and in the files of tuned schedules.
                    if name.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
                        let text = "`name` must not have quotes, backslashes or line breaks".to_owned();
                        faults.push(FileFault { line, text });
                    }
                }
                DeValue::Table(keys) if KEYS.iter().any(|key| key.section == section) => {
                    for (key, value) in keys {
                        let line = lines.line_at(key.span().start);
                        let name = (section.to_owned(), key.get_ref().as_ref().to_owned());
                        if KEYS.iter().any(|key| (key.section, key.key) == (&name.0, &name.1)) {
                            values.push((name, line, value));
                        } else {
                            let name = format!("{}.{}", name.0, name.1);
                            faults.push(FileFault { line, text: format!("unknown key `{name}`{}", hint(&name)) });
                        }
                    }
                }
                _ if section == "name" => faults.push(FileFault { line, text: "`name` must be a string".to_owned() }),
                _ if KEYS.iter().any(|key| key.section == section) => {
                    faults.push(FileFault { line, text: format!("`{section}` must be a section") });
                }
                _ => faults.push(FileFault { line, text: format!("unknown key `{section}`") }),
            }
        }
        let end = text.lines().count().max(1);
        if target.name.is_empty() {
            faults.push(FileFault { line: 1, text: "`name` is missing".to_owned() });
        }
        for key in KEYS {
            let name = format!("{}.{}", key.section, key.key);
            let is_it = |((section, name), ..): &&((String, String), _, _)| {
                (section.as_str(), name.as_str()) == (key.section, key.key)
            };
            let Some(&(_, line, value)) = values.iter().find(is_it) else {
                let section = table.get_ref().iter().find(|(section, _)| section.get_ref() == key.section);
                let line = section.map_or(end, |(section, _)| lines.line_at(section.span().start));
                faults.push(FileFault { line, text: format!("`{name}` is missing") });
                continue;
            };
            match number(value).filter(|&number| key.range.holds(number)) {
                Some(number) => (key.set)(&mut target, number),
                None => {
                    let (range, value) = (key.range.words(), &text[value.span()]);
                    faults.push(FileFault { line, text: format!("`{name}` must be {range}, not `{value}`") });
                }
            }
            let comment = lines.comment(line);
            let provenance = Provenance::from_comment(key.section, &comment);
            target.constants.push(TargetConstant { section: key.section, key: key.key, line, comment, provenance });
        }
        without_faults(target, faults)
    }
}

fn number(value: &Spanned<DeValue<'_>>) -> Option<f64> {
    match value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

struct Lines<'a> {
    text: &'a str,
}

impl Lines<'_> {
    /// The line that contains the byte at offset `at`, from 1.
    fn line_at(&self, at: usize) -> usize {
        1 + self.text[..at.min(self.text.len())].matches('\n').count()
    }

    fn comment(&self, line: usize) -> String {
        let text = self.text.lines().nth(line - 1).unwrap_or_default();
        text.split_once('#').map(|(_, comment)| comment.trim().to_owned()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::ASCEND_A3;
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        Target::read(text).unwrap_err().iter().map(FileFault::to_string).collect()
    }

    #[test]
    fn the_built_in_target_is_right() {
        let target = Target::ascend_a3();
        assert_eq!(target.name, "ascend-a3");
        assert_eq!(target.constants().len(), KEYS.len());
        assert_eq!(target.get("link", "other_package_ns"), Some(929.0));
        let assumed: Vec<&str> = target.assumed().map(|constant| constant.key).collect();
        assert_eq!(
            assumed,
            [
                "elementwise_gb_per_s",
                "put_gb_per_s_per_aiv",
                "fence_remote_ns",
                "tile_overhead_ns",
                "entry_ns",
                "signal_ns",
                "put_start_ns",
                "empty_task_us",
                "descriptor_aic_us",
                "descriptor_aiv_us"
            ]
        );
    }

    #[test]
    fn unknown_missing_and_nonsense_keys_are_told_with_their_lines() {
        let text = ASCEND_A3
            .replace("clock_ghz", "clock_mhz")
            .replace("aiv = 48", "aiv = -1")
            .replace("l2_mib = 192", "l2_mib = 19.2")
            .replace("gemm_fused_efficiency = 0.8601", "gemm_fused_efficiency = 1.5")
            .replace("kernel_us = 6.5", "kernel_us = \"6.5\"")
            .replace("[vector]", "[wings]\n[vector]");
        assert_eq!(
            faults(&text),
            [
                "line 6: `cores.clock_ghz` is missing",
                "line 8: `cores.aiv` must be a whole number from 1 to 1024, not `-1`",
                "line 9: unknown key `cores.clock_mhz`: is `cores.clock_ghz` meant?",
                "line 16: unknown key `wings`",
                "line 27: `memory.l2_mib` must be a whole number from 1 to 1000000, not `19.2`",
                "line 56: `launch.kernel_us` must be a number from 0 to 10000, not `\"6.5\"`",
                "line 68: `fitted.gemm_fused_efficiency` must be a number from 0.001 to 1, not `1.5`",
            ]
        );
    }

    #[test]
    fn a_fault_of_the_toml_has_its_line() {
        assert!(faults("name = \"x\"\n[cores\n")[0].starts_with("line 2: "));
        assert_eq!(faults("[cores]\naic = 1\naic = 2\n").len(), 1);
        assert_eq!(
            faults(&ASCEND_A3.replace("ascend-a3", "a \\\"3\\\""))[0],
            "line 4: `name` must not have quotes, backslashes or line breaks"
        );
        assert!(faults("").contains(&"line 1: `name` is missing".to_owned()));
    }
}
