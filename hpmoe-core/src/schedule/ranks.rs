//! The numbers of ranks that schedules are made for.

use crate::graph::TaskGraph;
use std::ops::RangeInclusive;

/// The maximum number of ranks that schedules are made for, limited by the device library (`kernels/include/hpmoe/core.h`).
pub const MAX_RANKS: u32 = 256;
/// The numbers of ranks that a group may have.
const RANKS: RangeInclusive<u32> = 1..=MAX_RANKS;

/// The numbers of ranks that schedules are made for, ascending: all from 1 to [`MAX_RANKS`] that divide the experts or that the build
/// names.
#[must_use]
pub fn rank_counts(graph: &TaskGraph) -> Vec<u32> {
    let named = |ranks: &u32| graph.named_ranks.contains(ranks);
    RANKS.filter(|ranks| graph.sizes.experts % *ranks as usize == 0 || named(ranks)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};

    #[test]
    fn every_divisor_has_an_order() {
        let ranks = |experts, named: &[u32]| {
            let layer = moe_ffn(&Layer { experts, ..Layer::SMALL }).changed(|graph| graph.named_ranks = named.to_vec());
            rank_counts(layer.graph())
        };
        assert_eq!(ranks(12, &[]), [1, 2, 3, 4, 6, 12]);
        assert_eq!(ranks(257, &[]), [1]);
        assert_eq!(ranks(768, &[])[9..], [32, 48, 64, 96, 128, 192, 256]);
        assert_eq!(ranks(12, &[5, 3, 256]), [1, 2, 3, 4, 5, 6, 12, 256]);
    }

    #[test]
    fn the_device_library_has_room_for_as_many_ranks() {
        let header = include_str!("../../../kernels/include/hpmoe/core.h");
        assert!(header.contains(&format!("constexpr uint32_t MAX_RANKS = {MAX_RANKS};")));
    }
}
