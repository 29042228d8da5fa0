//! The file next to the source, which stores the tuned schedules.

use super::found::Found;
use crate::options::TuneArgs;
use crate::output;
use hpmoe_build::{read_tuned, tuned_file, with_tuned};
use hpmoe_core::target::Target;
use hpmoe_core::tuned::{BuildSizes, NamedSizes, Tuned, TunedKernel};
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
    keep_found(&mut tuned, found, target);
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

/// Adds a result to those of the file. It replaces the one that a build with the sizes of this search would use.
fn keep_found(tuned: &mut Tuned, found: &Found, target: &Target) {
    let kernel = &found.kernel;
    let all = with_tuned(&kernel.sizes, &kernel.set);
    tuned.keep(tuned_kernel(found, &all, target), BuildSizes { set: &kernel.set, all: &all });
}

/// What the file says of a result. `all` are the tile sizes that the search began with, or that were set.
fn tuned_kernel(found: &Found, all: &NamedSizes, target: &Target) -> TunedKernel {
    let kernel = &found.kernel;
    let mut candidate = found.result.best.clone();
    // The other choices were found with the sizes that were chosen, with those that were set, and with those that the search has left.
    candidate.sizes = with_tuned(&kernel.open, &candidate.sizes);
    let mut shape = kernel.shape.clone();
    let left = all.iter().filter(|(name, _)| !candidate.sizes.contains_key(*name));
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
    use hpmoe_core::tuned::Candidate;
    use hpmoe_simulator::simulate::Time;
    use hpmoe_simulator::tune::{Score, SearchResult};

    fn sizes(sizes: &[(&str, usize)]) -> NamedSizes {
        sizes.iter().map(|&(name, size)| (name.to_owned(), size)).collect()
    }

    /// The result of a search that started with these sizes set, and that has changed `TILE_N`.
    fn found(set: NamedSizes) -> Found {
        let mut source = sizes(&[("BLOCK", 4), ("TILE_M", 32), ("TILE_N", 32)]);
        source.retain(|name, _| !set.contains_key(name));
        let kernel = SearchedKernel {
            name: "moe".to_owned(),
            shape: sizes(&[("HIDDEN", 64)]),
            set,
            open: sizes(&[("PUT", 16)]),
            sizes: with_tuned(&sizes(&[("PUT", 16)]), &source),
            fixed: source,
            start: NamedSizes::new(),
            default_estimate: None,
            simulations: 1,
        };
        let score = Score { times: vec![Time(1)] };
        let best = Candidate { sizes: sizes(&[("TILE_N", 64)]), ..Candidate::default() };
        let result = SearchResult { best, score: score.clone(), start: score.clone(), default: Some(score), tried: 2 };
        Found { kernel, result, warning: None }
    }

    #[test]
    fn searches_with_and_without_a_size_keep_both_results_in_either_order() {
        let target = Target::ascend_a3();
        let [with, without] = [sizes(&[("BLOCK", 8)]), NamedSizes::new()];
        for order in [[&with, &without, &with], [&without, &with, &without]] {
            let mut tuned = Tuned::default();
            for set in order {
                keep_found(&mut tuned, &found(set.clone()), &target);
            }
            let blocks: Vec<usize> = tuned.kernels.iter().map(|known| known.shape["BLOCK"]).collect();
            assert_eq!(blocks, order[..2].iter().map(|set| *set.get("BLOCK").unwrap_or(&4)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_schedule_is_kept_with_all_tile_sizes_that_it_was_found_with() {
        let mut tuned = Tuned::default();
        keep_found(&mut tuned, &found(sizes(&[("BLOCK", 8)])), &Target::ascend_a3());
        let kept = &tuned.kernels[0];
        assert_eq!(kept.candidate.sizes, sizes(&[("PUT", 16), ("TILE_N", 64)]));
        // The command and the source give these sizes, so the schedule is for no other values.
        assert_eq!(kept.shape, sizes(&[("BLOCK", 8), ("HIDDEN", 64), ("TILE_M", 32)]));
    }
}
