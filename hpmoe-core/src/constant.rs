//! Values of a kernel's constants, as source and builds give them.

use crate::names::ByName;
use std::fmt;

/// Values that a build sets instead of the values in the source, by the constant's name.
pub type Overrides = ByName<Constant>;

/// Whether a constant of this name is a tile size. The values of tile sizes change times; of the results, they change only sums over column
/// tiles. The source may leave them open: `pub const TILE_N: usize = _;`.
#[must_use]
pub fn is_tile_size(name: &str) -> bool {
    name.starts_with("TILE_") || ["GRAD_M", "GRAD_N", "PUT", "BLOCK", "COLUMNS"].contains(&name)
}

/// The names of tile sizes, as messages list them.
pub(crate) const NAMES_OF_TILE_SIZES: &str =
    "`GRAD_M`, `GRAD_N`, `PUT`, `BLOCK`, `COLUMNS` or one that begins with `TILE_`";

/// The number of places for experts that each rank has beyond its share. A build may set it in every kernel; a kernel that does not declare
/// it has none.
pub(crate) const SPARE: &str = "SPARE";

/// The largest number of chunks that a launch may choose; 0 if launches don't choose. A build may set it in every kernel. In a kernel that
/// does not declare it, launches don't choose.
pub(crate) const CHUNKS_AT_MOST: &str = "CHUNKS_AT_MOST";
/// The largest size in the head of a loop: descriptors hold it in 16 bits.
pub(crate) const MOST_ROWS: usize = 65_535;
/// The largest number of chunks that launches can choose.
pub(crate) const MOST_CHOSEN: usize = 8;

/// The constants that a build may set even if a kernel does not declare them.
pub(crate) const OF_BUILDS: [&str; 2] = [SPARE, CHUNKS_AT_MOST];

/// The value of a constant of a kernel module.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Constant {
    /// A constant of type `usize`.
    Size(usize),
    /// A constant of type `f32`. A build can set one that is not finite, which the front end refuses.
    Number(f32),
}

impl Constant {
    /// The value of a constant of type `usize`; `None` for an `f32`.
    #[must_use]
    pub const fn size(self) -> Option<usize> {
        match self {
            Self::Size(size) => Some(size),
            Self::Number(_) => None,
        }
    }

    /// Reads a setting: digits with optional underscores are a size, anything else that parses as a finite `f32` is a number. `None` for
    /// all other texts.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let plain = text.replace('_', "");
        let size = plain.parse().ok().map(Self::Size);
        size.or_else(|| plain.parse().ok().filter(|number: &f32| number.is_finite()).map(Self::Number))
    }
}

/// Text that is valid Rust and that [`Constant::read`] reads back.
impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => write!(f, "{size}"),
            Self::Number(number) => write!(f, "{number:?}"),
        }
    }
}

impl From<usize> for Constant {
    fn from(size: usize) -> Self {
        Self::Size(size)
    }
}

impl From<f32> for Constant {
    fn from(number: f32) -> Self {
        Self::Number(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_sizes_or_finite_numbers() {
        assert_eq!(Constant::read("7_168"), Some(Constant::Size(7168)));
        assert_eq!(Constant::read("-1.5"), Some(Constant::Number(-1.5)));
        assert_eq!(Constant::read("7.0"), Some(Constant::Number(7.0)));
        assert_eq!(Constant::read("1e40"), None);
        assert_eq!(Constant::read("nan"), None);
        assert_eq!(Constant::read("many"), None);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for constant in [Constant::Size(0), Constant::Number(7.0), Constant::Number(-1.0e-7), Constant::Number(3.0e38)]
        {
            assert_eq!(Constant::read(&constant.to_string()), Some(constant));
        }
    }
}
