//! The file next to the source, which stores the tuned schedules.

use super::found::Found;
use crate::options::TuneArgs;
use crate::output;
use hpmoe_build::{read_tuned, tuned_file, with_tuned};
use hpmoe_core::target::Target;
use hpmoe_core::tuned::{BuildSizes, TunedKernel};
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
    let (kernel, new_one) = (&found.kernel, tuned_kernel(found, target));
    let all = with_tuned(&kernel.sizes, &kernel.set);
    tuned.keep(new_one, BuildSizes { set: &kernel.set, all: &all });
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
    let mut shape = kernel.shape.clone();
    let left = kernel.fixed.iter().filter(|(name, _)| !candidate.sizes.contains_key(*name));
    shape.extend(left.map(|(name, &size)| (name.clone(), size)));
    TunedKernel {
        kernel: kernel.name.clone(),
        target: target.name.clone(),
        matrix_cores: target.cores.aic,
        shape,
        candidate,
        note: found.note(&target.name),
    }
}

#[cfg(test)]
mod tests {
    use super::super::found::SearchedKernel;
    use super::*;
    use hpmoe_core::tuned::{Candidate, NamedSizes};
    use hpmoe_simulator::simulate::Time;
    use hpmoe_simulator::tune::{Score, SearchResult};

    #[test]
    fn a_schedule_is_kept_with_all_tile_sizes_that_it_was_found_with() {
        let sizes = |sizes: &[(&str, usize)]| -> NamedSizes {
            sizes.iter().map(|&(name, size)| (name.to_owned(), size)).collect()
        };
        let kernel = SearchedKernel {
            name: "moe".to_owned(),
            shape: sizes(&[("HIDDEN", 64)]),
            set: sizes(&[("BLOCK", 8)]),
            open: sizes(&[("PUT", 16)]),
            sizes: sizes(&[("PUT", 16), ("TILE_M", 32), ("TILE_N", 32)]),
            fixed: sizes(&[("TILE_M", 32), ("TILE_N", 32)]),
            start: NamedSizes::new(),
            default_estimate: None,
            simulations: 1,
        };
        let score = Score { times: vec![Time(1)] };
        let best = Candidate { sizes: sizes(&[("TILE_N", 64)]), ..Candidate::default() };
        let result = SearchResult { best, score: score.clone(), start: score.clone(), default: Some(score), tried: 2 };
        let kept = tuned_kernel(&Found { kernel, result, warning: None }, &Target::ascend_a3());
        assert_eq!(kept.candidate.sizes, sizes(&[("BLOCK", 8), ("PUT", 16), ("TILE_N", 64)]));
        // The source gives this size, so the schedule is for no other value.
        assert_eq!(kept.shape, sizes(&[("HIDDEN", 64), ("TILE_M", 32)]));
    }
}
