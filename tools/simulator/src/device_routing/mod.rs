//! The cost of making a route's tables on the device. The calls of `kernels/include/hpmoe/routing` are counted by hand from its source, for
//! each core.
//!
//! The tasks of kernels that make their route begin after this time. All other workloads leave the tables to the host.

mod choice;
mod kept;
mod order;
mod placement;
mod steps;
mod tables;

use crate::simulate::Routing;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::emit::route_bytes;
use hpmoe_core::graph::{RowKind, SpaceKind, TaskGraph};
use hpmoe_core::schedule::Schedule;
use hpmoe_core::target::Target;
use hpmoe_core::time::Time;
use hpmoe_core::validate::kernel_sizes;
use hpmoe_kernels::memory::RankSizes;
use hpmoe_kernels::route::ExpertOrder;
use steps::{BLOCK_WORDS, LANES};
pub use steps::{RoutingPrices, RoutingSteps};

/// Number of bytes of code that a core fetches at a time.
const CODE_LINE: u64 = 512;
/// Maximum number of slots that are in UB at a time.
const IDS_BLOCK: u64 = 8192;
/// Maximum number of slots that are in UB at a time while ids are checked for faults.
const CHECKED_BLOCK: u64 = 4096;
/// Offset in UB, in bytes, of the end of all lists.
const LISTS_END: u64 = 152 * 1024;
/// Number of vector calls of `Quotients`. `REMAINDERS` is the number of those of `Remainders`.
const QUOTIENTS: u64 = 4;
const REMAINDERS: u64 = 2 * QUOTIENTS + 2;
/// Number of lists in UB, each with a word for every pair.
const LISTS: u64 = 15;

/// The sizes of a launch that makes its route, with tokens that are distributed evenly over all experts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoutingShape {
    /// Number of ranks in the group.
    pub ranks: u64,
    /// Number of expert chunks on each rank: places for experts, times `chunks`.
    pub local_experts: u64,
    /// Number of logical experts, times `chunks`, if the launch has a placement; `None` otherwise.
    pub placed: Option<u64>,
    /// Number of chunks of the launch.
    pub chunks: u64,
    /// The maximum number of chunks that a launch with the default capacity needs, if launches choose the number and may need more than
    /// one; `None` otherwise.
    pub choice: Option<u64>,
    /// Number of tokens of the rank with the most tokens.
    pub tokens: u64,
    /// Number of experts per token.
    pub top_k: u64,
    /// Number of vector cores per rank.
    pub cores: u64,
    /// The order in which queues list experts.
    pub expert_order: ExpertOrder,
    /// Number of spaces of row tiles, including those of whole experts.
    pub row_tiles: u64,
    /// Number of spaces of sends.
    pub sends: u64,
    /// Number of spaces of arrivals.
    pub arrivals: u64,
    /// Number of phases, and number of (space, columns) pairs in the starts of all phases together. A phase's start is the sum over its
    /// pairs.
    pub starts: (u64, u64),
    /// Whether the launch takes a route that an earlier launch has kept.
    pub is_kept: bool,
    /// Whether the launch keeps its route for later launches.
    pub keeps: bool,
    /// Number of bytes of the code that makes the route.
    pub code: u64,
}

impl RoutingShape {
    /// The sizes of a launch of a kernel that makes its route. Expert chunks count as experts, so the work is not underestimated.
    #[must_use]
    pub fn new(checked: &CheckedGraph, schedule: &Schedule, routing: &Routing) -> Self {
        let graph = checked.graph();
        let ranks = routing.ranks();
        let spaces = |kind: SpaceKind| graph.spaces.iter().filter(|(_, space)| space.kind == kind).count() as u64;
        let pairs = schedule.phases.iter().map(|(_, phase)| phase.preceding.len() as u64).sum();
        Self {
            ranks: ranks.into(),
            local_experts: graph.sizes.expert_chunks(ranks as usize) as u64,
            placed: routing.logical_experts().map(|experts| u64::from(experts) * graph.sizes.chunks as u64),
            chunks: graph.sizes.chunks as u64,
            choice: most_chunks(graph, ranks),
            tokens: (0..ranks).map(|rank| routing.tokens(rank)).max().unwrap_or(0).into(),
            top_k: graph.sizes.top_k as u64,
            cores: schedule.aiv.into(),
            expert_order: schedule.expert_orders.on(ranks),
            row_tiles: spaces(SpaceKind::RowTiles) + spaces(SpaceKind::Experts),
            sends: spaces(SpaceKind::Sends),
            arrivals: spaces(SpaceKind::Arrivals),
            starts: (graph.phases.len() as u64, pairs),
            is_kept: graph.route.as_ref().is_some_and(|route| graph.tensors[route.ids].rows == RowKind::Routed),
            keeps: graph.route.as_ref().is_some_and(|route| route.keeps.is_some()),
            code: route_bytes(graph, schedule).0,
        }
    }

    /// The time from the start of a launch until all cores know that the tables are complete.
    #[must_use]
    pub fn time(&self, target: &Target, prices: &RoutingPrices) -> Time {
        let hop = target.link.other_package_ns + target.sync.counter_visible_ns;
        let [telling, placing] = self.stages(target, prices);
        let counts = Time::from_ns(hop.max(self.as_counted().prepare().ns(target, prices)));
        telling + counts + placing + Time::from_ns(target.sync.counter_visible_ns + target.sync.signal_ns)
    }

    /// Two times of the slowest core: from the start until its last put of counts has left, and from the arrival of all counts until its
    /// last table is made.
    #[must_use]
    pub fn stages(&self, target: &Target, prices: &RoutingPrices) -> [Time; 2] {
        let most = |steps: &dyn Fn(u64) -> RoutingSteps| {
            let times = (0..self.cores).map(|core| steps(core).ns(target, prices));
            times.fold(0.0, f64::max)
        };
        // Puts follow each other; the last one arrives by the longest way.
        let telling = most(&|core| self.count(core)) + most(&|core| self.put(core));
        let placing = most(&|core| self.make(core));
        // All of the code runs for the first time in this launch: half of it until counts have left, by each core, without a prefetch.
        let code = self.code.div_ceil(CODE_LINE) as f64 * target.launch.cold_code_ns;
        [telling, placing].map(|ns| Time::from_ns(ns + code / 2.0))
    }

    /// All steps of core `core`.
    #[must_use]
    pub fn steps(&self, core: u64) -> RoutingSteps {
        self.count(core) + self.put(core) + self.as_counted().prepare() + self.make(core)
    }

    /// The steps of core `core` after all counts have arrived.
    fn make(&self, core: u64) -> RoutingSteps {
        let agree = self.agree() + self.compare_placements();
        agree
            + self.as_counted().sum(self.lists_of_sums())
            + self.choose()
            + self.order_by_place()
            + self.place(core)
            + self.tables(core)
            + self.keep(core)
    }

    const fn experts(&self) -> u64 {
        self.ranks * self.local_experts
    }

    /// Number of experts whose rows are counted: logical experts if there is a placement.
    fn counted_experts(&self) -> u64 {
        self.placed.unwrap_or_else(|| self.experts())
    }

    const fn slots(&self) -> u64 {
        self.tokens * self.top_k
    }

    /// Number of experts whose rows core `core` counts.
    fn own(&self, core: u64) -> u64 {
        let share = self.counted_experts().div_ceil(self.cores);
        share.min(self.counted_experts().saturating_sub(core * share))
    }

    /// Number of slots of each block of ids. If the launch chooses the number of chunks, each counted chunk has its own blocks.
    fn blocks(&self) -> impl Iterator<Item = u64> {
        let block = IDS_BLOCK / self.top_k * self.top_k;
        let chunks = self.choice.unwrap_or(1);
        let slots = self.tokens.div_ceil(chunks) * self.top_k;
        (0..chunks).flat_map(move |_| (0..slots.div_ceil(block)).map(move |i| block.min(slots - i * block)))
    }

    /// Steps of `ids.h`, in which a core counts the slots of its share of the experts.
    fn count(&self, core: u64) -> RoutingSteps {
        self.one_counted().count_blocks(core, self.blocks(), self.choice.unwrap_or(1))
    }

    /// Like [`count`](Self::count), for blocks that belong to `chunks` counted chunks.
    fn count_blocks(&self, core: u64, blocks: impl Iterator<Item = u64>, chunks: u64) -> RoutingSteps {
        let own = self.own(core);
        let mut steps = RoutingSteps::default();
        if own == 0 || self.is_kept {
            return steps;
        }
        let counted = chunks * own.next_multiple_of(BLOCK_WORDS);
        steps.ramp(IDS_BLOCK.min(self.slots()));
        steps.vector(1, counted);
        self.check(core, &mut steps);
        for slots in blocks {
            steps.load(slots);
            // Picks the ids of the core's experts: two limits, a comparison, two GatherMasks, each with a wait.
            steps.vector(5, slots);
            steps.waits += 2;
            // From these ids, for each expert: a comparison, a GatherMask, a wait; the count, and the slots that are kept.
            steps.vector(2 * own, (own * slots).div_ceil(self.counted_experts()));
            steps.waits += own;
            steps.vector(own, slots / self.counted_experts());
            steps.scalars += 2 * own;
            // The block's counts are added, and kept.
            steps.waits += 1;
            steps.vector(2, own);
        }
        steps.vector(2, counted);
        steps
    }

    /// Adds the steps of a core's search for faults in the ids.
    fn check(&self, core: u64, steps: &mut RoutingSteps) {
        let counting = self.counted_experts().div_ceil(self.counted_experts().div_ceil(self.cores));
        let share = self.tokens.div_ceil(counting) * self.top_k;
        let mut left = share.min(self.slots().saturating_sub(core * share));
        if left == 0 {
            return;
        }
        let block = CHECKED_BLOCK / self.top_k * self.top_k;
        steps.vector(13, left.min(block));
        while left > 0 {
            let slots = left.min(block);
            steps.load(slots);
            steps.vector(2 + 2 + 2, slots);
            steps.waits += 1 + self.top_k / 2;
            steps.vector(2 * (self.top_k / 2), slots);
            for _ in 0..self.top_k / 2 {
                steps.gather(slots);
            }
            left -= slots;
        }
    }

    /// Steps of `PutCounts`, in which a core sends its counts to every rank.
    fn put(&self, core: u64) -> RoutingSteps {
        if self.is_kept && self.placed.is_none() {
            return self.put_kept(core);
        }
        let own = self.one_counted().own(core) * self.choice.unwrap_or(1);
        let copies = if own > 0 { self.ranks } else { 0 };
        let first = if self.is_kept { self.put_kept(core) } else { self.put_digest(core) };
        // A peer's heap each; copies follow each other without a wait.
        let counts = RoutingSteps { scalars: copies, copies, bytes: copies * own * 4, ..RoutingSteps::default() };
        first + self.cut(core) + counts
    }

    fn list_bytes(&self) -> u64 {
        (self.experts() + 1).next_multiple_of(LANES) * 4 + 32
    }

    /// Steps of a core before it looks for the counts of its peers.
    fn prepare(&self) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        steps.ramp(self.experts() + 1);
        // SEGMENT; then zeros to sum counts up.
        steps.vector(QUOTIENTS + 1 + 2, self.experts());
        steps
    }

    /// Number of lists that lie in front of the counts of all ranks: fewer if the launch chooses its number of chunks.
    const fn lists_of_sums(&self) -> u64 {
        if self.choice.is_some() { 7 } else { LISTS }
    }

    /// Steps of `SumCounts` after all counts have arrived: the core then waits only for the rank that puts last.
    fn sum(&self, lists: u64) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        let pairs = self.experts();
        let pitch = pairs.next_multiple_of(BLOCK_WORDS);
        if !self.is_kept || self.placed.is_some() {
            steps.load(pairs);
            steps.least(1, pitch);
        }
        let room = (LISTS_END - lists * self.list_bytes()) / (pitch * 4);
        let most = room * 2 / 3;
        let mut left = self.ranks;
        while left > 0 {
            let rows = left.min(most);
            steps.load(rows * pairs);
            steps.least(rows, pitch);
            steps.fold(rows, pitch);
            steps.vector(4, pairs);
            left -= rows;
        }
        steps.vector(3 + 3 + 1, pairs);
        steps.reduce(pairs);
        steps
    }

    /// Steps of `PlaceRows`, `FaultOfCapacity` and `PlaceKept`.
    fn place(&self, core: u64) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        let pairs = self.experts();
        steps.sums(pairs);
        steps.sums_in_segments(pairs);
        steps.vector(4, pairs);
        steps.reduce(pairs);
        if self.is_kept {
            return steps;
        }
        steps.vector(1, pairs);
        steps.waits += 1;
        let own = self.one_counted().own(core);
        let fragments = own * self.blocks().count() as u64;
        // The number of slots and their place, and the place of the expert's next slots, unless there are none.
        steps.scalars += 3 * fragments - own.min(fragments);
        steps.copies += fragments;
        steps.bytes += own * self.slots() / pairs * 4;
        steps + self.shift_kept(fragments)
    }
}

/// Maximum number of chunks that a launch with the default capacity needs; `None` unless the kernel makes its route and chooses the number
/// of chunks.
fn most_chunks(graph: &TaskGraph, ranks: u32) -> Option<u64> {
    let most = RankSizes::new(&kernel_sizes(graph), ranks as usize, None, false).most_chunks();
    let chooses = graph.route.is_some() && graph.sizes.chunks_at_most.is_some();
    (chooses && most > 1).then_some(most.max(graph.sizes.chunks) as u64)
}

#[cfg(test)]
mod tests;
