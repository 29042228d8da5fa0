//! Constants that a kernel's source computes from others. A build can't set them: they would contradict the constants that they follow from.

use super::table::computed;
use crate::constant::{OF_BUILDS, Overrides};
use crate::syntax::names::all_names;
use quote::ToTokens as _;
use std::collections::HashSet;
use syn::spanned::Spanned as _;
use syn::{ItemConst, ItemMod};

/// Whether the source of a kernel computes a constant from others. `SPARE` and `CHUNKS_AT_MOST` don't count, because a build may set them in
/// every kernel.
#[must_use]
pub fn is_derived(module: &ItemMod, name: &str) -> bool {
    !OF_BUILDS.contains(&name) && constant(module, name).is_some_and(|constant| !sources(module, constant).is_empty())
}

/// The names of a kernel's constants that its source leaves open, or defines without other constants.
pub(crate) fn independent_constants(module: &ItemMod) -> Vec<String> {
    let independent = computed(module).filter(|constant| sources(module, constant).is_empty());
    independent.map(|constant| constant.ident.to_string()).collect()
}

/// Refuses overrides of constants that a kernel computes from others.
///
/// # Errors
///
/// A sentence with the first such constant, its kernel, its definition and the constants to set instead.
pub fn refuse_derived_overrides<'a>(
    overrides: &Overrides,
    modules: impl Iterator<Item = &'a ItemMod> + Clone,
) -> Result<(), String> {
    for full_name in overrides.names() {
        let Some(module) = deriving(full_name, modules.clone()) else { continue };
        let (kernel, name) = kernel_and_name(full_name);
        let Some(constant) = constant(module, name) else { continue };
        let mut instead = parameters(module, constant);
        let named = modules.clone().filter(|module| kernel.is_none_or(|kernel| module.ident == kernel));
        let of_others = named.filter(|module| declares(module, name) && !is_derived(module, name));
        instead.extend(of_others.map(|module| format!("{}::{name}", module.ident)));
        return Err(format!(
            "`{full_name}` can't be set, because kernel `{}` computes it from other constants (`{}`){}",
            module.ident,
            definition(constant),
            one_of(&instead)
        ));
    }
    Ok(())
}

/// The first kernel that computes a constant from others, so that a setting with this name (`SLOTS` or `moe_ffn::SLOTS`) is refused.
pub(super) fn deriving<'a>(full_name: &str, mut modules: impl Iterator<Item = &'a ItemMod>) -> Option<&'a ItemMod> {
    let (kernel, name) = kernel_and_name(full_name);
    modules.find(|module| kernel.is_none_or(|kernel| module.ident == kernel) && is_derived(module, name))
}

/// The two parts of a setting's name: the kernel that it is for, if it names one, and the constant.
fn kernel_and_name(full_name: &str) -> (Option<&str>, &str) {
    match full_name.split_once("::") {
        Some((kernel, name)) => (Some(kernel), name),
        None => (None, full_name),
    }
}

fn constant<'a>(module: &'a ItemMod, name: &str) -> Option<&'a ItemConst> {
    computed(module).find(|constant| constant.ident == name)
}

fn declares(module: &ItemMod, name: &str) -> bool {
    constant(module, name).is_some()
}

/// The names of the module's constants in the definition of a constant, in order and without repetition.
fn sources(module: &ItemMod, constant: &ItemConst) -> Vec<String> {
    let mut names = Vec::new();
    all_names(constant.expr.to_token_stream(), &mut names);
    let mut known = HashSet::new();
    names.retain(|name| declares(module, name) && known.insert(name.clone()));
    names
}

/// The constants that a derived constant follows from, directly or through other derived ones.
fn parameters(module: &ItemMod, derived: &ItemConst) -> Vec<String> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let mut next = sources(module, derived);
    next.reverse();
    while let Some(name) = next.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let own = constant(module, &name).map(|constant| sources(module, constant)).unwrap_or_default();
        if own.is_empty() || OF_BUILDS.contains(&name.as_str()) {
            found.push(name);
        } else {
            next.extend(own.into_iter().rev());
        }
    }
    found
}

/// The definition of a constant on one line, as in the source.
fn definition(constant: &ItemConst) -> String {
    let text = constant.expr.span().source_text().unwrap_or_else(|| constant.expr.to_token_stream().to_string());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The advice to set one of these constants; empty if there are none.
fn one_of(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [] => String::new(),
        [one] => format!(": set {one} instead"),
        [others @ .., last] => format!(": set {} or {last} instead", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifacts::parse_settings;

    const KERNELS: [&str; 2] = [
        "mod a { pub const TILE_N: usize = _; pub const HIDDEN: usize = 64; pub const INTER: usize = 1 << 7; const HALF: usize = HIDDEN / 2;
         pub const PARTS: usize = HALF.div_ceil(TILE_N)
             + INTER;
         const MEAN: f32 = 1.0 / (HIDDEN as f32); const LEAST: f32 = -3.0e38; const CHUNKS: usize = 4; const CHUNKS_AT_MOST: usize = CHUNKS; }",
        "mod b { const HALF: usize = 5; const HIDDEN: usize = 2; }",
    ];

    fn refused(settings: &str) -> Result<(), String> {
        let modules = KERNELS.map(|text| syn::parse_str::<ItemMod>(text).unwrap());
        refuse_derived_overrides(&parse_settings(settings).unwrap(), modules.iter())
    }

    #[test]
    fn parameters_are_set_and_constants_that_follow_from_them_are_not() {
        for settings in
            ["TILE_N=8,HIDDEN=32,LEAST=-1.0", "INTER=3", "CHUNKS_AT_MOST=8,SPARE=1", "b::HALF=7", "a::HIDDEN=1"]
        {
            assert_eq!(refused(settings), Ok(()), "{settings}");
        }
        assert_eq!(
            refused("a::PARTS=3").unwrap_err(),
            "`a::PARTS` can't be set, because kernel `a` computes it from other constants (`HALF.div_ceil(TILE_N) + INTER`): set `HIDDEN`, \
             `TILE_N` or `INTER` instead"
        );
        assert!(refused("MEAN=0.5").unwrap_err().ends_with("(`1.0 / (HIDDEN as f32)`): set `HIDDEN` instead"));
        assert!(refused("HALF=3").unwrap_err().ends_with("(`HIDDEN / 2`): set `HIDDEN` or `b::HALF` instead"));
    }
}
