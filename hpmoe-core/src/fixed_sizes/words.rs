//! The warning about fixed tile sizes.

use super::{CostlySizes, FixedBy, FixedSize};

/// The surface on which a warning appears, which decides how its reader changes or keeps the sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Surface {
    /// A build script.
    Build,
    /// The command `hpmoe`.
    Command,
}

impl Surface {
    /// The place where constants are set.
    const fn settings(self) -> &'static str {
        match self {
            Self::Build => "`HPMOE_SET` or `.set(..)`",
            Self::Command => "`--set`",
        }
    }

    /// The way to keep sizes without a warning.
    const fn keeps(self) -> &'static str {
        match self {
            Self::Build => "`.allow_slow_tile_sizes()` in the build script",
            Self::Command => "`--allow-slow-tile-sizes`",
        }
    }
}

impl CostlySizes {
    /// The warning, on one line: the fixed sizes, the saving with other sizes, the change to make, and how to keep the
    /// sizes.
    #[must_use]
    pub fn text(&self, surface: Surface) -> String {
        let Self { kernel, sizes, fixed_us, chosen_us, expected } = self;
        let values = |value: fn(&FixedSize) -> usize| list(sizes, |size| format!("{} = {}", size.name, value(size)));
        let mut text = format!(
            "kernel `{kernel}` is estimated to take {:.1} times as long with {} as with {}, which save {:.0} % of the time for {expected} \
             (mean of even and skewed routing): ",
            fixed_us / chosen_us,
            values(|size| size.fixed),
            values(|size| size.chosen),
            100.0 * self.saved(),
        );
        let by = |by: FixedBy| sizes.iter().filter(|size| size.by == by).collect::<Vec<_>>();
        let names = |sizes: &[&FixedSize]| list(sizes, |size| format!("`{}`", size.name));
        let mut ways = Vec::new();
        if let [first, others @ ..] = &by(FixedBy::Source)[..] {
            let others = if others.is_empty() { String::new() } else { format!(", and likewise {}", names(others)) };
            ways.push(format!(
                "write `pub const {}: usize = _;` in the source{others}, to have them chosen",
                first.name
            ));
        }
        let set = by(FixedBy::Build);
        if !set.is_empty() {
            ways.push(format!("set {} by {} to the values above", names(&set), surface.settings()));
        }
        let set = by(FixedBy::BuildAlone);
        if !set.is_empty() {
            ways.push(format!("leave {} out of {}, to have them chosen", names(&set), surface.settings()));
        }
        text.push_str(&ways.join("; "));
        text.push_str(&format!(". {} keeps the sizes without this warning", surface.keeps()));
        text
    }
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}
