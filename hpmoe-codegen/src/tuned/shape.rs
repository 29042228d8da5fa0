//! What a tuned schedule is for: the kernel's sizes, tiles apart.

use super::SIZES;
use hpmoe_language::syntax::{Constant, Kernel, Overrides};
use std::collections::BTreeMap;
use syn::{Expr, Item, ItemMod};

/// Sizes by name.
pub type Shape = BTreeMap<String, usize>;

/// Constants set for a build, and sizes set beside them.
#[must_use]
pub fn overrides(set: &Overrides, sizes: &Shape) -> Overrides {
    let sizes = sizes.iter().map(|(name, &size)| (name.clone(), Constant::Size(size)));
    sizes.chain(set.clone()).collect()
}

/// The constants of a kernel that are written as numbers, sizes of tiles apart; those computed from others follow from them.
#[must_use]
pub fn shape(module: &ItemMod, kernel: &Kernel) -> Shape {
    named(module, kernel, |name| !SIZES.contains(&name)).collect()
}

/// The sizes of tiles that a kernel declares as numbers.
#[must_use]
pub fn sizes(module: &ItemMod, kernel: &Kernel) -> Shape {
    named(module, kernel, |name| SIZES.contains(&name)).collect()
}

fn named<'a>(
    module: &'a ItemMod,
    kernel: &'a Kernel,
    wanted: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = (String, usize)> + 'a {
    let items = module.content.iter().flat_map(|(_, items)| items);
    let written = items.filter_map(|item| match item {
        Item::Const(item) if matches!(*item.expr, Expr::Lit(_)) => Some(item.ident.to_string()),
        _ => None,
    });
    written.filter(move |name| wanted(name)).filter_map(|name| {
        let value = kernel.constants.get(&name)?;
        Some((name, value))
    })
}

/// Numbers of tokens are alike from half of a power of two on up to it; every other constant counts as it is.
pub(super) fn alike(one: &Shape, other: &Shape) -> bool {
    let bucket = |(name, &value): (&String, &usize)| {
        (name.clone(), if name == "TOKENS" { value.max(1).next_power_of_two() } else { value })
    };
    one.iter().map(bucket).eq(other.iter().map(bucket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_alike_up_to_a_power_of_two() {
        let of = |tokens, hidden| Shape::from([("TOKENS".to_owned(), tokens), ("HIDDEN".to_owned(), hidden)]);
        assert!(alike(&of(3000, 64), &of(4096, 64)));
        assert!(!alike(&of(2048, 64), &of(4096, 64)));
        assert!(!alike(&of(4096, 64), &of(4096, 128)));
        assert!(!alike(&of(4096, 64), &Shape::new()));
    }
}
