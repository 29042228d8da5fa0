//! Chooses the tile sizes that a kernel leaves open, by the least estimated latency.

mod expected;
mod fit;
mod ladders;
mod latency;
mod search;

use crate::syntax::{Overrides, is_tile_size, open_constants};
use crate::target::Target;
use crate::tuned::NamedSizes;
pub use expected::Expected;
use ladders::OpenSize;
use search::Search;
use syn::ItemMod;

/// Chooses the tile sizes that a kernel leaves open and the build does not set, for a target. If the kernel has faults with all sizes that
/// are tried, returns the sizes that the search begins with; the front end then reports the faults.
///
/// The same kernel always gets the same sizes. The search begins with large tiles, or smaller ones if the kernel can't have large tiles,
/// and then varies one size at a time.
///
/// # Errors
///
/// A sentence, if a launch can't have the expected number of ranks (1 to 256), or a rank can't have the expected number of tokens (1 to
/// `TOKENS`). If no size is open, only zeros are refused.
pub fn open_sizes(
    module: &ItemMod,
    set: &Overrides,
    target: &Target,
    expected: Expected,
) -> Result<NamedSizes, String> {
    expected.check()?;
    let open = open_constants(module).into_iter().filter(|name| is_tile_size(name) && !set.contains(name));
    let open: Vec<String> = open.collect();
    if open.is_empty() {
        return Ok(NamedSizes::new());
    }
    Search::new(module, set, target, expected, OpenSize::of(&open)).best()
}

#[cfg(test)]
mod tests;
