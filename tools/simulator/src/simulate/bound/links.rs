//! Bytes through the ends of links.

use crate::simulate::Time;
use hpmoe_core::target::Target;

/// Number of bytes through the four ends of each rank's links: out and in, to its own package and to other packages.
pub(super) struct LinkBytes<'a> {
    target: &'a Target,
    bytes: Vec<[u64; 4]>,
}

impl<'a> LinkBytes<'a> {
    pub(super) fn new(target: &'a Target, ranks: u32) -> Self {
        Self { target, bytes: vec![[0; 4]; ranks as usize] }
    }

    pub(super) fn add(&mut self, (from, to): (u32, u32), bytes: u64) {
        let other = if self.target.same_package(from, to) { 0 } else { 2 };
        self.bytes[from as usize][other] += bytes;
        self.bytes[to as usize][other + 1] += bytes;
    }

    /// Time of the end that takes longest.
    pub(super) fn time(&self) -> Time {
        let link = &self.target.link;
        let same = [link.same_package_gb_per_s; 2];
        let rates = [same, [link.other_package_gb_per_s; 2]].concat();
        let ends = self.bytes.iter().flat_map(|bytes| bytes.iter().zip(&rates));
        ends.map(|(&bytes, rate)| Time((bytes as f64 / rate * 1e3) as u64)).max().unwrap_or_default()
    }
}
