//! Declarations of constants: each constant of a module is computed, or set by a build.

use super::derived::deriving;
use super::table::{Constants, computed, is_computed, is_f32};
use crate::constant::{Constant, OF_BUILDS, Overrides, is_tile_size};
use crate::finding::{ConstantFault, Errors, Finding, FindingAt};
use crate::names::{ByName, nearest};
use crate::syntax::names::all_names;
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{Expr, Item, ItemMod, Type, parse_quote_spanned};

impl Constants {
    /// Computes all `usize` and `f32` constants of a module. They may be declared in any order.
    pub(crate) fn compute(items: &[&syn::ItemConst], overrides: &Overrides, errors: &mut Errors) -> Self {
        let mut constants = Self::default();
        let named = items.iter().copied().filter(|item| item.ident != "_");
        let (mut open, others): (Vec<&syn::ItemConst>, Vec<_>) = named.partition(|item| is_computed(&item.ty));
        let typed = |item: &&syn::ItemConst| (item.ident.to_string(), (one_line(&item.ty), item.ident.span()));
        constants.others = others.iter().map(typed).collect();
        let names: Vec<String> = open.iter().map(|item| item.ident.to_string()).collect();
        // Repeats while another constant can be computed from the known ones.
        while !open.is_empty() {
            let before = open.len();
            open.retain(|item| {
                let name = item.ident.to_string();
                let value = constants.declared(item, overrides);
                value.map(|value| constants.values.insert(name, (value, item.ident.span()))).is_err()
            });
            if open.len() == before {
                break;
            }
        }
        let span = || items.first().map_or_else(proc_macro2::Span::call_site, |item| item.ident.span());
        let in_order = names.iter().filter_map(|name| Some((name.clone(), *constants.values.get(name)?)));
        constants.values = in_order.collect();
        for of_build in OF_BUILDS {
            if let (false, Some(&set)) = (names.iter().any(|name| name == of_build), overrides.get(of_build)) {
                constants.values.insert(of_build.to_owned(), (set, span()));
            }
        }
        let faults = open.iter().filter_map(|item| constants.declared(item, overrides).err());
        let faults: Vec<_> = faults.collect();
        // A constant that only depends on a faulty one is not reported as well.
        let waits = |finding: &Finding| matches!(finding, Finding::Unknown { name, .. } if names.contains(name));
        let own: Vec<_> = faults.iter().filter(|fault| !waits(&fault.1)).collect();
        for fault in &own {
            errors.push(fault.0, fault.1.clone());
        }
        if let (true, Some(item)) = (own.is_empty(), open.first()) {
            let name = item.ident.to_string();
            errors.push(item.ident.span(), Finding::Constant(ConstantFault::Circular { name }));
        }
        constants
    }

    /// The value of a constant: the one that the build sets or chooses, or else the one in the source.
    fn declared(&self, item: &syn::ItemConst, overrides: &Overrides) -> Result<Constant, FindingAt> {
        let number = is_f32(&item.ty);
        if is_open(item) {
            let name = item.ident.to_string();
            let fault = match (number || !is_tile_size(&name), overrides.contains(&name)) {
                (true, _) => Some(ConstantFault::OpenButNoTileSize { name }),
                (false, false) => Some(ConstantFault::Open { name }),
                (false, true) => None,
            };
            if let Some(fault) = fault {
                return Err(Box::new((item.expr.span(), Finding::Constant(fault))));
            }
        }
        match overrides.get(&item.ident.to_string()) {
            Some(Constant::Size(size)) if number => Ok(Constant::Number(*size as f32)),
            Some(Constant::Number(set)) if !number => {
                let fault = ConstantFault::SetToNumber { name: item.ident.to_string(), value: *set };
                Err(Box::new((item.ident.span(), Finding::Constant(fault))))
            }
            Some(Constant::Number(set)) if !set.is_finite() => {
                let fault = ConstantFault::SetNotFinite { name: item.ident.to_string(), value: *set };
                Err(Box::new((item.ident.span(), Finding::Constant(fault))))
            }
            Some(value) => Ok(*value),
            None if number => self.number(&item.expr, &ByName::new()).map(Constant::Number),
            None => self.value(&item.expr, &ByName::new()).map(Constant::Size),
        }
    }
}

/// Whether a constant is left open: `pub const TILE_N: usize = _;`.
fn is_open(item: &syn::ItemConst) -> bool {
    matches!(*item.expr, Expr::Infer(_))
}

/// The names of the constants that a module leaves open, in order of declaration.
#[must_use]
pub fn open_constants(module: &ItemMod) -> Vec<String> {
    let items = module.content.iter().flat_map(|(_, items)| items);
    items
        .filter_map(|item| match item {
            Item::Const(constant) if is_open(constant) => Some(constant.ident.to_string()),
            _ => None,
        })
        .collect()
}

/// The module with these constants left open (`= _`), regardless of their values in the source.
#[must_use]
pub fn leaving_open(module: &ItemMod, names: &[String]) -> ItemMod {
    let mut module = module.clone();
    for item in module.content.iter_mut().flat_map(|(_, items)| items) {
        match item {
            Item::Const(constant) if names.iter().any(|name| constant.ident == name) => {
                *constant.expr = parse_quote_spanned!(constant.expr.span()=> _);
            }
            _ => {}
        }
    }
    module
}

/// A type as text without the spaces between its tokens.
fn one_line(ty: &Type) -> String {
    ty.to_token_stream().to_string().replace("& ", "&")
}

/// The names of all constants of type `usize` or `f32` that a module declares, and the build's own `SPARE` and `CHUNKS_AT_MOST`. A build may
/// set those that are not [derived](super::is_derived).
#[must_use]
pub fn declared_constants(module: &ItemMod) -> Vec<String> {
    let mut names: Vec<String> = computed(module).map(|constant| constant.ident.to_string()).collect();
    let undeclared = OF_BUILDS.into_iter().filter(|of_build| !names.iter().any(|name| name == of_build));
    let undeclared: Vec<String> = undeclared.map(str::to_owned).collect();
    names.extend(undeclared);
    names
}

/// The names of a module's tile sizes, except for those that its source computes from others.
#[must_use]
pub fn independent_tile_sizes(module: &ItemMod) -> Vec<String> {
    let computed_from_others = |constant: &syn::ItemConst| {
        let mut names = Vec::new();
        all_names(constant.expr.to_token_stream(), &mut names);
        names.iter().any(|name| is_tile_size(name))
    };
    let sizes = computed(module).filter(|constant| !is_f32(&constant.ty));
    let sizes = sizes.filter(|constant| is_tile_size(&constant.ident.to_string()) && !computed_from_others(constant));
    sizes.map(|constant| constant.ident.to_string()).collect()
}

/// The names under which settings name a module's constants: for all kernels (`HIDDEN`), or for this one (`rms::HIDDEN`).
fn names_in_settings(module: &ItemMod) -> Vec<String> {
    let names = declared_constants(module);
    let own: Vec<String> = names.iter().map(|name| format!("{}::{name}", module.ident)).collect();
    names.into_iter().chain(own).collect()
}

/// Refuses overrides of constants that no kernel declares.
///
/// # Errors
///
/// A sentence with the first such name and, if the name of a constant that can be set is similar, the most similar one.
pub fn refuse_unknown_overrides<'a>(
    overrides: &Overrides,
    modules: impl Iterator<Item = &'a ItemMod> + Clone,
) -> Result<(), String> {
    let declared: Vec<String> = modules.clone().flat_map(names_in_settings).collect();
    for name in overrides.names() {
        if !declared.iter().any(|constant| constant == name) {
            let (derived, settable): (Vec<&str>, Vec<&str>) =
                declared.iter().map(String::as_str).partition(|constant| deriving(constant, modules.clone()).is_some());
            let hint = match (nearest(name, settable.into_iter()), nearest(name, derived.into_iter())) {
                (Some(nearest), _) => format!("did you mean `{nearest}`?"),
                (None, Some(_)) => "no constant that can be set has a name like it".to_owned(),
                (None, None) => "no constant has a name like it".to_owned(),
            };
            return Err(format!("no kernel declares a constant `{name}`: {hint}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<usize, usize> {
        let mut errors = Errors::default();
        let hidden = syn::parse_str("const HIDDEN: usize = 7168;").unwrap();
        let constants = Constants::compute(&[&hidden], &Overrides::new(), &mut errors);
        constants.evaluate(&syn::parse_str(text).unwrap(), &ByName::new(), &mut errors).ok_or(errors.len())
    }

    #[test]
    fn expressions_of_constants_are_computed() {
        assert_eq!(value("HIDDEN.div_ceil(256) + 1"), Ok(29));
        assert_eq!(value("(1 << 4) + (HIDDEN >> 10) + 3.pow(2)"), Ok(16 + 7 + 9));
        assert_eq!(value("HIDDEN.next_multiple_of(1000)"), Ok(8000));
        assert_eq!(value("(HIDDEN % 1000).min(100).max(3) * 2 - 1"), Ok(199));
        assert_eq!(value("{ HIDDEN / 7 }"), Ok(1024));
    }

    fn declared(text: &str) -> (Vec<(String, Constant)>, Vec<String>) {
        let file: syn::File = syn::parse_str(text).unwrap();
        let items: Vec<_> = file
            .items
            .iter()
            .map(|item| match item {
                syn::Item::Const(item) => item,
                _ => unreachable!("constants only"),
            })
            .collect();
        let mut errors = Errors::default();
        let constants = Constants::compute(&items, &Overrides::new(), &mut errors);
        let faults = errors.checkpoint().err().unwrap_or_default();
        let values = constants.iter().map(|(name, value)| (name.to_owned(), value)).collect();
        (values, faults.iter().map(|fault| fault.words().message).collect())
    }

    #[test]
    fn constants_stand_in_any_order() {
        let (values, faults) =
            declared("const A: usize = B * 2; const _: usize = 1 & 3; const B: usize = C; const C: usize = 4;");
        assert_eq!(values, [("A".to_owned(), 8.into()), ("B".to_owned(), 4.into()), ("C".to_owned(), 4.into())]);
        assert!(faults.is_empty(), "{faults:?}");
    }

    #[test]
    fn sizes_and_numbers_are_told_apart() {
        let (values, faults) =
            declared("const N: usize = 3; const MEAN: f32 = 1.0 / (N as f32); const LESS: f32 = -MEAN;");
        assert_eq!(
            values[1..],
            [("MEAN".to_owned(), (1.0_f32 / 3.0).into()), ("LESS".to_owned(), (-1.0_f32 / 3.0).into())]
        );
        assert!(faults.is_empty(), "{faults:?}");
        let (_, faults) = declared("const A: f32 = 1; const B: usize = C; const C: f32 = 2.0;");
        assert_eq!(
            faults,
            [
                "`1` is a whole number, but numbers of a task are f32: write `1.0`",
                "`C` is an f32, but sizes are of type usize"
            ]
        );
    }

    #[test]
    fn only_tile_sizes_are_left_open_and_a_build_chooses_them() {
        let (_, faults) = declared("const TILE_N: usize = _; const WIDE: usize = 2 * TILE_N;");
        assert_eq!(faults, ["`TILE_N` is left open, and no value was chosen for it"]);
        let (_, faults) = declared("const TILE_SCALES: usize = _;");
        assert_eq!(faults, ["`TILE_SCALES` is left open, and no value was chosen for it"]);
        let (_, faults) = declared("const INTER: usize = _; const PUT: f32 = _; const BLOCK: usize = 2 * _;");
        assert_eq!(
            faults,
            [
                "`INTER` is left open, but is not a tile size",
                "`PUT` is left open, but is not a tile size",
                "the compiler can't compute this as a constant"
            ]
        );
        let module =
            syn::parse_str("mod m { const TILE_M: usize = 8; const TILE_N: usize = _; const PUT: usize = _; }");
        let module = module.unwrap();
        assert_eq!(open_constants(&module), ["TILE_N", "PUT"]);
        let all = leaving_open(&module, &["PUT".to_owned(), "TILE_M".to_owned(), "BLOCK".to_owned()]);
        assert_eq!(open_constants(&all), ["TILE_M", "TILE_N", "PUT"]);
        let item = syn::parse_str("const TILE_N: usize = _;").unwrap();
        let chosen = Overrides::from_iter([("TILE_N".to_owned(), 256.into())]);
        let mut errors = Errors::default();
        assert_eq!(Constants::compute(&[&item], &chosen, &mut errors).get("TILE_N"), Some(256));
        assert!(errors.is_empty());
    }

    #[test]
    fn only_constants_that_can_be_set_are_suggested() {
        let kernels = [
            "mod a { const BLOCK: usize = 8; const SLOTS: usize = BLOCK * 2; const HALF: usize = BLOCK / 2; }",
            "mod b { const SLOT_SIZE: usize = 8; const HALF: usize = 5; }",
        ];
        let modules = kernels.map(|text| syn::parse_str::<ItemMod>(text).unwrap());
        let hint = |name: &str| {
            let overrides = Overrides::from_iter([(name.to_owned(), 4.into())]);
            let refused = refuse_unknown_overrides(&overrides, modules.iter()).unwrap_err();
            refused.strip_prefix(&format!("no kernel declares a constant `{name}`: ")).unwrap().to_owned()
        };
        assert_eq!(hint("SLOT"), "no constant that can be set has a name like it");
        assert_eq!(hint("a::SLOT"), "no constant that can be set has a name like it");
        assert_eq!(hint("SLOTSIZE"), "did you mean `SLOT_SIZE`?");
        assert_eq!(hint("BLOC"), "did you mean `BLOCK`?");
        // Of a name that one kernel computes, other kernels' own constants can be set.
        assert_eq!(hint("HALFS"), "no constant that can be set has a name like it");
        assert_eq!(hint("b::HALFS"), "did you mean `b::HALF`?");
        assert_eq!(hint("FOO"), "no constant has a name like it");
    }

    #[test]
    fn a_constant_that_others_need_is_one_fault() {
        let (_, faults) = declared("const A: usize = B + 1; const B: usize = 1 & 3; const C: usize = A;");
        assert_eq!(faults, ["the compiler doesn't compute `&` in a constant"]);
        let (_, faults) = declared("const A: usize = B; const B: usize = A;");
        assert_eq!(faults, ["`A` depends on itself"]);
    }

    #[test]
    fn what_cannot_be_computed_is_one_error() {
        for text in [
            "1 - 2",
            "HIDDEN / 0",
            "HIDDEN.div_ceil(0)",
            "HIDDEN.next_multiple_of(0)",
            "1 << 64",
            "1 >> 70",
            "2.pow(64)",
            "1 & 3",
            "HIDEN",
            "f(3)",
            "1.5",
            "a::B",
            "!0",
        ] {
            assert_eq!(value(text), Err(1), "{text}");
        }
    }
}
