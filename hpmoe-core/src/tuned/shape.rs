//! The shape of a kernel, which a tuned schedule is for: its constants except for tile sizes. And the tile sizes of a build.

use crate::syntax::{Constant, Kernel, Overrides, is_tile_size};
use std::collections::BTreeMap;
use syn::{Expr, Item, ItemMod};

/// Values of constants of type `usize`, by name.
pub type NamedSizes = BTreeMap<String, usize>;

/// The constants that a build sets, together with `sizes`. If both set a constant, the build's value wins.
#[must_use]
pub fn overrides(set: &Overrides, sizes: &NamedSizes) -> Overrides {
    let sizes = sizes.iter().map(|(name, &size)| (name.clone(), Constant::Size(size)));
    sizes.chain(set.clone()).collect()
}

/// The shape of a kernel: the `usize` constants that its source writes as numbers, except for tile sizes, with the values of the build.
/// Computed constants follow from these.
#[must_use]
pub fn shape(module: &ItemMod, kernel: &Kernel) -> NamedSizes {
    named(module, kernel, &|name| !is_tile_size(name))
}

/// The tile sizes that a kernel declares as numbers or leaves open, with the values of the build.
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
    let items = module.content.iter().flat_map(|(_, items)| items);
    let written = items.filter_map(|item| match item {
        Item::Const(item) if matches!(*item.expr, Expr::Lit(_) | Expr::Infer(_)) => Some(item.ident.to_string()),
        _ => None,
    });
    let valued = written.filter(|name| wanted(name)).filter_map(|name| {
        let value = kernel.constants.get(&name)?;
        Some((name, value))
    });
    valued.collect()
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
