//! The device that kernels are compiled for in addition to this machine's CPU.

/// A device that kernels are compiled for, in addition to this machine's CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Device {
    /// An Ascend NPU. The compiler belongs to [CANN](hpmoe_kernels::CANN_VERSIONS), which must be installed.
    Cann,
}

/// The device to compile kernels for: `by_script`, unless the variable `HPMOE_DEVICE` (`environment`) overrides it.
pub(crate) fn chosen(by_script: Option<Device>, environment: Option<&str>) -> Result<Option<Device>, String> {
    match environment {
        None | Some("") => Ok(by_script),
        Some("cann") => Ok(Some(Device::Cann)),
        Some("off") => Ok(None),
        Some(other) => Err(format!(
            "HPMOE_DEVICE is `{other}`, but should be `cann`, to compile kernels for Ascend NPUs as well, or `off`, to compile \
             them for this machine's CPU only: set it so, or unset it to follow the build script"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_wins_and_other_words_are_refused() {
        let script = Some(Device::Cann);
        assert_eq!((chosen(None, None), chosen(script, Some(""))), (Ok(None), Ok(script)));
        assert_eq!((chosen(None, Some("cann")), chosen(script, Some("off"))), (Ok(script), Ok(None)));
        assert!(chosen(None, Some("npu")).unwrap_err().starts_with("HPMOE_DEVICE is `npu`, but should be `cann`"));
    }
}
