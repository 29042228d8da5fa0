//! Whether host runs are checked: by the group's setting or else by the environment.

use std::env;

use super::options::LaunchOptions;
use crate::LaunchError;

/// The variable that switches checks on or off.
const CHOICE: &str = "HPMOE_CHECKS";

impl LaunchOptions {
    /// Whether host runs search for on-chip races and randomise the order of work that kernels leave open.
    ///
    /// # Errors
    ///
    /// The variable has a value other than `on` and `off`, or a search for races in global memory was asked for and checks are off.
    pub(super) fn checks(&self) -> Result<bool, LaunchError> {
        let checks = match self.checks {
            Some(checks) => checks,
            None => chosen(env::var_os(CHOICE).map(|value| value.to_string_lossy().into_owned()))?,
        };
        match self.find_races {
            Some(true) if !checks => Err(LaunchError::UncheckedRaces),
            _ => Ok(checks),
        }
    }
}

fn chosen(value: Option<String>) -> Result<bool, LaunchError> {
    match value.as_deref() {
        None | Some("" | "on") => Ok(true),
        Some("off") => Ok(false),
        Some(value) => Err(LaunchError::Checks { value: value.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_value_of_the_variable_is_an_error_that_names_both() {
        let chosen = |value: &str| super::chosen(Some(value.to_owned()));
        assert!(
            super::chosen(None).unwrap() && chosen("").unwrap() && chosen("on").unwrap() && !chosen("off").unwrap()
        );
        let said = "HPMOE_CHECKS is `0`, but should be `on` or `off`: set it so, or unset it for `on`";
        assert_eq!(chosen("0").unwrap_err().to_string(), said);
    }

    #[test]
    fn the_setting_of_the_group_comes_before_the_environment() {
        let options =
            |checks, find_races| LaunchOptions { checks: Some(checks), find_races, ..LaunchOptions::default() };
        assert!(options(true, Some(true)).checks().unwrap());
        assert!(!options(false, None).checks().unwrap());
        assert!(!options(false, Some(false)).checks().unwrap());
        let said = "the group should search for races (Group::find_races), but checks are off (Group::checks or HPMOE_CHECKS): switch them on";
        assert_eq!(options(false, Some(true)).checks().unwrap_err().to_string(), said);
    }
}
