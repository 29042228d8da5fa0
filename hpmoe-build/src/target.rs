//! The machine that a build is for.

use hpmoe_core::fingerprint::of_target;
use hpmoe_core::schedule::Cores;
use hpmoe_core::target::{Fault, Target};
use std::path::{Path, PathBuf};

/// As a build script names it: nothing is the built-in target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) file: Option<PathBuf>,
    pub(crate) matrix_cores: Option<u32>,
}

impl Machine {
    /// Reads it. What the script and the file say of cores must be the same.
    pub(crate) fn target(&self) -> Result<Target, String> {
        if self.matrix_cores == Some(0) {
            return Err("`.matrix_cores(0)`: a rank has at least one".to_owned());
        }
        let Some(file) = &self.file else {
            let built_in = Target::ascend_a3();
            return Ok(self.matrix_cores.map_or(built_in.clone(), |count| Cores::of(count).on(&built_in)));
        };
        println!("cargo::rerun-if-changed={}", file.display());
        let target = read_target(file)?;
        let unfit = target.unfit_for_kernels();
        if !unfit.is_empty() {
            let help = "kernels can't run on such a machine, but `hpmoe simulate --target` tells their time on it";
            return Err(told(file, &unfit, help));
        }
        if let Some(count) = self.matrix_cores.filter(|&count| count != target.cores.aic) {
            return Err(format!(
                "`.matrix_cores({count})` contradicts `{}`, line {}: `cores.aic` is {}\nhelp: leave `.matrix_cores` out, or \
                 describe the other machine in a file of its own",
                file.display(),
                target.line_of("cores", "aic"),
                target.cores.aic
            ));
        }
        let built_in = Target::ascend_a3();
        if target.name == built_in.name && of_target(&target).hex() != of_target(&built_in).hex() {
            println!(
                "cargo::warning=`{}` has the name of the built-in target, `{}`, and other constants: it gets what was tuned \
                 for either; give it a name of its own",
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

/// Reads a target file.
///
/// # Errors
///
/// That it can't be read, or what is wrong with it, line by line.
pub fn read_target(file: &Path) -> Result<Target, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("target `{}` is neither built in (ascend-a3) nor a file: {error}", file.display()))?;
    let help = "a target has all keys of the built-in one, `hpmoe-core/targets/ascend-a3.toml`, and no others";
    Target::read(&text).map_err(|faults| told(file, &faults, help))
}

fn told(file: &Path, faults: &[Fault], help: &str) -> String {
    let lines: Vec<String> = faults.iter().map(|fault| format!("`{}`, {fault}", file.display())).collect();
    format!("{}\nhelp: {help}", lines.join("\n       "))
}
