//! The file next to the source, which stores the tuned schedules.

use super::found::Found;
use crate::options::TuneArgs;
use crate::output;
use hpmoe_build::{read_tuned, tuned_file, with_tuned};
use hpmoe_core::target::Target;
use hpmoe_core::tuned::TunedKernel;
use hpmoe_kernels::printable::printable_path;

/// Writes the best schedule to the file, unless it is the default.
pub(super) fn keep(options: &TuneArgs, found: &Found, target: &Target) -> Result<(), String> {
    if found.is_default() {
        return Ok(());
    }
    let file = tuned_file(&options.file);
    let before = read_tuned(&file)?;
    let new = before.is_none();
    let mut tuned = before.unwrap_or_default();
    tuned.keep(tuned_kernel(found, target));
    let problem = |error| format!("can't write {}: {error}", printable_path(&file));
    std::fs::write(&file, tuned.to_string()).map_err(problem)?;
    if new {
        // A build script watches the source, and not a file that did not exist when it ran.
        let source = std::fs::File::options().append(true).open(&options.file);
        source.and_then(|source| source.set_modified(std::time::SystemTime::now())).map_err(problem)?;
    }
    output::note(format!("kept in {}", printable_path(&file)));
    Ok(())
}

fn tuned_kernel(found: &Found, target: &Target) -> TunedKernel {
    let kernel = &found.kernel;
    let mut candidate = found.result.best.clone();
    // The other choices were found with the sizes that are set, and with those that were chosen.
    candidate.sizes = with_tuned(&kernel.open, &candidate.sizes);
    candidate.sizes.extend(kernel.set.clone());
    TunedKernel {
        kernel: kernel.name.clone(),
        target: target.name.clone(),
        matrix_cores: target.cores.aic,
        shape: kernel.shape.clone(),
        candidate,
        note: found.note(&target.name),
    }
}
