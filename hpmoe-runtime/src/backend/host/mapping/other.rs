//! Where copy-on-write mappings of poison are not available.

use super::NoMapping;

/// There is none.
pub(crate) enum Mapping {}

impl Mapping {
    pub(crate) const fn new(_bytes: usize, _poisoned: usize) -> Result<Self, NoMapping> {
        Err(NoMapping::Unsupported)
    }

    pub(crate) const fn address(&mut self) -> u64 {
        match *self {}
    }

    #[cfg(test)]
    pub(crate) const fn bytes(&self) -> &[u8] {
        match *self {}
    }
}
