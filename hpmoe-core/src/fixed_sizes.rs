//! Tile sizes fixed by a kernel or its build, compared with the sizes that a build would choose.

mod latency;
mod words;

use crate::front::{Front, front};
use crate::sizes::{Expected, open_sizes};
use crate::syntax::{Constant, Overrides, independent_tile_sizes, leaving_open, open_constants};
use crate::target::Target;
use crate::tuned::{NamedSizes, overrides};
use latency::{Latency, latency, quick_latency};
use syn::ItemMod;

pub use latency::times_as_long;
pub use words::Surface;

/// The part of the estimated latency that fixed sizes may cost before a build warns.
const COSTLY: f64 = 0.1;

/// Fixed tile sizes that cost more than a tenth of a kernel's estimated latency.
#[derive(Clone, PartialEq, Debug)]
pub struct CostlySizes {
    /// Name of the kernel.
    pub kernel: String,
    /// The fixed sizes for which a build would choose other values, in the order of their names.
    pub sizes: Vec<FixedSize>,
    /// Estimated latency of all taskflows together with the fixed sizes, in microseconds: for each taskflow, the geometric mean with even
    /// and with skewed routing. It may be a lower bound.
    pub fixed_us: f64,
    /// Estimated latency of all taskflows together if the build chooses all tile sizes, in microseconds.
    pub chosen_us: f64,
    /// The launches for which the latencies are estimated. Estimates use at most 65,536 tokens per rank.
    pub expected: Expected,
}

/// A tile size that is fixed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FixedSize {
    /// Name of the constant.
    pub name: String,
    /// The value that the kernel is built with.
    pub fixed: usize,
    /// The value that a build would choose if no size were fixed.
    pub chosen: usize,
    /// The place that fixes the size at `fixed`.
    pub by: FixedBy,
}

/// The place that fixes a tile size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FixedBy {
    /// The source, whose value the build uses.
    Source,
    /// The build, which replaces a value that the source gives.
    Build,
    /// The build, which gives a value to a size that the source leaves open.
    BuildAlone,
}

impl CostlySizes {
    /// The saving with chosen sizes, as a share of `fixed_us` from 0 to 1.
    #[must_use]
    pub fn saved(&self) -> f64 {
        1.0 - self.chosen_us / self.fixed_us
    }
}

/// A kernel with the settings of its build.
#[derive(Clone, Copy)]
pub struct BuiltKernel<'a> {
    /// The module as written.
    pub module: &'a ItemMod,
    /// The constants that the build sets.
    pub set: &'a Overrides,
    /// The sizes that the build has chosen for open tile sizes.
    pub open: &'a NamedSizes,
    /// The module after the front end, with the constants `set` and the sizes `open`.
    pub front: &'a Front,
}

/// The tile sizes that the source or the build fixes, if they cost more than a tenth of the kernel's estimated latency. `None` if they cost
/// less, if no size is fixed or a build would choose the same sizes, or if the kernel can't have the expected launches.
///
/// Latencies are estimated only if a size is fixed. If the work of the cores alone takes clearly longer with the fixed sizes than a launch
/// with chosen ones, its time stands for the latency, because replaying queues takes longer with more tiles.
#[must_use]
pub fn costly_sizes(built: BuiltKernel<'_>, target: &Target, expected: Expected) -> Option<CostlySizes> {
    let BuiltKernel { module, set, open, front: own } = built;
    let fixed = fixed_names(module, set);
    if fixed.is_empty() {
        return None;
    }
    let free = leaving_open(module, &fixed);
    let others = set.iter().filter(|(name, _)| !fixed.iter().any(|fixed| fixed == name));
    let others: Overrides = others.map(|(name, &value)| (name.to_owned(), value)).collect();
    let chosen = open_sizes(&free, &others, target, expected).ok()?;
    let left_open = open_constants(module);
    let size = |name: &String| {
        let (fixed, chosen) = (own.kernel.constants.get(name)?, *chosen.get(name)?);
        let by = match (set.contains(name), left_open.contains(name)) {
            (false, _) => FixedBy::Source,
            (true, false) => FixedBy::Build,
            (true, true) => FixedBy::BuildAlone,
        };
        (fixed != chosen).then(|| FixedSize { name: name.clone(), fixed, chosen, by })
    };
    let sizes: Vec<FixedSize> = fixed.iter().filter_map(size).collect();
    if sizes.is_empty() {
        return None;
    }
    let estimated = expected.estimated(own.kernel.constants.get("TOKENS"));
    let named = expected.ranks.as_slice();
    let best = front(&free, &for_launches(overrides(&others, &chosen), estimated)).ok()?.for_ranks(named);
    let best = latency(&best.flows, target, expected)?;
    let with_tokens = match estimated.tokens {
        Some(_) => Some(front(module, &for_launches(overrides(set, open), estimated)).ok()?.for_ranks(named)),
        None => None,
    };
    let own = with_tokens.as_ref().unwrap_or(own);
    let own = match quick_latency(&own.flows, target, expected, &best)? {
        Latency::Busy(time) | Latency::Replayed(time) => time,
    };
    let kernel = module.ident.to_string();
    let costly = CostlySizes { kernel, sizes, fixed_us: own, chosen_us: best.us(), expected };
    (costly.saved() > COSTLY).then_some(costly)
}

/// The tile sizes that the source fixes or the build sets, in the order of their names.
fn fixed_names(module: &ItemMod, set: &Overrides) -> Vec<String> {
    let open = open_constants(module);
    let mut names = independent_tile_sizes(module);
    names.retain(|name| {
        let is_size = !matches!(set.get(name), Some(Constant::Number(_)));
        is_size && (set.contains(name) || !open.contains(name))
    });
    names.sort_unstable();
    names
}

/// The constants of a kernel, with the expected number of tokens as `TOKENS`.
fn for_launches(mut constants: Overrides, expected: Expected) -> Overrides {
    if let Some(tokens) = expected.tokens {
        constants.insert("TOKENS".to_owned(), tokens.into());
    }
    constants
}

#[cfg(test)]
mod tests;
