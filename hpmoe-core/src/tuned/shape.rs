//! The shape of a kernel, which a tuned schedule is for: its constants except for tile sizes. And the tile sizes of a build.

use crate::syntax::{Constant, Kernel, Overrides, independent_constants, is_tile_size};
use std::collections::BTreeMap;
use syn::ItemMod;

/// Values of constants of type `usize`, by name.
pub type NamedSizes = BTreeMap<String, usize>;

/// The constants that a build sets, together with `sizes`. If both set a constant, the build's value wins.
#[must_use]
pub fn overrides(set: &Overrides, sizes: &NamedSizes) -> Overrides {
    let sizes = sizes.iter().map(|(name, &size)| (name.clone(), Constant::Size(size)));
    sizes.chain(set.clone()).collect()
}

/// The shape of a kernel: the `usize` constants that its source defines without others, except for tile sizes, with the values of the build.
/// All other constants follow from these.
#[must_use]
pub fn shape(module: &ItemMod, kernel: &Kernel) -> NamedSizes {
    named(module, kernel, &|name| !is_tile_size(name))
}

/// The tile sizes that a kernel leaves open or defines without other constants, with the values of the build.
#[must_use]
pub fn sizes(module: &ItemMod, kernel: &Kernel) -> NamedSizes {
    named(module, kernel, &is_tile_size)
}

/// The tile sizes among the constants that a build sets.
#[must_use]
pub fn set_sizes(set: &Overrides) -> NamedSizes {
    let sizes = set.iter().filter(|(name, _)| is_tile_size(name));
    sizes.filter_map(|(name, value)| Some((name.to_owned(), value.size()?))).collect()
}

fn named(module: &ItemMod, kernel: &Kernel, wanted: &dyn Fn(&str) -> bool) -> NamedSizes {
    let names = independent_constants(module).into_iter().filter(|name| wanted(name));
    names.filter_map(|name| kernel.constants.get(&name).map(|value| (name, value))).collect()
}

/// Whether two shapes, apart from tile sizes, are for the same schedule. Numbers of tokens count alike if the next power of two is the
/// same; all other constants must be equal.
pub(super) fn alike(left: &NamedSizes, right: &NamedSizes) -> bool {
    let bucket = |(name, &value): (&String, &usize)| {
        (name.clone(), if name == "TOKENS" { value.max(1).next_power_of_two() } else { value })
    };
    let constants = |shape: &NamedSizes| -> Vec<(String, usize)> {
        shape.iter().filter(|(name, _)| !is_tile_size(name)).map(bucket).collect()
    };
    constants(left) == constants(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_alike_up_to_a_power_of_two() {
        let shape = |tokens, hidden| NamedSizes::from([("TOKENS".to_owned(), tokens), ("HIDDEN".to_owned(), hidden)]);
        assert!(alike(&shape(3000, 64), &shape(4096, 64)));
        assert!(!alike(&shape(2048, 64), &shape(4096, 64)));
        assert!(!alike(&shape(4096, 64), &shape(4096, 128)));
        assert!(!alike(&shape(4096, 64), &NamedSizes::new()));
    }
}
