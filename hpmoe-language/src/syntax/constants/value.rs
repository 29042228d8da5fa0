//! The value of a constant.

use std::fmt;

/// A size or a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Constant {
    /// Of type `usize`.
    Size(usize),
    /// Of type `f32`, finite.
    Number(f32),
}

impl Constant {
    /// The value of a size.
    #[must_use]
    pub const fn size(self) -> Option<usize> {
        match self {
            Self::Size(size) => Some(size),
            Self::Number(_) => None,
        }
    }

    /// Reads a setting: digits, with underscores where one likes, are a size, everything else is a number.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let plain = text.replace('_', "");
        let size = plain.parse().ok().map(Self::Size);
        size.or_else(|| plain.parse().ok().filter(|number: &f32| number.is_finite()).map(Self::Number))
    }
}

/// As it can be written in Rust, and read again.
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
