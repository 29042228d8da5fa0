//! Fallback for systems without copy-on-write mappings of poison and without unnamed files.

use std::io;
use std::sync::atomic::AtomicI32;

use hpmoe_kernels::Rank;

use super::NoMapping;
use crate::Argument;

/// A mapping that can't exist on this system: making one always fails.
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

/// Shared memory that can't exist on this system: making it always fails.
pub(crate) enum SharedMapping {}

impl SharedMapping {
    pub(crate) fn create(_bytes: usize, _poisoned: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Always fails.
    ///
    /// # Safety
    ///
    /// No conditions.
    #[expect(unsafe_code, reason = "callers must satisfy the conditions of other systems")]
    pub(crate) unsafe fn lent(_address: u64, _bytes: usize, _poisoned: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn elsewhere(_bytes: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn ticket(&self) -> io::Result<Vec<u8>> {
        match *self {}
    }

    pub(crate) fn open(_ticket: &[u8]) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) const fn address(&self) -> u64 {
        match *self {}
    }

    pub(crate) const fn word(&self, _at: usize) -> &AtomicI32 {
        match *self {}
    }

    pub(crate) const fn copy_in(&self, _argument: &Argument<'_>, _rank: Rank, _at: usize) {
        match *self {}
    }

    pub(crate) const fn copy_out(&self, _at: usize, _argument: &Argument<'_>, _rank: Rank) {
        match *self {}
    }
}
