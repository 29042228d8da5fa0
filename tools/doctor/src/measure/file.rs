//! The target file of the machine: the file of the base target, with the measured values.

use super::measured::Measured;
use std::path::Path;

/// The measured values.
pub(super) struct Machine<'a> {
    pub(super) chip: &'a str,
    pub(super) ranks: usize,
    /// Whether they were measured on `hpmoe-standin`.
    pub(super) stand_in: bool,
}

const MEANINGLESS: &str = "the stand-in for CANN: the times mean nothing, and no machine has these values";

impl Machine<'_> {
    /// The text of the file. The first word of a comment states the provenance of a value; times of the stand-in count as estimates.
    pub(super) fn text(&self, base: &str, measured: &[Measured]) -> String {
        let known = if self.stand_in { "assumed, meaningless" } else { "measured" };
        let mut text = format!("# Timed by `hpmoe measure` on {}, with {} ranks. ", self.chip, self.ranks);
        text.push_str(
            "Constants whose comments do not name a measurement are those of the file that this one is based on.\n",
        );
        if self.stand_in {
            text.push_str(&format!("# This was {MEANINGLESS}.\n"));
        }
        let mut section = "";
        for line in base.lines() {
            let bare = line.split('#').next().unwrap_or_default().trim();
            if let Some(name) = bare.strip_prefix('[') {
                section = name.trim_end_matches(']').trim();
            }
            let key = bare.split_once('=').map(|(key, _)| key.trim());
            let found = measured.iter().find(|measured| measured.section == section && Some(measured.key) == key);
            match (found, key) {
                (Some(Measured { key, value, by, .. }), _) => {
                    text.push_str(&format!("{key} = {}  # {known}: {by}\n", rounded(*value)));
                }
                (None, Some("name")) if section.is_empty() => {
                    let name = if self.stand_in { "stand-in" } else { "measured" };
                    text.push_str(&format!("name = \"{name}\"\n"));
                }
                (None, _) => text.extend([line, "\n"]),
            }
        }
        text
    }

    /// The printed text.
    pub(super) fn summary(&self, measured: &[Measured], out: &Path) -> String {
        let mut text = String::from("\n");
        for Measured { section, key, value, by } in measured {
            text.push_str(&format!("{:<36} {:>10}  {by}\n", format!("{section}.{key}"), rounded(*value)));
        }
        if self.ranks == 1 {
            text.push_str("links need a second rank: --processes 2, or --ranks 2\n");
        }
        if self.stand_in {
            text.push_str(&format!("This was {MEANINGLESS}.\n"));
        }
        text.push_str(&format!("machine: {}", out.display()));
        text
    }
}

/// The value in TOML, with four digits.
fn rounded(value: f64) -> String {
    let digits = 3 - value.abs().max(1e-3).log10().floor() as i32;
    let scale = 10_f64.powi(digits.clamp(0, 6));
    ((value * scale).round() / scale).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_timed_is_another_value() {
        let base =
            "# about\nname = \"a\"\n\n[sync]\nwait_ns = 110   # a2\nsignal_ns = 5 # assumed\n[link]\nwait_ns = 7\n";
        let measured = |section, value| Measured { section, key: "wait_ns", value, by: "looks".to_owned() };
        let machine = Machine { chip: "B", ranks: 2, stand_in: false };
        let text = machine.text(base, &[measured("sync", 123.456)]);
        assert!(text.starts_with("# Timed by `hpmoe measure` on B, with 2 ranks. "), "{text}");
        let expected = "# about\nname = \"measured\"\n\n[sync]\nwait_ns = 123.5  # measured: looks\nsignal_ns = 5 # assumed\n\
            [link]\nwait_ns = 7\n";
        assert!(text.ends_with(expected), "{text}");
        let text = Machine { stand_in: true, ..machine }.text(base, &[measured("link", 0.0)]);
        assert!(text.contains("the times mean nothing") && text.contains("name = \"stand-in\""), "{text}");
        assert!(text.ends_with(
            "wait_ns = 110   # a2\nsignal_ns = 5 # assumed\n[link]\nwait_ns = 0  # assumed, meaningless: looks\n"
        ));
        assert_eq!([1450.4, 0.0123456, 24.0].map(rounded), ["1450", "0.01235", "24"]);
    }
}
