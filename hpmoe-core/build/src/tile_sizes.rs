//! The tile sizes that a kernel is built with: as the text of a file, and as the constant `TILE_SIZES`.

use hpmoe_core::sizes::Expected;
use hpmoe_core::syntax::{Kernel, Overrides};
use hpmoe_core::tuned::{NamedSizes, is_tile_size};

/// Tile sizes by their origin. A size that is set takes precedence over a tuned one, and a tuned one over a chosen one or the source's.
pub(crate) struct TileSizes<'a> {
    pub(crate) set: &'a Overrides,
    pub(crate) tuned: &'a NamedSizes,
    pub(crate) open: &'a NamedSizes,
    /// The launches that open sizes were chosen for.
    pub(crate) expected: Expected,
}

impl TileSizes<'_> {
    /// A line for each tile size that the kernel declares, with its value and the origin of the value.
    pub(crate) fn text(&self, kernel: &Kernel) -> String {
        let sizes = kernel.constants.iter().filter(|(name, _)| is_tile_size(name));
        let sizes = sizes.filter_map(|(name, value)| Some((name, value.size()?)));
        sizes.map(|(name, size)| format!("{name} = {size}, {}\n", self.origin(name))).collect()
    }

    fn origin(&self, name: &str) -> String {
        if self.set.contains(name) {
            "set for this build".to_owned()
        } else if self.tuned.contains_key(name) {
            "found by `hpmoe tune`".to_owned()
        } else if self.open.contains_key(name) {
            format!("chosen for {}", self.expected)
        } else {
            "as in the source".to_owned()
        }
    }
}
