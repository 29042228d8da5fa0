//! The setting that makes kernels record time stamps of their tiles.

/// Whether kernels keep time stamps: as `by_script` says, unless the variable `HPMOE_TIME_STAMPS` (`environment`) overrides it.
pub(crate) fn chosen(by_script: bool, environment: Option<&str>) -> Result<bool, String> {
    match environment {
        None | Some("") => Ok(by_script),
        Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(format!(
            "HPMOE_TIME_STAMPS is `{other}`, but should be `on`, to make kernels keep time stamps of their tiles, or `off`: set \
             it so, or unset it to follow the build script"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_wins_and_other_words_are_refused() {
        assert_eq!([chosen(false, None), chosen(true, Some(""))], [Ok(false), Ok(true)]);
        assert_eq!([chosen(false, Some("on")), chosen(true, Some("off"))], [Ok(true), Ok(false)]);
        assert!(chosen(true, Some("1")).unwrap_err().starts_with("HPMOE_TIME_STAMPS is `1`, but should be `on`"));
    }
}
