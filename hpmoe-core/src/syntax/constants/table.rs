//! The constants of a module, by name.

use crate::constant::Constant;
use crate::names::ByName;
use proc_macro2::Span;
use syn::{Item, ItemConst, ItemMod, Type};

/// The computed constants of one kernel module, in order of declaration. Constants that only the build sets (`SPARE`, `CHUNKS_AT_MOST`)
/// follow.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    pub(super) values: ByName<(Constant, Span)>,
    /// Types and places of the module's constants that are not computed.
    pub(super) others: ByName<(String, Span)>,
}

impl Constants {
    /// The place of a constant's declaration.
    pub(crate) fn span(&self, name: &str) -> Option<Span> {
        self.values.get(name).map(|(_, span)| *span)
    }

    /// The value of a `usize` constant; `None` for an `f32`, and for names that neither the module declares nor the build sets.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<usize> {
        self.constant(name)?.size()
    }

    /// The type and the place of a constant that is neither a `usize` nor an `f32`.
    pub(crate) fn other(&self, name: &str) -> Option<(&str, Span)> {
        self.others.get(name).map(|(ty, span)| (ty.as_str(), *span))
    }

    /// The value of a constant of either type.
    #[must_use]
    pub(crate) fn constant(&self, name: &str) -> Option<Constant> {
        self.values.get(name).map(|(value, _)| *value)
    }

    /// The names and values of all constants, in order of declaration; those that only the build sets come last.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Constant)> {
        self.values.iter().map(|(name, (value, _))| (name, *value))
    }
}

pub(super) fn is_f32(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("f32"))
}

/// The constants of a module that the compiler computes.
pub(super) fn computed(module: &ItemMod) -> impl Iterator<Item = &ItemConst> {
    let items = module.content.iter().flat_map(|(_, items)| items);
    items.filter_map(|item| match item {
        Item::Const(constant) if is_computed(&constant.ty) => Some(constant),
        _ => None,
    })
}

/// Whether the compiler computes constants of this type: `usize` and `f32`.
pub(crate) fn is_computed(ty: &Type) -> bool {
    is_f32(ty) || matches!(ty, Type::Path(path) if path.path.is_ident("usize"))
}
