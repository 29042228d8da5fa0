//! Constants by their names, with their provenance.

use super::constants::KEYS;
use super::provenance::{Provenance, TargetConstant};
use super::{FileFault, Target};
use crate::names::nearest;

impl Target {
    /// All constants, in the order in which [`Target`] declares its sections and their fields.
    #[must_use]
    pub fn constants(&self) -> &[TargetConstant] {
        &self.constants
    }

    /// The constants that are estimates ([`Provenance::Assumed`]). A constant that [`set`](Self::set) has changed is not among them.
    pub fn assumed(&self) -> impl Iterator<Item = &TargetConstant> {
        self.constants.iter().filter(|constant| constant.provenance == Provenance::Assumed)
    }

    /// The section, the key and the value of each constant, in the order of [`constants`](Self::constants).
    pub fn values(&self) -> impl Iterator<Item = (&'static str, &'static str, f64)> {
        KEYS.iter().map(|key| (key.section, key.key, (key.get)(self)))
    }

    /// The value of a constant; `None` if no constant has this name.
    #[must_use]
    pub fn get(&self, section: &str, key: &str) -> Option<f64> {
        KEYS.iter().find(|known| (known.section, known.key) == (section, key)).map(|known| (known.get)(self))
    }

    /// A constant with its value and the comment of its file, as in `sync.fence_remote_ns = 1900 (assumed)`. Without the comment if
    /// [`set`](Self::set) has changed the value.
    #[must_use]
    pub fn words(&self, constant: &TargetConstant) -> String {
        let TargetConstant { section, key, comment, provenance, .. } = constant;
        let value = self.get(section, key).map_or_else(|| "unknown".to_owned(), |value| value.to_string());
        match (provenance, comment.as_str()) {
            (Provenance::Given, _) | (_, "") => format!("{section}.{key} = {value}"),
            (_, comment) => format!("{section}.{key} = {value} ({comment})"),
        }
    }

    /// Changes one constant: `section.key=value`.
    ///
    /// ```
    /// use hpmoe_core::target::Target;
    ///
    /// let mut target = Target::ascend_a3();
    /// target.set("sync.tile_overhead_ns=900").unwrap();
    /// assert_eq!(target.sync.tile_overhead_ns, 900.0);
    /// assert!(target.set("sync.tile_overhead=900").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is not `section.key=value`, no target has a constant of this name, or the constant can't have the value.
    pub fn set(&mut self, assignment: &str) -> Result<(), FileFault> {
        let fault = |text| FileFault { line: 0, text };
        let parts = assignment.split_once('=');
        let (name, value) = parts.ok_or_else(|| fault(format!("`{assignment}` is not `section.key=value`")))?;
        let (name, value) = (name.trim(), value.trim());
        let place = KEYS.iter().position(|key| name == format!("{}.{}", key.section, key.key));
        let place = place.ok_or_else(|| fault(format!("no target has a constant `{name}`{}", hint(name))))?;
        let key = &KEYS[place];
        let number = value.parse().ok().filter(|&number| key.range.holds(number));
        let number = number.ok_or_else(|| fault(format!("`{name}` must be {}, not `{value}`", key.range.words())))?;
        (key.set)(self, number);
        self.constants[place].provenance = Provenance::Given;
        Ok(())
    }
}

/// The constant that was probably meant, as the end of an error text; a name without its section counts as near.
pub(super) fn hint(name: &str) -> String {
    let names: Vec<String> = KEYS.iter().map(|key| format!("{}.{}", key.section, key.key)).collect();
    let whole = names.iter().find(|full| full.ends_with(&format!(".{name}"))).cloned();
    let near = whole.or_else(|| nearest(name, names.iter().map(String::as_str)));
    near.map_or_else(String::new, |near| format!(": is `{near}` meant?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_constant_is_told_with_the_nearest() {
        let words = |assignment| Target::ascend_a3().set(assignment).unwrap_err().to_string();
        let near = "no target has a constant `sync.tile_overhead`: is `sync.tile_overhead_ns` meant?";
        assert_eq!(words("sync.tile_overhead=900"), near);
        assert!(words("tile_overhead_ns=900").ends_with("is `sync.tile_overhead_ns` meant?"));
        assert_eq!(words("x.y=1"), "no target has a constant `x.y`");
    }
}
