//! The cost of making a route's tables on the device: the calls of `kernels/include/hpmoe/routing`, counted by its text, core by core.
//!
//! Nothing simulates it yet, because no taskflow asks for it.

use std::ops::{Add, AddAssign};

use super::Time;
use crate::target::Target;

/// Elements of 32 bits in a repeat of a vector call.
const LANES: u64 = 64;
/// Elements of 32 bits in a block.
const BLOCK_WORDS: u64 = 8;
/// Most slots in UB at a time.
const IDS_BLOCK: u64 = 8192;
/// The same while they are looked at for faults.
const CHECKED_BLOCK: u64 = 4096;
/// Offsets that interleave lists, as often as needed.
const PATTERN_WORDS: u64 = 1024;
/// First byte of UB after all lists.
const LISTS_END: u64 = 152 * 1024;
/// Lists of a word for each pair.
const LISTS: u64 = 15;

/// A launch that makes its route, with tokens that go to all experts alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoutingShape {
    /// Ranks of the group.
    pub ranks: u64,
    /// Experts of each rank.
    pub local_experts: u64,
    /// Tokens of each rank.
    pub tokens: u64,
    /// Experts of each token.
    pub top_k: u64,
    /// Vector cores of each rank.
    pub cores: u64,
    /// Whether queues name experts by load.
    pub by_load: bool,
    /// Spaces of row tiles.
    pub row_tiles: u64,
    /// Spaces of sends.
    pub sends: u64,
    /// Spaces of arrivals.
    pub arrivals: u64,
    /// Phases, and the pairs of spaces and columns that come before their tiles.
    pub starts: (u64, u64),
}

/// What one core does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RoutingSteps {
    /// Vector calls.
    pub calls: u64,
    /// Their repeats of 64 lanes.
    pub repeats: u64,
    /// Repeats of gathers, which read word by word.
    pub gathers: u64,
    /// Words that the scalar unit reads or writes.
    pub scalars: u64,
    /// Waits of the scalar unit for a pipe.
    pub waits: u64,
    /// Copies between global memory and UB.
    pub copies: u64,
    /// Those of them that the core waits for.
    pub trips: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Prices of steps, ns: no measurement of them is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RoutingPrices {
    /// A call with its barrier: assumed, 30 cycles.
    pub call: f64,
    /// A repeat: assumed, two cycles.
    pub repeat: f64,
    /// A repeat of a gather: assumed, a cycle for each lane.
    pub gather: f64,
    /// A word of the scalar unit: assumed, a load from UB and the instructions around it.
    pub scalar: f64,
    /// A wait of the scalar unit for a pipe: assumed, two flags and the depth of the vector unit.
    pub wait: f64,
    /// A copy: assumed, as a call.
    pub copy: f64,
    /// The round trip of a copy: of a request that L2 answers (a2), and two flags.
    pub trip: f64,
}

impl RoutingPrices {
    /// On a target.
    #[must_use]
    pub fn of(target: &Target) -> Self {
        let cycles = |count: f64| count / target.cores.clock_ghz;
        Self {
            call: cycles(30.0),
            repeat: cycles(2.0),
            gather: cycles(64.0),
            scalar: 15.0,
            wait: 50.0,
            copy: cycles(30.0),
            trip: 150.0,
        }
    }
}

impl RoutingShape {
    /// The time from the start of a launch to the moment at which all cores know that the tables are made.
    #[must_use]
    pub fn time(&self, target: &Target, prices: &RoutingPrices) -> Time {
        let most = |steps: &dyn Fn(u64) -> RoutingSteps| {
            let times = (0..self.cores).map(|core| steps(core).ns(target, prices));
            times.fold(0.0, f64::max)
        };
        let counting = most(&|core| self.count(core));
        // Puts follow each other; the last one arrives by the longest way.
        let putting = most(&|core| self.put(core));
        let hops = target.link.other_package_ns + 2.0 * target.sync.counter_visible_ns + target.sync.signal_ns;
        let placing = most(&|core| self.sum(core) + self.place(core) + self.tables(core));
        Time::from_ns(counting + putting + hops + placing)
    }

    /// Everything that a core does.
    #[must_use]
    pub fn steps(&self, core: u64) -> RoutingSteps {
        self.count(core) + self.put(core) + self.sum(core) + self.place(core) + self.tables(core)
    }

    const fn experts(&self) -> u64 {
        self.ranks * self.local_experts
    }

    const fn slots(&self) -> u64 {
        self.tokens * self.top_k
    }

    /// Experts that a core counts.
    fn own(&self, core: u64) -> u64 {
        let share = self.experts().div_ceil(self.cores);
        share.min(self.experts().saturating_sub(core * share))
    }

    /// Blocks of ids, each with its slots.
    fn blocks(&self) -> impl Iterator<Item = u64> {
        let block = IDS_BLOCK / self.top_k * self.top_k;
        let slots = self.slots();
        (0..slots.div_ceil(block)).map(move |i| block.min(slots - i * block))
    }

    /// `ids.h`.
    fn count(&self, core: u64) -> RoutingSteps {
        let own = self.own(core);
        let mut steps = RoutingSteps::default();
        if own == 0 {
            return steps;
        }
        let counted = own.next_multiple_of(BLOCK_WORDS);
        steps.ramp(IDS_BLOCK);
        steps.vector(1, counted);
        steps.waits += 1;
        self.check(core, &mut steps);
        for slots in self.blocks() {
            steps.load(slots);
            // A comparison, a GatherMask, a wait; the count, and the fragment that is kept.
            steps.vector(2 * own, slots);
            steps.waits += own;
            steps.vector(own, slots / self.experts());
            steps.scalars += 4 * own;
        }
        steps.waits += 1;
        steps.vector(2, counted);
        steps
    }

    /// The search for faults.
    fn check(&self, core: u64, steps: &mut RoutingSteps) {
        let counting = self.experts().div_ceil(self.experts().div_ceil(self.cores));
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

    /// `PutCounts`.
    fn put(&self, core: u64) -> RoutingSteps {
        let own = self.own(core);
        let copies = if own > 0 { self.ranks } else { 0 };
        // One address each; copies follow each other without a wait.
        RoutingSteps { scalars: 2 * copies, copies, bytes: copies * own * 4, ..RoutingSteps::default() }
    }

    fn list_bytes(&self) -> u64 {
        (self.experts() + 1).next_multiple_of(LANES) * 4 + 32
    }

    /// `SumCounts`, with all counts there.
    fn sum(&self, _core: u64) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        let pairs = self.experts();
        let pitch = pairs.next_multiple_of(BLOCK_WORDS);
        steps.ramp(pairs + 1);
        steps.vector(2, pairs);
        let room = (LISTS_END - LISTS * self.list_bytes()) / (pitch * 4);
        let most = room * 2 / 3;
        let mut left = self.ranks;
        while left > 0 {
            let rows = left.min(most);
            steps.load(rows * pairs);
            steps.vector(1, rows * pitch);
            steps.least(rows, pitch);
            steps.fold(rows, pitch);
            steps.vector(4, pairs);
            left -= rows;
        }
        steps.vector(3, pairs);
        steps.reduce(pairs);
        steps
    }

    /// `PlaceRows`, `FaultOfCapacity`, `PlaceKept` and the order of experts.
    fn place(&self, core: u64) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        let pairs = self.experts();
        steps.vector(9, pairs);
        steps.sums(pairs);
        steps.sums_in_segments(pairs);
        steps.vector(4, pairs);
        steps.reduce(pairs);
        steps.vector(1, pairs);
        steps.waits += 1;
        let own = self.own(core);
        let fragments = own * self.blocks().count() as u64;
        steps.scalars += 3 * fragments;
        steps.copies += fragments;
        steps.bytes += own * self.slots() / pairs * 4;
        if self.by_load {
            self.order(&mut steps);
        } else {
            steps.vector(19, pairs);
        }
        steps
    }

    /// `OrderByLoad`.
    fn order(&self, steps: &mut RoutingSteps) {
        let (pairs, local) = (self.experts(), self.local_experts);
        steps.vector(18 + 1, pairs);
        for _ in 0..local {
            steps.gather(pairs);
            steps.vector(8, pairs);
        }
        steps.vector(1, pairs);
        for _ in 1..local {
            steps.gather(pairs);
            steps.vector(7, pairs);
        }
        // LeastFirst.
        steps.vector(2, pairs);
        steps.sums(pairs);
        for _ in 0..6 {
            steps.gather(pairs);
        }
        steps.vector(34, pairs);
        steps.vector(18 + 3, pairs);
    }

    /// The tables that fall to a core, in the order of `StoreTables`.
    fn tables(&self, core: u64) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        let kinds = [(self.row_tiles, Table::Tiles), (self.sends, Table::Sends), (self.arrivals, Table::Arrivals)];
        let spaces = kinds.into_iter().flat_map(|(count, table)| (0..count).map(move |_| table));
        let first = [Table::Interleaved(4), Table::Experts, Table::ArrivalPairs, Table::Order];
        let all = first.into_iter().chain(spaces).chain([Table::Starts]);
        for (_, table) in all.enumerate().filter(|(turn, _)| *turn as u64 % self.cores == core) {
            self.table(table, &mut steps);
        }
        steps
    }

    fn table(&self, table: Table, steps: &mut RoutingSteps) {
        let (pairs, local) = (self.experts(), self.local_experts);
        match table {
            Table::Interleaved(lists) => steps.interleaved(lists, pairs),
            Table::Experts => steps.interleaved(2, local),
            Table::ArrivalPairs => {
                self.arrivals(steps);
                steps.vector(20 + 1, pairs);
                steps.gather(pairs);
                steps.interleaved(4, pairs);
            }
            Table::Order => steps.store(pairs),
            Table::Tiles => {
                self.items(table, steps);
                steps.vector(9, pairs);
                steps.sums_in_segments(pairs);
                steps.store(pairs);
                steps.gather(local);
                steps.sums(local + 1);
                steps.store(local + 1);
                self.counted(local, true, steps);
                steps.store(local);
            }
            Table::Sends | Table::Arrivals => {
                self.items(table, steps);
                steps.sums(pairs + 1);
                steps.store(pairs + 1);
                self.counted(pairs, matches!(table, Table::Arrivals), steps);
                steps.store(pairs);
            }
            Table::Starts => {
                for (count, table) in
                    [(self.row_tiles, Table::Tiles), (self.sends, Table::Sends), (self.arrivals, Table::Arrivals)]
                {
                    let groups = if matches!(table, Table::Tiles) { local } else { pairs };
                    for _ in 0..count {
                        self.items(table, steps);
                        steps.gather(groups);
                        steps.sums(groups + 1);
                        steps.waits += 1;
                        steps.scalars += 2;
                    }
                }
                steps.scalars += 3 * self.starts.0 + 3 * self.starts.1;
                steps.store(self.starts.0);
            }
        }
    }

    /// `ItemsOf`.
    fn items(&self, table: Table, steps: &mut RoutingSteps) {
        let pairs = self.experts();
        match table {
            Table::Arrivals => self.arrivals(steps),
            _ => steps.vector(1, pairs),
        }
        // Pieces.
        steps.vector(2 + 2 + 4 + 4 + 2, pairs);
    }

    /// `Arrivals`, of all sources at a time.
    fn arrivals(&self, steps: &mut RoutingSteps) {
        let (pairs, local) = (self.experts(), self.local_experts);
        let pitch = local.next_multiple_of(BLOCK_WORDS);
        steps.vector(11, pairs);
        steps.vector(1, pitch);
        steps.load(pairs);
        steps.vector(2, self.ranks * pitch);
        steps.gather(pairs);
        steps.vector(self.ranks + 1, pitch);
        steps.gather(pairs);
        steps.vector(1, pairs);
    }

    /// `CountedBefore`.
    fn counted(&self, groups: u64, own: bool, steps: &mut RoutingSteps) {
        steps.vector(18 + 1 + 1 + 1, groups);
        steps.gather(groups);
        steps.vector(2, groups);
        steps.gather(groups);
        steps.sums(groups);
        steps.vector(18, groups);
        if own {
            steps.vector(2, groups);
            steps.gather(groups);
        } else {
            steps.vector(1, groups);
        }
        steps.vector(3, groups);
        steps.gather(groups);
        steps.vector(1, groups);
    }
}

/// A table, by what it takes.
#[derive(Clone, Copy)]
enum Table {
    Interleaved(u64),
    Experts,
    ArrivalPairs,
    Order,
    Tiles,
    Sends,
    Arrivals,
    Starts,
}

impl RoutingSteps {
    /// The time of all steps, one after the other.
    fn ns(&self, target: &Target, prices: &RoutingPrices) -> f64 {
        let counts = [self.calls, self.repeats, self.gathers, self.scalars, self.waits, self.copies, self.trips];
        let RoutingPrices { call, repeat, gather, scalar, wait, copy, trip } = *prices;
        let steps: f64 =
            counts.into_iter().zip([call, repeat, gather, scalar, wait, copy, trip]).map(|(n, ns)| n as f64 * ns).sum();
        steps + self.bytes as f64 / (target.memory.gm_ub_bytes_per_cycle * target.cores.clock_ghz)
    }

    fn vector(&mut self, calls: u64, count: u64) {
        self.calls += calls;
        self.repeats += calls * count.div_ceil(LANES);
    }

    fn gather(&mut self, count: u64) {
        self.calls += 1;
        self.gathers += count.div_ceil(LANES);
    }

    fn load(&mut self, count: u64) {
        self.copies += 1;
        self.trips += 1;
        self.bytes += count * 4;
    }

    fn store(&mut self, count: u64) {
        self.load(count);
    }

    /// `Ramp`.
    fn ramp(&mut self, count: u64) {
        self.scalars += BLOCK_WORDS;
        self.waits += 2;
        self.doubled(BLOCK_WORDS, count);
    }

    fn doubled(&mut self, begin: u64, count: u64) {
        let mut made = begin;
        while made < count {
            self.vector(1, made.min(count - made));
            made *= 2;
        }
    }

    /// `SumsBefore`.
    fn sums(&mut self, count: u64) {
        self.vector(2, 1);
        for _ in 0..4 {
            self.gather(count);
        }
        self.vector(3, count);
        let mut step = BLOCK_WORDS;
        while step < count {
            self.vector(2, count - step);
            step *= 2;
        }
    }

    fn sums_in_segments(&mut self, count: u64) {
        self.sums(count);
        self.gather(count);
        self.vector(1, count);
    }

    /// Rows added into one.
    fn fold(&mut self, rows: u64, pitch: u64) {
        let mut left = rows;
        while left > 1 {
            self.vector(1, left / 2 * pitch);
            left -= left / 2;
        }
    }

    /// `Least`.
    fn least(&mut self, rows: u64, pitch: u64) {
        self.vector(1, (rows - rows / 2) * pitch);
        self.fold(rows, pitch);
        self.reduce(pitch);
    }

    /// `ExtremeOf`.
    fn reduce(&mut self, count: u64) {
        self.vector(1, count);
        let mut left = count;
        while left > 1 {
            self.calls += u64::from(left >= LANES) + u64::from(!left.is_multiple_of(LANES));
            left = left.div_ceil(LANES);
            self.repeats += left;
        }
        self.waits += 1;
        self.scalars += 1;
    }

    /// `StoreInterleaved`.
    fn interleaved(&mut self, lists: u64, count: u64) {
        self.waits += 2;
        self.scalars += lists * BLOCK_WORDS;
        self.doubled(lists * BLOCK_WORDS, PATTERN_WORDS);
        let mut left = lists * count;
        while left > 0 {
            let words = left.min(PATTERN_WORDS);
            self.gather(words);
            self.store(words);
            left -= words;
        }
    }
}

impl Add for RoutingSteps {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for RoutingSteps {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.repeats += other.repeats;
        self.gathers += other.gathers;
        self.scalars += other.scalars;
        self.waits += other.waits;
        self.copies += other.copies;
        self.trips += other.trips;
        self.bytes += other.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::{RoutingPrices, RoutingShape};
    use crate::target::Target;

    /// The forward layer of DeepSeek-V3's shape: five spaces, nine phases.
    fn shape(ranks: u64, experts: u64, tokens: u64) -> RoutingShape {
        RoutingShape {
            ranks,
            local_experts: experts / ranks,
            tokens,
            top_k: 8,
            cores: 48,
            by_load: true,
            row_tiles: 2,
            sends: 1,
            arrivals: 1,
            starts: (9, 30),
        }
    }

    /// Ranks, experts, tokens, the simulated time of the forward layer in µs, and the most that tables may take of it, in percent.
    /// Gathers at a cycle for each lane are half of the time with 64 ranks.
    const LAYERS: [(u64, u64, u64, f64, f64); 4] =
        [(8, 64, 4096, 9502.0, 0.5), (8, 64, 64, 561.0, 5.0), (64, 512, 4096, 9470.0, 0.8), (64, 512, 64, 567.0, 8.5)];

    #[test]
    fn tables_take_little_of_a_layer() {
        let target = Target::ascend_a3();
        for (ranks, experts, tokens, layer, most) in LAYERS {
            for times in [1.0, 2.0] {
                let prices = RoutingPrices::of(&target);
                let prices = RoutingPrices { scalar: times * prices.scalar, ..prices };
                let time = shape(ranks, experts, tokens).time(&target, &prices).us();
                let share = 100.0 * time / layer;
                println!("EP{ranks}, {experts} experts, {tokens} tokens, x{times}: {time:.1} µs, {share:.2} %");
                assert!(share <= most, "{share:.2} % of EP{ranks} with {tokens} tokens");
            }
        }
    }
}
