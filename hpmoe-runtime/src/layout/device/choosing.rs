//! Cases of launches that choose their number of chunks.

use super::case::{Case, Draw};
use super::launch::CaseKernel;
use crate::abi::{HPMOE_CHUNKS, HPMOE_ONCE_TILES, HPMOE_SENDS_ONCE};
use crate::check;
use crate::layout::RouteChunks;
use crate::tables::SpaceTable;
use hpmoe_kernels::{Placement, Ranks};

/// A random case that chooses its number of chunks, with a placement in half of the cases.
pub(super) fn choosing(seed: u64) -> Case {
    let mut draw = Draw(seed.wrapping_mul(0xa076_1d64_78bd_642f));
    let at_most = [2, 4, 8][draw.below(3)];
    let mut case = if draw.once_in(2) { Case::new(seed) } else { Case::placed(seed) };
    case.spaces.retain(|space| ![HPMOE_CHUNKS, HPMOE_SENDS_ONCE, HPMOE_ONCE_TILES].contains(&space.kind));
    case.spaces.push(SpaceTable { kind: HPMOE_CHUNKS, height: 1 });
    // Half of the cases add to matrices of experts in each chunk, which is possible only if no expert has copies.
    case.sums = draw.once_in(2);
    if case.sums && case.placement.is_some() {
        let even = Placement::even(Ranks::new(case.ranks), case.experts, case.spare);
        case.placement = Some(even.expect("there are experts and ranks"));
    }
    case = Case { chunks: 1, at_most: Some(at_most), capacity: Some(0), once: false, before: 0, ..case };
    let sizes = CaseKernel::new(&case).sizes;
    let pairs = case.ranks * sizes.local_experts * at_most;
    if pairs > 2048 || case.placement.is_some() && pairs > 1024 && !check::placed_arrivals_fit(&sizes) {
        return choosing(seed.wrapping_add(1 << 41));
    }
    // Just enough room for this many chunks, or a little more.
    let chunks = 1 << draw.within(0, at_most.ilog2() as usize);
    let more = [0, 0, draw.below(3), draw.below(100)][draw.below(4)];
    let capacity = fullest(&case, chunks).max(fullest(&case, at_most)) + more;
    Case { capacity: Some(capacity.max(1)), ..case }
}

/// The maximum number of rows that any rank receives in any chunk, if the launch has `chunks` chunks.
pub(super) fn fullest(case: &Case, chunks: usize) -> usize {
    let (kernel, route) = (CaseKernel::new(case), case.route().expect("the ids make a route"));
    let chunks = RouteChunks::new(&kernel.tables.in_chunks(chunks), &route, &kernel.sizes);
    route.ranks().into_iter().map(|rank| chunks.received(rank)).max().unwrap_or(0)
}
