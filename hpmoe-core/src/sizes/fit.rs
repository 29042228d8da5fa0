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

/// Reduces each size that exceeds every dimension it divides to the smallest size that the kernel accepts and that makes the same tiles: 256
/// columns become 80 for a tensor of 80 columns. If the kernel refuses the least such size, multiples of 32, 64 and so on are tried.
pub(super) fn fitted(module: &mut ReadModule, (set, ranks): (&Overrides, u32), mut sizes: NamedSizes) -> NamedSizes {
    let tokens = module.constant("TOKENS", &overrides(set, &sizes)).unwrap_or(usize::MAX);
    // An expert has at most one row of each token of the group.
    for (name, most) in [(OF_TOKENS, tokens), (OF_PUTS, tokens.saturating_mul(ranks as usize))] {
        if sizes.get(name).is_some_and(|size| *size > most) {
            replace(module, set, &mut sizes, name, std::iter::once(most));
        }
    }
    for (name, size) in sizes.clone() {
        if let Some(least) = least_of_columns(module, &overrides(set, &sizes), &name, size) {
            let grains = std::iter::successors(Some(GRAIN), |grain| grain.checked_mul(2));
            let candidates =
                grains.map(|grain| least.next_multiple_of(grain)).take_while(|candidate| *candidate < size);
            replace(module, set, &mut sizes, &name, candidates);
        }
    }
    sizes
}

/// Sets a size to the first candidate with which the kernel has no faults. If it has faults with every candidate, the size stays.
fn replace(
    module: &mut ReadModule,
    set: &Overrides,
    sizes: &mut NamedSizes,
    name: &str,
    mut candidates: impl Iterator<Item = usize>,
) {
    let with = |candidate: usize| {
        let mut changed = sizes.clone();
        changed.insert(name.to_owned(), candidate);
        module.check(&overrides(set, &changed)).is_ok().then_some(changed)
    };
    if let Some(changed) = candidates.find_map(with) {
        *sizes = changed;
    }
}

/// The least multiple of [`GRAIN`] with which all loops have as many iterations as with `size`, if this size divides only columns or rows of
/// matrices and is at least as large as the largest number that it divides; `None` otherwise. The other constants are as set.
pub(super) fn least_of_columns(module: &ReadModule, set: &Overrides, name: &str, size: usize) -> Option<usize> {
    let with = |size: usize| {
        let mut set = set.clone();
        set.insert(name.to_owned(), size.into());
        module.loop_sizes(&set)
    };
    // Packed numbers have half as many columns: loops over `TILE_N / 2` can't be computed for a single one.
    let (loops, narrow) = (with(size)?, with(1).or_else(|| with(GRAIN))?);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifacts::parse_settings;
    use crate::front::modules;

    const FORWARD: &str = include_str!("../../../examples/moe_ffn.rs");

    /// The least size of a name that makes the same tiles as `size` in the forward layer with these widths.
    fn least(source: &str, widths: &str, (name, size): (&str, usize)) -> Option<usize> {
        let module = ReadModule::new(&modules(source).unwrap()[0]);
        let others = "TILE_M=64,TILE_N=64,PUT=8,BLOCK=8,COLUMNS=64";
        least_of_columns(&module, &parse_settings(&format!("{widths},{others}")).unwrap(), name, size)
    }

    #[test]
    fn the_widest_tensor_that_a_size_divides_decides() {
        let wide = "HIDDEN=300,INTER=80";
        assert_eq!(least(FORWARD, wide, ("TILE_N", 512)), Some(304));
        assert_eq!(least(FORWARD, wide, ("TILE_N", 256)), None);
        assert_eq!(least(FORWARD, "HIDDEN=80,INTER=300", ("COLUMNS", 256)), Some(80));
        assert_eq!(least(FORWARD, "HIDDEN=10,INTER=12", ("TILE_N", 256)), Some(16));
        // These divide rows.
        assert!(["TILE_M", "PUT", "BLOCK"].iter().all(|name| least(FORWARD, wide, (name, 4096)).is_none()));
    }

    #[test]
    fn sizes_in_constants_that_a_single_column_has_not_are_reduced() {
        let halves = FORWARD
            .replace("INTER.div_ceil(TILE_N)", "(INTER / 2).div_ceil(TILE_N / 2)")
            .replace("HIDDEN.div_ceil(TILE_N)", "(HIDDEN / 2).div_ceil(TILE_N / 2)");
        assert_ne!(halves, FORWARD);
        assert_eq!(least(&halves, "HIDDEN=80,INTER=48", ("TILE_N", 256)), Some(80));
        let never = FORWARD.replace("INTER.div_ceil(TILE_N)", "INTER.div_ceil(TILE_N - 300)");
        assert_eq!(least(&never, "HIDDEN=80,INTER=48", ("TILE_N", 256)), None);
    }
    #[test]
    fn a_size_that_the_kernel_refuses_is_replaced_by_a_larger_one() {
        // A kernel that refuses tiles whose columns are no multiple of these.
        let chosen = |columns: usize| {
            let rule = format!("pub mod moe_ffn {{\n    pub const RULE: usize = 1 / (1 - TILE_N % {columns});");
            let mut module = ReadModule::new(&modules(&FORWARD.replace("pub mod moe_ffn {", &rule)).unwrap()[0]);
            let set = parse_settings("HIDDEN=80,INTER=48,TILE_M=64,PUT=8,BLOCK=8,COLUMNS=64").unwrap();
            fitted(&mut module, (&set, 8), NamedSizes::from([("TILE_N".to_owned(), 256)]))["TILE_N"]
        };
        assert_eq!([16, 32, 128, 256].map(chosen), [80, 96, 128, 256]);
    }
}
