//! Sizes that are no larger than the tensor dimension that they divide.

use crate::front::ReadModule;
use crate::syntax::Overrides;
use crate::tuned::{NamedSizes, overrides};

/// The size of tiles along the tokens of a rank.
const OF_TOKENS: &str = "BLOCK";
/// The size of tiles along the rows of an expert.
const OF_PUTS: &str = "PUT";
/// Columns of a fractal of the matrix cores: 32 bytes of bf16. Narrower tiles take as much room.
const GRAIN: usize = 16;

/// Reduces each size that exceeds every dimension it divides to the smallest one with the same tiles that the kernel can have: 256 columns
/// become 80 for a tensor of 80 columns.
pub(super) fn fitted(module: &mut ReadModule, (set, ranks): (&Overrides, u32), mut sizes: NamedSizes) -> NamedSizes {
    let tokens = module.constant("TOKENS", set).unwrap_or(usize::MAX);
    // An expert has at most one row of each token of the group.
    for (name, most) in [(OF_TOKENS, tokens), (OF_PUTS, tokens.saturating_mul(ranks as usize))] {
        if sizes.get(name).is_some_and(|size| *size > most) {
            replace(module, set, &mut sizes, name, std::iter::once(most));
        }
    }
    for (name, size) in sizes.clone() {
        if let Some(least) = least_of_columns(module, &overrides(set, &sizes), &name, size) {
            replace(module, set, &mut sizes, &name, (least..size).step_by(GRAIN));
        }
    }
    sizes
}

/// Replaces a size by the first of these with which the kernel has no faults, if there is one.
fn replace(
    module: &mut ReadModule,
    set: &Overrides,
    sizes: &mut NamedSizes,
    name: &str,
    mut others: impl Iterator<Item = usize>,
) {
    let mut with = |other: usize| {
        let mut changed = sizes.clone();
        changed.insert(name.to_owned(), other);
        module.check(&overrides(set, &changed)).is_ok().then_some(changed)
    };
    if let Some(changed) = others.find_map(&mut with) {
        *sizes = changed;
    }
}

/// The least multiple of [`GRAIN`] with the same tiles as `size` if the size, with the other constants as set, divides columns, or rows of
/// matrices, and no tensor has more of them. `None` for all other sizes.
pub(super) fn least_of_columns(module: &ReadModule, set: &Overrides, name: &str, size: usize) -> Option<usize> {
    let with = |size: usize| {
        let mut set = set.clone();
        set.insert(name.to_owned(), size.into());
        module.loop_sizes(&set)
    };
    let (loops, narrow) = (with(size)?, with(1)?);
    // A size that changes the rows of items divides rows of experts or tokens.
    if loops.others != narrow.others || loops.ranges == narrow.ranges {
        return None;
    }
    // Every range that is longer with half the size has a single tile with this size.
    let half = with((size / 2).next_multiple_of(GRAIN))?;
    let mut ranges = loops.ranges.iter().zip(&half.ranges);
    if !ranges.all(|(length, longer)| length == longer || *length == 1) {
        return None;
    }
    // The number of tiles doesn't grow with the size: bisect for the least size with the same number.
    let (mut less, mut enough) = (0, size.div_ceil(GRAIN));
    while less + 1 < enough {
        let next = usize::midpoint(less, enough);
        if with(next * GRAIN).is_some_and(|other| other == loops) { enough = next } else { less = next }
    }
    Some(enough * GRAIN)
}
