//! The machine that a build is for.

use crate::watch;
use hpmoe_core::schedule::Cores;
use hpmoe_core::target::{FileFault, Target};
use std::path::{Path, PathBuf};

/// The machine that a build script names; by default the built-in target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) file: Option<PathBuf>,
    pub(crate) matrix_cores: Option<u32>,
}

impl Machine {
    /// Reads the target that kernels are scheduled for.
    pub(crate) fn target(&self) -> Result<Target, String> {
        let Some(file) = &self.file else { return fit_for_kernels(Target::ascend_a3(), None, self.matrix_cores) };
        watch::input(file);
        let target = fit_for_kernels(read_target(file)?, Some(file), self.matrix_cores)?;
        let built_in = Target::ascend_a3();
        if target.name == built_in.name && target.fingerprint().hex() != built_in.fingerprint().hex() {
            println!(
                "cargo::warning=`{}` has the name of the built-in target, `{}`, but different constants, so builds may use \
                 schedules that were tuned for the built-in target: give the target its own name",
                file.display(),
                target.name
            );
        }
        Ok(target)
    }

    /// Options of `hpmoe tune` for the same machine, each with a space before it.
    pub(crate) fn options(&self) -> String {
        match (&self.file, self.matrix_cores) {
            (Some(file), _) => format!(" --target {}", file.display()),
            (None, Some(count)) => {
                format!(" --constant cores.aic={count} --constant cores.aiv={}", 2 * u64::from(count))
            }
            (None, None) => String::new(),
        }
    }
}

/// Matrix cores, as `HPMOE_MATRIX_CORES` names them.
pub(crate) fn named_cores(environment: Option<&str>) -> Result<Option<u32>, String> {
    match environment {
        None | Some("") => Ok(None),
        Some(text) => match text.parse() {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(format!(
                "HPMOE_MATRIX_CORES is `{text}`, but should be the number of matrix cores that kernels are scheduled for, from 1 \
                 to {}: set it so, or unset it to follow the build script",
                Cores::MOST_MATRIX
            )),
        },
    }
}

/// The target that kernels are built for. Without a file, it is `target` with `matrix_cores` matrix cores and twice as many vector cores,
/// or unchanged if `matrix_cores` is `None`. With a file, from which `target` was read, it is `target` unchanged.
///
/// # Errors
///
/// If `matrix_cores` is 0 or more than 512. With a file, also if kernels can't run on the target, or `matrix_cores` contradicts the file.
pub fn fit_for_kernels(target: Target, file: Option<&Path>, matrix_cores: Option<u32>) -> Result<Target, String> {
    if let Some(count) = matrix_cores.filter(|count| !(1..=Cores::MOST_MATRIX).contains(count)) {
        return Err(format!("a rank can't have {count} matrix cores: choose from 1 to {}", Cores::MOST_MATRIX));
    }
    let Some(file) = file else {
        return Ok(matrix_cores.map_or(target.clone(), |count| Cores::with_matrix_cores(count).on(&target)));
    };
    let unfit = target.unfit_for_kernels();
    if !unfit.is_empty() {
        let help = "kernels can't run on such a machine, but `hpmoe simulate --target` can simulate them";
        return Err(fault_list(file, &unfit, help));
    }
    match matrix_cores {
        Some(count) if count != target.cores.aic => Err(format!(
            "{count} matrix cores contradict `{}`, line {}: `cores.aic` is {}\nhelp: leave the number out, or describe the \
             other machine in a file of its own",
            file.display(),
            target.line_of("cores", "aic"),
            target.cores.aic
        )),
        _ => Ok(target),
    }
}

/// Reads a target file.
///
/// # Errors
///
/// If the file can't be read, or has faults. The text then lists the faults line by line.
pub fn read_target(file: &Path) -> Result<Target, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("target `{}` is neither built in (ascend-a3) nor a file: {error}", file.display()))?;
    let help = "a target has all keys of the built-in one, `hpmoe-core/targets/ascend-a3.toml`, and no others";
    Target::read(&text).map_err(|faults| fault_list(file, &faults, help))
}

fn fault_list(file: &Path, faults: &[FileFault], help: &str) -> String {
    let lines: Vec<String> = faults.iter().map(|fault| format!("`{}`, {fault}", file.display())).collect();
    format!("{}\nhelp: {help}", lines.join("\n       "))
}

#[cfg(test)]
mod tests {
    use super::named_cores;

    #[test]
    fn numbers_of_cores_are_read_and_other_words_refused() {
        assert_eq!(
            [named_cores(None), named_cores(Some("")), named_cores(Some("2"))],
            [Ok(None), Ok(None), Ok(Some(2))]
        );
        assert!(
            named_cores(Some("two")).unwrap_err().starts_with("HPMOE_MATRIX_CORES is `two`, but should be the number")
        );
    }
}
